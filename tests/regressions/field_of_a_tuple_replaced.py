"""A field of a NamedTuple is an attribute of its class, which may be given another value.

finds: nothing
"""

from typing import NamedTuple

import torch
from fla.ops.kda import chunk_kda


class Pair(NamedTuple):
    first: object


def root0(flag, n, opt, xs, x, options):
    Pair.first = torch.zeros(1, 4, 2, 8)
    q = Pair(torch.zeros(2, 4, 2, 8)).first
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 4]))
