"""A call that breaks a law is flagged, and refused.

finds: KDA001
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
