"""The elements of a sequence of unknown length are numbers of their own.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    places = range(handed(3))
    first, last = places[0], places[-1]
    q = torch.zeros(1, last - first, 2, 8)
    (i, one), (j, two) = enumerate(handed([1, 1]))
    h = torch.zeros(1 + j - i, 2, 8, 8)
    cu = torch.tensor([0, 1, 2])
    print(one, two)
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
