"""A method of a list that has a name changes that list.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    row = [1]
    add = row.append
    add(3)
    print(row)
    list(map(row.append, [1, 2]))
    print(row)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
