"""A class whose metaclass makes its objects in its own way.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.q = made.q.reshape(1, -1, 2, 8)
        return made


class Layer(metaclass=Meta):
    def __init__(self, q):
        self.q = q


def root0(flag, n, opt, xs, x, options):
    q = Layer(torch.zeros(2, 4, 2, 8)).q
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
