"""An element of a comprehension sees what those before it have changed.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)

    def flatten():
        q.squeeze_(0)
        return chunk_kda(q, q, q, q, q)

    return [flatten() for _ in range(n)]
