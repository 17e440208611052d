"""What is added in place to one of two tensors changes the other name of it as well.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    cu_seqlens = torch.tensor([0, 4])
    picked = opt if flag else cu_seqlens
    picked += 1
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=cu_seqlens)
