"""Offsets of the module are written through a view of them.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

OFFSETS = torch.tensor([0, 2, 4])


def shift():
    view = OFFSETS.reshape(1, 3)
    view[...] = 1


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    shift()
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=OFFSETS)
