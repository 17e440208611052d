"""The length of an object of which nothing is known is another one after a change.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    waiting = handed([1, 2, 3])
    q = torch.zeros(1, len(waiting), 2, 8)
    del waiting[0]
    cu = torch.arange(len(waiting) + 2)
    slots = handed({})
    first = len(slots)
    slots["a"] = 1
    h = torch.zeros(2 + len(slots) - first, 2, 8, 8)
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
