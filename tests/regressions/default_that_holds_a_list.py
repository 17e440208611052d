"""What a default holds is one object for all calls.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def add(value, rows=([], 3)):
    rows[0].append(value)
    return rows[0]


def root0(flag, n, opt, xs, x, options):
    add(1)
    rows = add(2)
    print(rows)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
