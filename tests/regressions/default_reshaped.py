"""A default is one tensor for all calls.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

SHARED = torch.zeros(1, 4)


def call(x, last=SHARED):
    last.data = torch.zeros(3)
    return x


def root0(flag, n, opt, xs, x, options):
    call(x)
    return chunk_kda(call(x), x, x, x, x)
