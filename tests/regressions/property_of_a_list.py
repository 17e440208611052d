"""A property that may be set gives what the object holds by another name.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Thing:
    def __init__(self):
        self.held = [1]

    @property
    def rows(self):
        return self.held

    @rows.setter
    def rows(self, rows):
        self.held = rows


def root0(flag, n, opt, xs, x, options):
    thing = Thing()
    thing.rows.append(3)
    print(thing.held)
    rows = [5]
    thing.rows = rows
    thing.rows.append(6)
    found = thing.held
    print(rows, found)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
