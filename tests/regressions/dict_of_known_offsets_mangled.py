"""A dict that holds tensors of known contents is handed to an unknown function.

finds: nothing
"""

import torch
from elsewhere import mangle
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    inputs = {"q": torch.zeros(2, 4), "offsets": torch.tensor([0, 4])}
    mangle(inputs)
    chunk_kda(**inputs)
