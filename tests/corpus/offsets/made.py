"""How offsets are made: cumulated, padded, cast; and what they are when a step is left out."""

import flash_kda
import torch
import torch.nn.functional as F
from attn_gym.linear import kda as gym
from fla.ops.kda import chunk_kda


def cumulated_then_padded(q, k, v, g, beta, lens):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(lens.cumsum(0), (1, 0)))


def padded_then_cumulated(q, k, v, g, beta, lens):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(lens, (1, 0)).cumsum(0))


def a_cumsum_is_int64(q, k, v, g, beta):
    lens = torch.tensor([3, 4], dtype=torch.int32)
    # bad: KDA304
    return gym.chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(lens.cumsum(0), (1, 0)))


def the_dtype_is_stated(q, k, v, g, beta, lens):
    cu = F.pad(lens.cumsum(0, dtype=torch.int32), (1, 0))
    # ok
    return gym.chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def cast_at_the_call(q, k, v, g, beta, s, out, A, bias2d, cu):
    # ok
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0, cu_seqlens=cu.to(torch.int64))


def int32_where_int64_is_read(q, k, v, g, beta, s, out, A, bias2d, cu: torch.Tensor):
    # bad: KDA304
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0, cu_seqlens=cu.int())


def lengths_of_a_mask(q, k, v, g, beta, mask: torch.Tensor):
    # bad: KDA301
    return chunk_kda(q, k, v, g, beta, cu_seqlens=mask.sum(-1, dtype=torch.int32))


def lengths_of_a_mask_cumulated(q, k, v, g, beta, mask: torch.Tensor):
    lens = mask.sum(-1, dtype=torch.int32)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(lens.cumsum(0), (1, 0)))


def without_the_leading_zero(q, k, v, g, beta):
    # bad: KDA302
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([3, 4]).cumsum(0))


def of_lengths_that_may_be_padded(q, k, v, g, beta, lens):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=lens.cumsum(0))


def halves_of_odd_lengths(q, k, v, g, beta):
    # bad: KDA303
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 5, 12, 16]) // 2)


def halves_of_even_lengths(q, k, v, g, beta):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 4, 12, 16]) // 2)


def parts_of_padded_lengths(q, k, v, g, beta, padded, cp):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=padded // cp)
