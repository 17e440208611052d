"""A name written through `globals()` by a helper.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

SHARED = torch.zeros(2, 3)


def rebind():
    globals()["SHARED"] = None


def root0(flag, n, opt, xs, x, options):
    rebind()
    return chunk_kda(SHARED, SHARED, SHARED, SHARED, SHARED)
