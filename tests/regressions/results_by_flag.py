"""How many results there are is up to flags, which may be unknown or stand elsewhere.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    ids = torch.tensor([0, 0, 1, 1])
    values, inverse = torch.unique_consecutive(ids, True)
    found = torch.ones(4).nonzero(as_tuple=handed(True))
    rows = torch.repeat_interleave(torch.tensor([1, 3], dtype=torch.int32))
    stacked = torch.column_stack((ids, inverse))
    print(values, found, rows.dtype, stacked.shape)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=stacked[0] * 0 + torch.tensor([0, 4]))
