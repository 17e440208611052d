"""A cached function hands one dict to all callers.

finds: nothing
"""

import functools

import torch
from fla.ops.kda import chunk_kda


@functools.lru_cache
def sizes(batch):
    return {"batch": batch}


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(sizes(2)["batch"], 4, 2, 8)
    sizes(2)["batch"] = 1
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
