"""Code in a text may change whatever has a name.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows = [1]
    exec("rows.append(2)")
    print(rows)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
