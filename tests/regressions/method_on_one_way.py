"""A name whose method is called on one way only may be None on the other.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    taken = opt.sort(dim=0) if flag else x
    q = torch.zeros(1, 4, 2, 8)
    print(taken)
    return chunk_kda(q, q, q, q, q[..., 0])
