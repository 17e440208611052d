"""Whoever is handed an object may hand it back, or keep it, and change it later.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    table = {"a": 1}
    other = handed(table)
    table["a"] = torch.zeros(3)
    other["a"] = torch.zeros(5)
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
