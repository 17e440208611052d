"""A name that a loop gives another dict may be either; what is changed by it is changed in both.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    first, second = {"batch": 2}, {"heads": 2}
    some = first
    for _ in range(n):
        some = second
    some.clear()
    print(first, second, some)
    q = torch.zeros(first.get("batch", 1), 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
