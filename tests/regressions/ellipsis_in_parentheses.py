"""`(...)` is one axis, not those of the ellipsis.

finds: nothing
"""

import torch
from einops import rearrange
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    bias = torch.zeros(2, 8)
    joined = rearrange(q, "b t ... -> b t (...)")
    flat = rearrange(bias, "... -> (...)")
    shaped = rearrange(flat, "(h k) -> h k", h=2)
    print(joined.shape, shaped.shape)
    return chunk_kda(
        q, q, q, q, q[..., 0], use_gate_in_kernel=True, A_log=torch.zeros(2), dt_bias=flat
    )
