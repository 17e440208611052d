"""A manager changes what it holds where a block begins and where it ends.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Manager:
    def __init__(self, rows):
        self.rows = rows
        self.t = torch.zeros(1)

    def __enter__(self):
        self.rows.append(1)
        self.t = torch.zeros(2)
        return self

    def __exit__(self, *error):
        self.rows.append(2)
        self.t = torch.zeros(3)


def root0(flag, n, opt, xs, x, options):
    rows = []
    with Manager(rows) as manager:
        found = manager.t
        print(rows, found)
    found = manager.t
    print(rows, found)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
