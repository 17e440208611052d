"""What a round does to a tensor is done to it in the rounds to come.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    for each in (q, q):
        each.unsqueeze_(0)
    return chunk_kda(each, q, q, q, q)
