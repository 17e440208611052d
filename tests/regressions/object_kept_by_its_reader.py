"""Whoever is handed an object of the file may hand it back, and set its attributes by that name.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


class Thing:
    def __init__(self):
        self.t = torch.zeros(1)


def root0(flag, n, opt, xs, x, options):
    thing = Thing()
    other = handed(thing)
    thing.t = torch.zeros(3)
    other.t = torch.zeros(5)
    print(thing.t)
    found = thing.t
    print(found)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
