"""A list may be put into itself, and changes there as well.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    row = [0, 0]
    row[1] = row
    row[0] = torch.zeros(3)
    print(row)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
