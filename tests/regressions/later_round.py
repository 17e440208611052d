"""What the first round of a loop leaves out, a later one does with other values.

finds: nothing
"""

import torch
from elsewhere import chance
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    batch = 2
    while True:
        if chance():
            q = torch.zeros(batch, 4, 2, 8)
            chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
            break
        batch = 1
