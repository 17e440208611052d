"""What `view` is given may be a dtype.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    offsets = torch.zeros(2, dtype=torch.float32)
    bits = offsets.view(handed(torch.int32))
    print(bits.dtype)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=bits + torch.tensor([0, 4]).int())
