"""A class that stores attributes in its own way.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Watched:
    def __setattr__(self, name, value):
        super().__setattr__(name, value.reshape(1, -1, 2, 8))


class Layer(Watched):
    def __init__(self, q):
        self.q = q


def root0(flag, n, opt, xs, x, options):
    q = Layer(torch.zeros(2, 4, 2, 8)).q
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
