"""The elements of a sorted list are different numbers.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    first, *rest = sorted([x.shape[0], 3, n])
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0]), first, rest
