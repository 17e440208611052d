"""One and true are equal, but not the same.

finds: nothing
"""

import torch
from elsewhere import chance
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    layers = 1
    q = torch.zeros(2, 4, 2, 8)
    if layers is True:
        q = q[0]
    scale = 2 if chance() else 2.0
    h = torch.ones(2, 2, 8, 8, dtype=torch.int32) * scale
    if scale == 2 and isinstance(scale, int):
        return None
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h)
