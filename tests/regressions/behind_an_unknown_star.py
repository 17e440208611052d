"""What is passed behind a star of which nothing is known is passed as well.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def change(*rows):
    rows[-1].append(3)


def root0(flag, n, opt, xs, x, options):
    one, two = [1], [2]
    handed(change)(*xs, one)
    change(*xs, two)
    print(one, two)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
