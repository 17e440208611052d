"""An index of which nothing is known may be a slice of a list or of a shape.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    few = handed(slice(0, 2))
    parts = [torch.zeros(1, 2, 2, 8), torch.zeros(1, 2, 2, 8), torch.zeros(1, 4, 2, 8)]
    q = torch.cat(parts[few], dim=1)
    h = torch.zeros(*q.shape[handed(slice(0, 1))], 2, 8, 8)
    cu = torch.tensor([0, 4])
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
