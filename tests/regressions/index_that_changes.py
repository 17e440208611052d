"""What is called for an index is called, whatever it is an index of.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def at(rows):
    rows.append(torch.zeros(3))
    return 0


def root0(flag, n, opt, xs, x, options):
    rows = []
    x[at(rows)] = 1
    print(rows)
    del xs[: at(rows)]
    print(rows)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
