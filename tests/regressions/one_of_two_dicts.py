"""What is done to one of two dicts may be done to either.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    first, second = {"batch": 2}, {"batch": 2}
    chosen = first if flag else second
    chosen["batch"] = 1
    q = torch.zeros(first["batch"], 4, 2, 8)
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
