"""`torch.Tensor.t_(x)` and `handed(x).t_()` change the shape of `x`.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4)
    k = torch.zeros(2, 4)
    torch.Tensor.t_(q)
    handed(k).t_()
    return chunk_kda(q, k, k, k, k)
