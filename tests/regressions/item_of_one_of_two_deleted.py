"""What is deleted from a dict that may be None is gone from it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def made(a, n):
    if n > 1:
        pass
    else:
        return None
    return {"q": torch.zeros(2, 3), "a": a}


def root0(flag, n, opt, xs, x, options):
    table = made(torch.zeros(2), n)
    del table["q"]
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
