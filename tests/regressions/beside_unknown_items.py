"""What is in a list beside items of which nothing is known is still in it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    a, b, c = [1], [2], [3]
    rows = [a, *xs]
    rows[0].append(3)
    rows = [b]
    rows += xs
    rows[0].append(3)
    table = dict(options)
    table["c"] = c
    for value in table.values():
        if isinstance(value, list):
            value.append(3)
    print(a, b, c)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
