"""What a function handed on does to a name around it, it does to the object.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    a, b = [1], [2]
    last = a

    def change():
        nonlocal last
        last.append(4)
        last = b

    handed(change)()
    last.append(3)
    print(a, b)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
