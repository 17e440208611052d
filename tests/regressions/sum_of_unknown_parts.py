"""A sum, or the largest, of things of which nothing is known may be a tensor or a float.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 2, 8) + sum([handed(torch.zeros(2, 4, 2, 8)), handed(torch.zeros(1))])
    h = torch.zeros(2, 2, 8, 8, dtype=torch.int32) * max(handed(1.5), handed(1))
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h)
