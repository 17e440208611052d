"""A size that is 1 on one way and more on the other.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    for _ in options:
        if (size := x.shape[0]) > 1:
            break
    q = torch.zeros(1, size, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
