"""A tensor with one axis more is not the same tensor.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    beta = handed(torch.zeros(1, 4, 2))
    gate = beta[..., None]
    assert gate.ndim == 4
    swapped = beta.transpose(0, 1)
    summed = beta.sum(-1)
    print(swapped.shape, summed.shape)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, gate.expand(-1, -1, -1, 8), beta)
