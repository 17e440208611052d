"""A module that says what calling it means is called that way, and calls its forward from there.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda
from torch import nn


class Layer(nn.Module):
    def __call__(self, *args):
        result = super().__call__(*args)
        return result.unsqueeze(0)

    def forward(self, tokens):
        self.seen = tokens
        return tokens


def root0(flag, n, opt, xs, x, options):
    layer = Layer()
    q = layer(torch.zeros(4, 2, 8))
    seen = layer.seen
    print(seen.shape)
    return chunk_kda(q, q, q, q, q[..., 0])
