"""Offsets taken from larger tables, their ends and their order."""

import flash_kda
import torch
from attn_gym.linear import kda as gym
from examples.linear.linear_attention_engine import helion_chunk_kda
from fla.ops.kda import chunk_kda


def one_of_several_rows(q, k, v, g, beta):
    batch_cu = torch.tensor([[0, 3, 8], [0, 5, 8]])
    # bad: KDA305
    return chunk_kda(q, k, v, g, beta, cu_seqlens=batch_cu[0])


def the_only_row(q, k, v, g, beta):
    batch_cu = torch.tensor([[0, 3, 8]])
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=batch_cu[0])


def all_rows(q, k, v, g, beta):
    # bad: KDA305
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([[0, 3, 8], [0, 5, 8]]))


def every_second_entry(q, k, v, g, beta, s, out, A, bias2d):
    cu = torch.arange(0, 50, 10)
    # bad: KDA307
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0, cu_seqlens=cu[::2])


def every_second_entry_where_it_is_copied(q, k, v, g, beta):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.arange(0, 50, 10)[::2])


def a_prefix(q, k, v, g, beta, query_start_loc, num_decodes: int):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=query_start_loc[: num_decodes + 1])


def empty_sequences_and_a_padded_tail(q, k, v, g, beta):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 0, 11, 27, 27]))


def empty_sequences_where_they_are_refused(q, k, v, g, beta):
    # bad: KDA308
    return helion_chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 0, 11, 27]))


def falling(q, k, v, g, beta):
    # bad: KDA308
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 11, 7, 27]))


def ending_too_early(k, v, g, beta, H, K):
    q = torch.randn(1, 17, H, K)
    # bad: KDA306
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 1, 2, 3]))


def ending_early_at_a_fixed_capacity(k, v, g, beta, H, K):
    q = torch.randn(1, 17, H, K)
    cu = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    # ok
    return gym.chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def a_name_is_no_verdict(q, k, v, g, beta, metadata):
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=metadata.query_start_loc)
