"""A list of unknown things may be a list of lists.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 8, 2, 8)
    offsets = handed([0, 3, 8])
    packed = torch.tensor([offsets])
    rows = torch.tensor([[offsets, offsets], [offsets, offsets]])
    ragged = torch.as_tensor([list(range(2 * n)), [*offsets, *offsets][: 2 * n]])
    ends = torch.tensor([0, handed(8)])
    print(packed.shape, rows.shape, ragged.shape, ends.shape)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=packed[0])
