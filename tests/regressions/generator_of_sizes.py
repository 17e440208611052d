"""What a generator yields are different numbers.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def sizes(tensors):
    for tensor in tensors:
        yield tensor.shape[0]


def root0(flag, n, opt, xs, x, options):
    found = list(sizes([x, *xs]))
    first, last = found[0], found[-1]
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0]), first, last
