"""Whoever is handed an object may change the dicts that it holds.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


class Thing:
    def __init__(self, table):
        self.table = table


def change(thing):
    thing.table["a"] = torch.zeros(5)


def root0(flag, n, opt, xs, x, options):
    table = {"a": torch.zeros(1)}
    handed(change)(Thing(table))
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
