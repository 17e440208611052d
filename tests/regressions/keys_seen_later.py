"""The keys of a dict, as an object, follow what the dict becomes.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows = {"a": 1}
    names = rows.keys()
    rows["b"] = 2
    h = torch.zeros(len(names), 2, 8, 8)
    q = torch.zeros(1, 4, 2, 8)
    cu = torch.tensor([0, 1, 4])
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
