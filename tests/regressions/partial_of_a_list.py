"""What a partial call holds is the object, whatever becomes of it.

finds: nothing
"""

import functools

import torch
from fla.ops.kda import chunk_kda


def add(value, rows):
    rows.append(value)
    return rows


def root0(flag, n, opt, xs, x, options):
    rows = []
    call = functools.partial(add, rows=rows)
    call(1)
    found = call(2)
    print(rows, found)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
