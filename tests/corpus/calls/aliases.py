"""Kernels under other names: chosen by a condition, kept on an object, partial, looked up, replaced."""

import functools
from unittest import mock

import fla.ops as ops
import pytest
import torch
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from fla.ops.kda.chunk import ChunkKDAFunction
from sglang.kernels.registry import KernelBackend, get_kernel

CU = torch.tensor([0, 64, 128])


def chosen_by_a_condition(k, v, g, beta, training):
    fn = chunk_kda if training else fused_recurrent_kda
    q = torch.randn(2, 64, 4, 32)
    # bad: KDA001
    return fn(q, k, v, g, beta, cu_seqlens=CU)


def chosen_from_a_dict(k, v, g, beta):
    kernels = {"chunk": chunk_kda, "recurrent": fused_recurrent_kda}
    q = torch.randn(2, 64, 4, 32)
    # bad: KDA001
    return kernels["chunk"](q, k, v, g, beta, cu_seqlens=CU)


def through_the_package(k, v, g, beta):
    # bad: KDA001
    return ops.kda.chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)


def partial(k, v, g, beta):
    packed = functools.partial(chunk_kda, cu_seqlens=CU)
    # bad: KDA001
    return packed(torch.randn(2, 64, 4, 32), k, v, g, beta)


class Mixer:
    """The kernel sits on the object."""

    def __init__(self):
        self._kernel = functools.partial(chunk_kda, state_v_first=True)

    def packed(self, k, v, g, beta):
        # bad: KDA001
        return self._kernel(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

    def dense(self, k, v, g, beta):
        # ok
        return self._kernel(torch.randn(2, 64, 4, 32), k, v, g, beta)


def imported_inside(k, v, g, beta):
    from fla.ops.kda import chunk_kda as kernel

    # bad: KDA001
    return kernel(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)


def under_similar_names(q, k, v, g, beta, A_log, bias, scale, h0):
    # ok
    ChunkKDAFunction.apply(q, k, v, g, beta, A_log, bias, scale, h0)
    # ok
    torch.ops.trtllm.kda_prefill(q, k, v, dt_bias=bias.detach())


def looked_up(q, k, v, beta, pool, idx):
    kernel = get_kernel("attention.chunk_kda", KernelBackend.HELION)
    g = torch.randn(2, 64, 4, 32)
    # bad: KDA001
    return kernel(
        q=q, k=k, v=v, g=g, beta=beta, cu_seqlens=CU, initial_state=pool, initial_state_indices=idx
    )


def test_two_rows_are_refused(k, v, g, beta):
    with pytest.raises(ValueError):
        # ok
        chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)


def test_the_layer_calls_the_kernel(k, v, g, beta):
    with mock.patch("fla.ops.kda.chunk_kda") as chunk_kda:
        # ok
        chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)


@pytest.mark.parametrize("rows", [2, 4])
def test_of_several_rows(rows, k, v, g, beta):
    # bad: KDA001
    chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)


@pytest.mark.parametrize("rows", [1, 4])
def test_of_one_row_too(rows, k, v, g, beta):
    # ok
    chunk_kda(torch.randn(rows, 128, 4, 32), k, v, g, beta, cu_seqlens=CU)
