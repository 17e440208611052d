"""An iterator is read once, wherever it is kept.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def twice(rows):
    return list(rows), list(rows)


def root0(flag, n, opt, xs, x, options):
    first = twice(iter([1, 2]))
    table = {"rows": iter([3, 4])}
    third = 3 in table["rows"]
    last = list(table["rows"])
    print(first, third, last)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
