"""What was read from an iterator does not come from it again.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows = iter((torch.zeros(2, 4), torch.zeros(2, 4, 2, 8)))
    first = next(rows)
    for q in rows:
        chunk_kda(q, q, q, q, q[..., 0])
    counted = enumerate([torch.zeros(2, 4), torch.zeros(2, 4, 2, 8)])
    next(counted)
    for _, q in counted:
        chunk_kda(q, q, q, q, q[..., 0])
    return first
