"""A method that is not followed may change its object.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Layer:
    def __init__(self, q):
        self.q = q

    def flatten(self):
        self.__dict__["q"] = self.q.reshape(1, -1, 2, 8)


def root0(flag, n, opt, xs, x, options):
    layer = Layer(torch.zeros(2, 4, 2, 8))
    layer.flatten()
    q = layer.q
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
