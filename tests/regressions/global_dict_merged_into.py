"""A dict of the module is changed by `|=` on another name of it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

SIZES = {"batch": 2}


def call(x):
    q = torch.zeros(SIZES["batch"], 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))


def root0(flag, n, opt, xs, x, options):
    sizes = SIZES
    sizes |= {"batch": 1}
    return call(x)
