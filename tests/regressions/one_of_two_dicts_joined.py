"""A dict that may be an unknown one is still the same dict behind a call that changes either.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    mine = {key: torch.arange(1) for key in ("q", "k")}
    if flag:
        other = options
    else:
        other = mine
    other.update(a=x)
    other.pop("q", None)
    q = torch.zeros(1, 4, 2, 8)
    print(mine)
    return chunk_kda(q, q, q, q, q[..., 0])
