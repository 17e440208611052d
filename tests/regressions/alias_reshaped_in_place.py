"""A tensor that is given another shape in place has it under all its names.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    same = q.contiguous()
    same.squeeze_(0)
    return chunk_kda(q, q, q, q, q)
