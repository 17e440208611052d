"""`break` in a `finally` block drops what was raised: the block before it is left anywhere.

finds: nothing
"""

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    for _ in range(2):
        try:
            risky()
            q = torch.zeros(1, 8, 2, 8)
        finally:
            break
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
