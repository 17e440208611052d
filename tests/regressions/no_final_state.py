"""A kernel that was not asked for a final state returns None in its place.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    out, state = chunk_kda(q, q, q, q, q[..., 0])
    return chunk_kda(out, q, q, q, q[..., 0], initial_state=state)
