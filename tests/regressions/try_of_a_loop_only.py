"""A `try` whose body is one compound statement imports nothing.

finds: nothing
"""

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q, k = torch.zeros(1, 4, 2, 8), torch.zeros(2, 4, 2, 8)
    try:
        for each in (q, k):
            risky(each.shape[0] / 2)
    except Exception:
        pass
    return chunk_kda(each, each, each, each, each[..., 0], cu_seqlens=torch.tensor([0, 4]))
