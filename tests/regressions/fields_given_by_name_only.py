"""The fields of a record that its constructor does not take in order, and records that are read in their own way.

finds: nothing
"""

from dataclasses import dataclass, field

import torch
from fla.ops.kda import chunk_kda


@dataclass
class Metadata:
    cu_seqlens: torch.Tensor = field(init=False, default=None)
    query: torch.Tensor = None


@dataclass
class Pair:
    offsets: torch.Tensor
    query: torch.Tensor

    def __iter__(self):
        return iter((self.query, self.offsets))


def root0(flag, n, opt, xs, x, options):
    metadata = Metadata(torch.zeros(1, 4, 2, 8))
    q, cu = Pair(torch.tensor([0, 4]), metadata.query)
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=metadata.cu_seqlens)
    return chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=cu)
