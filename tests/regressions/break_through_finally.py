"""A `finally` block is run on the way out of the loop as well.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    for _ in range(n):
        try:
            break
        finally:
            q = q[0]
    return chunk_kda(q, q, q, q, q)
