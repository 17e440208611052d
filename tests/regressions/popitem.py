"""A method of a dict that is not modelled changes it.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    inputs = {"q": x, "k": torch.zeros(2, 4)}
    inputs.popitem()
    chunk_kda(**inputs)
