"""What `super` means is up to the class of the object; a common base comes last.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


class Base:
    def setup(self):
        self.heads = 1

    def width(self):
        return 1


class Left(Base):
    def setup(self):
        super().setup()
        self.left = 2


class Right(Base):
    def setup(self):
        super().setup()
        self.heads = 2

    def width(self):
        return 2


class Mixin:
    def setup(self):
        super().setup()
        self.mixed = 1


class Both(Left, Right):
    pass


class Mixed(Mixin, Both):
    def setup(self):
        super(Mixin, self).setup()


def root0(flag, n, opt, xs, x, options):
    both = Both()
    both.setup()
    mixed = Mixed()
    mixed.setup()
    q = torch.zeros(1, 4, both.heads, 8)
    beta = torch.zeros(1, 4, both.width())
    gate = torch.zeros(1, 4, mixed.heads, 8)
    return chunk_kda(q, q, q, gate, beta)
