"""Sizes that are 1, may be 1, or are said to be 1: nothing is certain, so nothing is reported."""

import torch
from fla.ops.kda import chunk_kda
from training.inputs import make_inputs


def a_variable_that_equals_one(k, v, g, beta, T, H, K):
    B = 1
    q = torch.randn(B, T, H, K)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, T], dtype=torch.int32))


def a_shape_in_a_tuple(v, g, beta, T, H, K, cu: torch.Tensor):
    shape = (1, T, H, K)
    # ok
    return chunk_kda(torch.randn(shape), torch.randn(*shape), v, g, beta, cu_seqlens=cu)


def from_a_factory(T, H):
    q, k, v, g, beta, cu = make_inputs(T, H)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def an_unknown_batch(x, q, k, v, g, beta, H, K, cu: torch.Tensor):
    B, T = x.shape[:2]
    # ok
    return chunk_kda(q.view(B, T, H, K), k, v, g, beta, cu_seqlens=cu)


def asserted(q, k, v, g, beta, cu: torch.Tensor):
    assert q.shape[0] == 1
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def one_of_two_batches(k, v, g, beta, small, cu: torch.Tensor):
    B = 1 if small else 4
    q = torch.randn(B, 64, 4, 32)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def the_caller_decides(B, k, v, g, beta, cu: torch.Tensor):
    q = torch.randn(B, 64, 4, 32)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
