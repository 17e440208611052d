"""A tensor given as `out` gets the shape of the result.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    y = torch.zeros(0)
    torch.cat([torch.zeros(2), torch.zeros(3)], out=y)
    print(y)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
