"""What every round does with the same values is found where not every round does it.

finds: KDA001
"""

import torch
from elsewhere import chance
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    for _ in xs:
        if chance():
            chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
