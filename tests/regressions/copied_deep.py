"""A deep copy has lists of its own.

finds: nothing
"""

import copy

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    row = [1]
    table = {"a": row}
    other = copy.deepcopy(table)
    row.append(3)
    print(other)
    other["a"].append(4)
    print(row)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
