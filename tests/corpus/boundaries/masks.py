"""A padding mask beside offsets: one replaces the other, or both are given where only one may be."""

import torch
from fla.modules import ShortConvolution
from fla.ops.kda import chunk_kda
from training.layers import project
from training.padding import unpad


def an_injected_mask_replaces_the_offsets(x, g, beta, cu_seqlens=None, mask=None):
    # bad: KDA004
    if mask is not None:
        idx, cu_seqlens = unpad(mask)
    q, k, v = project(x)
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)


def the_guard_tests_both(x, g, beta, cu_seqlens=None, mask=None):
    # ok
    if cu_seqlens is None and mask is not None:
        idx, cu_seqlens = unpad(mask)
    q, k, v = project(x)
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)


def both_into_the_convolution(x, D, T):
    conv = ShortConvolution(D, 4)
    # bad: KDA004
    return conv(x, mask=torch.ones(1, T), cu_seqlens=torch.tensor([0, T]))


def one_of_them_may_be_none(x, D, mask, cu):
    conv = ShortConvolution(D, 4)
    # ok
    return conv(x, mask=mask, cu_seqlens=cu)
