"""One of two dicts is changed, it is not known which.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    sizes = {"batch": 2}
    for _ in xs:
        chosen = sizes if x.dim() == 7 else options
        chosen.pop("batch", None)
        sizes.setdefault("batch", 1)
    q = torch.zeros(sizes["batch"], 4, 2, 8)
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
