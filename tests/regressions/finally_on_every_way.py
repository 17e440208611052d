"""A call in a `finally` block is reached whichever way the block before it was left.

finds: nothing
"""

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 8, 2, 8)
    try:
        risky()
        q = q.reshape(2, 4, 2, 8)
    finally:
        chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
