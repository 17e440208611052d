"""A kernel with a contract of its own, and two requests that reach it in one row."""

import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from kdacheck import contract
from kdacheck.clauses import Dense, Gate, GateParameters, Packed, SameDevice


@contract(
    Packed(("q", "k", "v", "g"), by="cu_seqlens"),
    Gate(("g",)),
    GateParameters(("dt_bias",)),
    Dense(("dt_bias",)),
    SameDevice(),
)
def decay_attention(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    g: Float[Tensor, "B T H K"],
    dt_bias: Float32[Tensor, "H*K"],
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
) -> Float[Tensor, "B T H V"]:
    return torch.empty_like(v)


def prefill():
    tokens, heads, dim = 256, 16, 128
    q, k, v, g = (torch.randn(1, 2 * tokens, heads, dim) for _ in range(4))
    cu_seqlens = torch.tensor([0, 256, 512], dtype=torch.int32)
    return decay_attention(q, k, v, g, torch.zeros(heads * dim), cu_seqlens=cu_seqlens)
