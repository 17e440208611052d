"""A dict of the module may be changed as an attribute of a class.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda

TABLE = {"a": torch.zeros(1)}


class Thing:
    table = TABLE


def root0(flag, n, opt, xs, x, options):
    found = TABLE["a"]
    print(found)
    Thing.table["a"] = torch.zeros(4)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
