"""Code under a manager that returns true from `__exit__` may be left anywhere.

finds: nothing
"""

import torch
from elsewhere import risky
from fla.ops.kda import chunk_kda


class Swallow:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return True


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    with Swallow() as entered:
        risky()
        q = q.reshape(1, 8, 2, 8)
    chunk_kda(q, q, q, q, q[..., 0], cu_seqlens=torch.tensor([0, 8]))
    return entered
