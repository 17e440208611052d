"""A method that is not followed may change its object all the same.

finds: nothing
"""

import functools

import torch
from fla.ops.kda import chunk_kda


def timed(method):
    @functools.wraps(method)
    def inner(self, *args):
        return method(self, *args)

    return inner


class Layer:
    def __init__(self):
        self.state = torch.zeros(1, 1)
        self.depth = 0

    @timed
    def reset(self, rows):
        self.state = torch.zeros(rows, 2, 8, 8)

    def descend(self):
        self.depth += 1
        if self.depth < 3:
            self.descend()


def root0(flag, n, opt, xs, x, options):
    layer = Layer()
    layer.reset(1)
    state = layer.state
    layer.descend()
    depth = layer.depth
    print(depth)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=state)
