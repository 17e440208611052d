"""What is handed over with a star is counted among the arguments of Python's own functions.

finds: nothing
"""

import itertools

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows = handed([(torch.zeros(1, 2, 2, 8), 1), (torch.zeros(1, 2, 2, 8), 2)])
    parts, numbers = zip(*rows, strict=True)
    q = torch.zeros(2, 4)
    if parts:
        q = torch.cat(parts, dim=1)
    offsets = [0, *itertools.accumulate(itertools.chain([2], *handed([[2]])))]
    longest = max(1, 2, *handed([4]))
    cu = torch.tensor(offsets)
    print(numbers, longest, cu)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=cu)
