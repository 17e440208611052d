"""Two requests of one step, still as two rows, together with the boundaries of a packed batch."""

import torch
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda


def prefill(pool, slots, A_log, dt_bias):
    tokens, heads, dim = 256, 16, 128
    q, k, v, g = (torch.randn(2, tokens, heads, dim, dtype=torch.bfloat16) for _ in range(4))
    beta = torch.rand(2, tokens, heads)
    cu_seqlens = torch.tensor([0, 256, 512], dtype=torch.int32)
    return chunk_kda(
        q,
        k,
        v,
        g,
        beta,
        initial_state=pool,
        initial_state_indices=slots,
        cu_seqlens=cu_seqlens,
        A_log=A_log,
        dt_bias=dt_bias,
    )
