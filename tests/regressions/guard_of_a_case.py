"""What the guard of a case binds stays where it does not hold.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    match opt:
        case None:
            size = 9
        case torch.Tensor() if (size := x.size(0)) > 3:
            pass
        case _:
            pass
    q = torch.zeros(1, 4, 2, 8)
    print(size)
    return chunk_kda(q, q, q, q, q[..., 0])
