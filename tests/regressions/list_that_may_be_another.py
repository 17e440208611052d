"""A list or dict that goes by the name of an unknown one on one path only is changed by that name too.

finds: nothing
"""

import torch
from elsewhere import chance
from fla.ops.kda import chunk_kda


def made(a):
    return {"q": a, "a": a}


def root0(flag, n, opt, xs, x, options):
    table = made(torch.zeros(3))
    if chance() or []:
        other = options
    else:
        other = table
    options.update(a=opt)
    other.update(options)
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
