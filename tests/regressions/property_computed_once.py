"""A cached property is computed once, whatever becomes of what it was computed from.

finds: nothing
"""

from functools import cached_property

import torch
from fla.ops.kda import chunk_kda


class Metadata:
    def __init__(self, cu):
        self.cu = cu

    @cached_property
    def rows(self):
        return len(self.cu) - 1


def root0(flag, n, opt, xs, x, options):
    metadata = Metadata(torch.tensor([0, 2, 4]))
    first = metadata.rows
    metadata.cu = torch.tensor([0, 4])
    q = torch.zeros(1, 4, 2, 8)
    h = torch.zeros(metadata.rows, 2, 8, 8)
    cu = torch.tensor([0, 2, 4])
    print(first)
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=cu)
