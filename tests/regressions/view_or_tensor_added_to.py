"""What is added in place leaves shape and strides as they are, whichever of two tensors it is.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    whole = torch.zeros(3, 8)
    picked = whole[:, 0] if flag else whole
    picked += 2
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
