"""What is taken out of a list may be an object of the file, and its methods change it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Thing:
    def __init__(self):
        self.t = torch.zeros(1)

    def put(self, t):
        self.t = t


def root0(flag, n, opt, xs, x, options):
    thing = Thing()
    things = [thing]
    things.pop().put(torch.zeros(4))
    found = thing.t
    print(found)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
