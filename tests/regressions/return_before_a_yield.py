"""A function with a `yield` makes a generator, also where it returns before one is reached.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    first = torch.zeros(2, 3)

    def empty(a):
        return (first, 1)
        yield a

    items = [*empty(x)]
    count = len(items)
    print(torch.zeros(count, 2).shape)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
