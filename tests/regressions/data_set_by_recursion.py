"""What a call that is not followed gives another shape.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4)

    def again(depth):
        if depth <= 0:
            return q
        q.data = torch.zeros(3)
        return again(depth - 1)

    again(n)
    return chunk_kda(q, q, q, q, q)
