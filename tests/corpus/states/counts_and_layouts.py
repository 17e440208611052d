"""Initial and final states: one per sequence, their dtype, and the order of their last two axes."""

import torch
from fla.ops.kda import chunk_kda


def one_state_for_three_sequences(q, k, v, g, beta, H, K, V):
    h0 = torch.zeros(1, H, K, V)
    # bad: KDA401
    return chunk_kda(q, k, v, g, beta, initial_state=h0, cu_seqlens=torch.tensor([0, 4, 8, 12]))


def one_state_each(q, k, v, g, beta, H, K, V):
    h0 = torch.zeros(3, H, K, V)
    # ok
    return chunk_kda(q, k, v, g, beta, initial_state=h0, cu_seqlens=torch.tensor([0, 4, 8, 12]))


def one_state_per_row(q, k, v, g, beta, H, K, V):
    q = torch.randn(4, 64, H, K)
    # bad: KDA401
    return chunk_kda(q, k, v, g, beta, initial_state=torch.zeros(2, H, K, V))


def low_precision(q, k, v, g, beta, B, H, K, V):
    h0 = torch.zeros(B, H, K, V, dtype=torch.bfloat16)
    # bad: KDA402
    return chunk_kda(q, k, v, g, beta, initial_state=h0)


def transposed_on_the_way_back(q, k, v, g, beta, pool, idx, cu):
    o, s = chunk_kda(
        q, k, v, g, beta, initial_state=pool[idx], output_final_state=True, cu_seqlens=cu
    )
    # later: KDA403
    pool[idx] = s.transpose(-1, -2)
    return o


def as_it_lies_both_ways(q, k, v, g, beta, pool, idx, cu):
    o, s = chunk_kda(
        q, k, v, g, beta, initial_state=pool[idx], output_final_state=True, cu_seqlens=cu
    )
    # ok
    pool[idx] = s
    return o
