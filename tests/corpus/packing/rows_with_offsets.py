"""Batches of more than one row together with offsets: the kernel takes the rows for one sequence, or refuses."""

import fla.ops.kda
import torch
from einops import rearrange
from fla.ops.kda import chunk_kda, fused_recurrent_kda


def a_literal_batch(k, v, g, beta, H, K):
    q = torch.randn(4, 128, H, K)
    # bad: KDA001
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.arange(0, 513, 128))


def only_v_keeps_its_rows(q, k, v, g, beta, H, K, V, cu: torch.Tensor):
    q, k, v = q.view(1, 512, H, K), k.view(1, 512, H, K), v.view(4, 128, H, V)
    # bad: KDA001
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def proved_by_the_guard(q, k, v, g, beta, cu):
    if cu is not None and q.shape[0] > 1:
        # bad: KDA001
        o, s = chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
        return o
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)[0]


def a_pattern_that_keeps_the_rows(v, g, beta, cu: torch.Tensor):
    x = torch.randn(8, 256, 512)
    q, k = (rearrange(t, "b t (h d) -> b t h d", d=64) for t in (x, x))
    # bad: KDA001
    return fused_recurrent_kda(q, k, v, g, beta, cu_seqlens=cu)


def the_new_axis_in_the_wrong_place(v, g, beta, cu: torch.Tensor):
    x = torch.randn(300, 8, 64).unsqueeze(1)
    # bad: KDA001
    return chunk_kda(x, x, v, g, beta, cu_seqlens=cu)


def a_stack_of_sequences(v, g, beta, cu: torch.Tensor):
    rows = [torch.randn(64, 4, 32) for _ in range(3)]
    x = torch.stack(rows)
    # bad: KDA001
    return fla.ops.kda.chunk_kda(x, x, v, g, beta, cu_seqlens=cu)


def both_branches_have_rows(v, g, beta, large, cu: torch.Tensor):
    if large:
        x = torch.randn(8, 64, 4, 32)
    else:
        x = torch.randn(2, 64, 4, 32)
    # bad: KDA001
    return chunk_kda(x, x, v, g, beta, cu_seqlens=cu)


def left_early_when_packed(v, g, beta, cu):
    x = torch.randn(2, 64, 4, 32)
    if cu is None:
        # ok
        return chunk_kda(x, x, v, g, beta, cu_seqlens=cu)
    # bad: KDA001
    return chunk_kda(x, x, v, g, beta, cu_seqlens=cu)


def project(x):
    return x.view(x.shape[0], x.shape[1], 4, 32)


def rows_through_a_helper(v, g, beta, cu: torch.Tensor):
    x = project(torch.zeros(2, 64, 128))
    # bad: KDA001
    return chunk_kda(x, x, v, g, beta, cu_seqlens=cu)


def inner(q, k, v, g, beta, cu):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def the_call_in_a_helper(v, g, beta):
    x = torch.zeros(2, 64, 4, 32)
    # bad: KDA001
    return inner(x, x, v, g, beta, torch.tensor([0, 64, 128]))


def the_call_in_a_helper_that_is_right(v, g, beta):
    x = torch.zeros(1, 128, 4, 32)
    # ok
    return inner(x, x, v, g, beta, torch.tensor([0, 64, 128]))
