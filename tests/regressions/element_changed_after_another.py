"""Two dicts that one comprehension makes are two.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    made = [{"batch": 1} for _ in range(n + 2)]
    first, second = made[0], made[1]
    first["batch"] = 2
    q = torch.zeros(second["batch"], 4, 2, 8)
    print(first, second, made)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
