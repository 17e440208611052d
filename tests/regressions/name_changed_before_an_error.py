"""What a name stood for when an error came may be any object it was given.

finds: nothing
"""

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    a, b = [1], [2]
    last = a
    try:
        last = b
        risky()
        last = a
        risky()
    except ValueError:
        last.append(4)
    print(a, b)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
