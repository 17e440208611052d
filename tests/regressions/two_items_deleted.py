"""One `del` may delete more than one item.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    table = {"a": torch.zeros(3), "b": 2, "c": 1}
    del table["a"], table["b"]
    print(table)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
