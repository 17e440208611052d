"""Three sequences in one packed row, and one state for the row."""

import torch
from fla.ops.kda import chunk_kda


def train(q, k, v, g, beta):
    heads, dim = 4, 64
    cu_seqlens = torch.tensor([0, 100, 300, 512])
    state = torch.zeros(1, heads, dim, dim)
    return chunk_kda(q, k, v, g, beta, initial_state=state, cu_seqlens=cu_seqlens)
