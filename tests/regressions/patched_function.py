"""A function of torch that the file replaces.

finds: nothing
"""

import torch
import torch.nn.functional as F
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    F.silu = lambda value: value[None]
    q = F.silu(torch.zeros(4, 2, 8))
    return chunk_kda(q, q, q, q, q)
