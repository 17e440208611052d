"""Whoever is handed a list of unknown length may put anything into it.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def change(rows):
    rows.append(3)


def root0(flag, n, opt, xs, x, options):
    rows = [torch.zeros(3) for _ in range(n)]
    handed(change)(rows)
    print(rows)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
