"""A comprehension goes through a list that its elements may change.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows = [torch.zeros(1), torch.zeros(2), torch.zeros(3)]
    taken = [rows.pop() for _ in rows]
    print(taken)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
