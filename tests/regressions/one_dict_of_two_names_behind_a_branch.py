"""Two names of one dict are so behind a branch that changed it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    sizes = {"batch": 2}
    same = sizes
    if flag:
        sizes["heads"] = 2
    same["batch"] = 1
    q = torch.zeros(sizes["batch"], 4, 2, 8)
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
