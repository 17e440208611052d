"""A pattern gives other names to what it matches, and to what is in it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    table, row = {"a": torch.zeros(3)}, [1]
    match (table, row):
        case (dict() as other, last):
            other["a"] = torch.zeros(4)
            last.append(3)
    print(table, row)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
