"""`take` gives what its index has the shape of.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    table = torch.zeros(64)
    q = table.take(handed(torch.zeros(1, 4, 2, 8, dtype=torch.int64)))
    k = torch.take(table, torch.zeros(1, 4, 2, 8, dtype=torch.int64))
    return chunk_kda(q, k, k, k, k[..., 0])
