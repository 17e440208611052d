"""A view of a dict shows the values that it has now.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    table, last = {"a": torch.zeros(1), "b": torch.zeros(2), "c": torch.zeros(3)}, None
    for value in table.values():
        last = value
        table["c"] = torch.zeros(7)
    print(last)
    rows = [(table.update(c=torch.zeros(9)), value)[1] for value in table.values()]
    print(rows)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
