"""What is put into something unknown is changed by that way too.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    row = [1]
    options["a"] = row
    options["a"].append(3)
    print(row)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
