"""The same of a generator that catches around its `yield`.

finds: nothing
"""

import contextlib

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


@contextlib.contextmanager
def quietly():
    try:
        yield
    except ValueError:
        pass


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(1, 4, 2, 8)
    with quietly():
        q = q[0]
        risky()
        q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q)
