"""What is taken out of a list is one of the objects that were in it, and changes as such.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    a, b = [1], [2]
    both = [a, b]
    last = both.pop()
    last.append(3)
    print(a, b)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
