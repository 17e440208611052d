"""A manager changes what it holds however its block is left.

finds: nothing
"""

import torch
from elsewhere import chance
from fla.ops.kda import chunk_kda


class Manager:
    def __init__(self, table):
        self.table = table

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.table["a"] = torch.zeros(7)


def call(table):
    with Manager(table):
        table["a"] = torch.zeros(2)
        return table


def root0(flag, n, opt, xs, x, options):
    table = call({})
    print(table)
    for _ in range(3):
        with Manager(table):
            table["a"] = torch.zeros(2)
            if chance():
                break
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
