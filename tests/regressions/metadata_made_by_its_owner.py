"""Whoever changes an object of which nothing is known may change what is in it.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


class Metadata:
    def __init__(self):
        self.query = None


class Batch:
    def __init__(self):
        self.metadata = Metadata()

    def prepare(self):
        self.metadata.query = torch.zeros(2, 4, 2, 8)


def root0(flag, n, opt, xs, x, options):
    batch = handed(Batch())
    metadata = batch.metadata
    if metadata.query is None:
        batch.prepare()
        q = torch.zeros(2, 4) if metadata.query is None else torch.zeros(2, 4, 2, 8)
        return chunk_kda(q, q, q, q, q[..., 0])
    return None
