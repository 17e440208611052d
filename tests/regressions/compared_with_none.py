"""A tensor compared with what may be None may give a bool.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    same = torch.ones((2, 1)) == opt
    other = torch.ones(3) != opt
    q = torch.zeros(1, 4, 2, 8)
    print(same, other)
    return chunk_kda(q, q, q, q, q[..., 0])
