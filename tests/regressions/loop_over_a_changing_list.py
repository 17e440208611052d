"""A loop goes through a list as it is when each round begins.

finds: nothing
"""

import torch
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    rows, last = [torch.zeros(1), torch.zeros(2), torch.zeros(3)], None
    for row in rows:
        last = row
        rows.pop()
    print(last)
    numbers, total = [1], 0
    for count, _ in zip(numbers, range(9), strict=False):
        total += count
        if total < 3:
            numbers.append(5)
    print(total)
    q = torch.zeros(1, 4, 2, 8)
    return chunk_kda(q, q, q, q, q[..., 0])
