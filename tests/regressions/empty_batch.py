"""An object that has a length, or a say in it, may be false.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Batch:
    def __init__(self, lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)


def root0(flag, n, opt, xs, x, options):
    batch = Batch([])
    q = torch.zeros(2, 4)
    if not batch:
        q = torch.zeros(2, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
