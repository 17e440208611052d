"""What torch was built with, and what it is told to do, may be nothing.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    if torch.version.hip:
        q = q[0]
    if torch.version.xpu is not None or torch.backends.cudnn.deterministic:
        q = q[0]
    return chunk_kda(q, q, q, q, q[..., 0])
