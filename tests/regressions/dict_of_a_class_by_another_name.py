"""The dict of a class, changed by a name that some method gave it, is changed for the next call.

finds: nothing
"""

import torch
from elsewhere import mangle
from fla.ops.kda import chunk_kda


class Layer:
    shared = {"batch": 2}
    more = {"batch": 2}


def root0(flag, n, opt, xs, x, options):
    layer = Layer()
    found = getattr(layer, "shared")
    q = torch.zeros(found.get("batch", 1), 4, 2, 8)
    if found.get("batch"):
        mangle(found)
        return None
    sizes = layer.more
    print(sizes)
    sizes.setdefault("heads", q)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
