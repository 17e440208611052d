"""Which of several axes goes is told in their order, not in that of the call.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    beta = torch.zeros(1, 4, 2, n or 1)
    thin = beta.squeeze((3, 0))
    print(thin.shape)
    return chunk_kda(q, q, q, q, beta[..., 0])
