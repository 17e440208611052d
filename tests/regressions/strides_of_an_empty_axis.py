"""torch counts an empty axis as one where it lays out the others.

finds: nothing
"""

import torch
from elsewhere import number
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    made = torch.zeros(number() % 2, 3, 1, 4)
    rows = torch.zeros(3, made.size(0), 4)
    for _ in xs:
        if (count := made.size(0)) > 0:
            break
    else:
        count = 0
    print(made, rows, count)
    if made.size(0) == 0:
        print(made, rows)
    return chunk_kda(made, made, made, made, made[..., 0])
