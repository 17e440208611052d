"""Facts that a guard proves of a tensor: on the paths behind it, and on no other."""

import typing

import flash_kda
import torch
from beartype import door
from beartype.door import die_if_unbearable, is_bearable
from fla.ops.kda import chunk_kda
from fla.ops.kda.gate import fused_kda_gate
from jaxtyping import Float
from torch import Tensor

CU = torch.tensor([0, 64, 128])
Rows = Float[Tensor, "2 T H K"]


def asserted_type(q, g, beta):
    assert isinstance(q, Float[Tensor, "2 T H K"])
    # bad: KDA001
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def raises_for_other_types(q, g, beta):
    if not isinstance(q, Rows):
        raise TypeError
    # bad: KDA001
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def only_where_it_is(q, g, beta):
    if isinstance(q, Rows):
        # bad: KDA001
        return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def behind_the_branch(q, g, beta):
    if isinstance(q, Rows):
        print("rows")
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def of_one_type_or_another(q, g, beta):
    assert isinstance(q, (Rows, Float[Tensor, "1 T H K"]))
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def beartype_asks(q, g, beta):
    if is_bearable(q, Rows) and door.is_bearable(g, Rows):
        # bad: KDA001
        return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def beartype_refuses(q, g, beta):
    die_if_unbearable(q, Rows)
    # bad: KDA001
    return chunk_kda(q, q, q, g, beta, cu_seqlens=CU)


def claimed(q, k, g, beta):
    typing.assert_type(q, Rows)
    # bad: KDA001
    chunk_kda(q, k, k, g, beta, cu_seqlens=CU)
    # bad: KDA001
    return chunk_kda(typing.cast(Rows, k), k, k, g, beta, cu_seqlens=CU)


def torch_asserts(q, k, g, beta):
    torch._assert(q.shape[0] == 2, "two rows")
    # bad: KDA001
    chunk_kda(q, k, k, g, beta, cu_seqlens=CU)
    torch._check(k.shape[0] == 2)
    # bad: KDA001
    return chunk_kda(k, k, k, g, beta, cu_seqlens=CU)


def whole_shape(q, k, g, beta):
    assert q.shape == (2, 64, 4, 128)
    # bad: KDA001
    chunk_kda(q, k, k, g, beta, cu_seqlens=CU)
    if tuple(k.size()) != torch.Size([2, 64, 4, 128]):
        # ok
        return chunk_kda(k, k, k, g, beta, cu_seqlens=CU)
    # bad: KDA001
    return chunk_kda(k, k, k, g, beta, cu_seqlens=CU)


def number_of_axes(q, k, g, beta):
    assert q.ndim == 3
    # bad: KDA204
    chunk_kda(q, k, k, g, beta)
    if 3 != k.ndim:
        # ok
        return chunk_kda(k, k, k, g, beta)
    # bad: KDA204
    return chunk_kda(k, k, k, g, beta)


def dtype(q, k, v, g, beta, s, out, A, bias):
    assert A.dtype == torch.bfloat16
    # bad: KDA106
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def one_of_two_dtypes(q, k, v, g, beta, s, out, A, bias):
    if A.dtype not in (torch.bfloat16, torch.float16):
        # ok
        return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)
    # bad: KDA106
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def dtype_of_two_names(q, k, v, g, beta, s, out, A, bias):
    decay = A
    if decay.dtype is torch.float32:
        # ok
        return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)
    # ok
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def never_of_that_dtype(q, k, v, g, beta, s, out, bias):
    A = torch.zeros(4)
    if A.dtype == torch.bfloat16:
        # ok
        return flash_kda.fwd(q, k, v, g, beta, s, out, A.bfloat16(), bias, -5.0)
    # ok
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def only_strided_ones(q, k, v, g, beta, s, out, A, bias):
    if bias.is_contiguous():
        # ok
        return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)
    # bad: KDA101
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def made_dense_where_it_is_not(q, k, v, g, beta, s, out, A, bias):
    if not bias.is_contiguous():
        bias = bias.contiguous()
    # ok
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def changed_under_another_name(q, k, v, g, beta, s, out, A, bias):
    other = bias
    assert not bias.is_contiguous()
    other.t_()
    # ok
    return flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)


def _made_where_it_is_missing(q, k, v, g, beta, made):
    if made is None:
        # ok
        made = fused_kda_gate(g, torch.zeros(4))
    return chunk_kda(q, k, v, made, beta)


def one_instead_of_the_other(q, k, v, beta, saved):
    made = saved.gate
    # ok
    return _made_where_it_is_missing(q, k, v, None, beta, made)


def _made_of_the_first(q, k, v, g, beta, made):
    if made is None:
        made = fused_kda_gate(g, torch.zeros(4))
    return chunk_kda(q, k, v, made, beta)


def neither_of_two(q, k, v, beta):
    # bad: KDA205
    return _made_of_the_first(q, k, v, None, beta, None)
