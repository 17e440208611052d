"""What a generator passes on from another comes out of it as well.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def inner(a):
    yield a
    yield a.unsqueeze(0)


def outer(a, b):
    yield b
    yield from inner(a)


def root0(flag, n, opt, xs, x, options):
    last = torch.zeros(2, 3)
    for last in outer(torch.zeros(4), torch.zeros(5)):
        print(last.shape)
    print([t.sum(-1) for t in outer(torch.zeros(1, 4), torch.zeros(5, 6, 7))])
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
