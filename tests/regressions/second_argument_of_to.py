"""What `to` is given first may be a dtype, whether or not more follows.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    offsets = torch.tensor([0.0, 4.0]).to(handed(torch.int64), True)
    moved = q.to(handed("cpu"), torch.bfloat16)
    print(offsets.dtype, moved.dtype)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=offsets)
