"""`enumerate` counts from where it is told to, whichever way it is told.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    for rows, length in enumerate((1, 3), start=1):
        print(rows, length)
    h = torch.zeros(rows, 2, 8, 8)
    cu = torch.tensor([0, 1, 4])
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
