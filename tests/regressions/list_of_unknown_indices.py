"""A list of unknown indices may hold flags or lists.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    keep, drop = handed(True), handed(False)
    first = q[[keep, drop]]
    rows, columns = handed([0, 1]), handed([1, 2])
    heads = q[:, [rows, columns]]
    picked = handed(q)[[handed([0, 1]), handed([0, 1])]]
    both = q[[0, handed(1)]]
    print(first.shape, heads.shape, picked.shape, both.shape)
    offsets = torch.tensor([0, 4])
    return chunk_kda(first, first, first, first, first[..., 0], cu_seqlens=offsets)
