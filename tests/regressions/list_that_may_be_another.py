"""A list or dict that goes by the name of an unknown one on one path only is changed by that name too.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    theirs = handed(xs)
    mine = [torch.zeros(2), torch.zeros(3)]
    some = mine if flag else theirs
    some.insert(0, x)
    table = {"q": torch.zeros(2)}
    if flag:
        options = table
    else:
        options.update(a=opt)
    options["q"] = x
    q = torch.zeros(1, 4, 2, 8)
    print(mine, table)
    return chunk_kda(q, q, q, q, q[..., 0])
