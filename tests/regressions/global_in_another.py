"""A global list may be changed by way of another one that holds it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

ROWS = [torch.zeros(2)]
ALL = [ROWS, 3]


def root0(flag, n, opt, xs, x, options):
    for rows in ALL:
        if isinstance(rows, list):
            rows[0] = torch.zeros(3)
    first = ROWS[0]
    print(first)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
