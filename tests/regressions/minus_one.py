"""Two numbers of which the product is one may both be minus one.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    step, sign = int(handed(-1)), int(handed(-1))
    q = torch.zeros(1, 4, 2, 8)
    cu = torch.tensor([0, 2, 4])
    if -step == 1 and step * sign == 1:
        h = torch.zeros(4 + step + sign, 2, 8, 8)
        return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
    return None
