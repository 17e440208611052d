"""A dict whose tensors were written into is the same dict still where an error leads.

finds: nothing
"""

import contextlib

import torch
from elsewhere import mangle, risky
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    made = dict(q=torch.tensor([9, 9, 9]), size=2)
    try:
        with contextlib.nullcontext(x):
            mangle(made)
        risky(0.9)
    except ValueError:
        pass
    print(made)
    q = torch.zeros(2 if "size" in made else 1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
