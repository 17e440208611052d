"""A list or dict got by an index or key of which nothing is known is one of those that are there.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    q = torch.zeros(2, 4, 2, 8)
    groups = {"extend": [], "decode": []}
    groups[handed("extend")].append(q)
    if not groups["extend"]:
        q = q[0]
    rows = [[], []]
    rows[int(handed(1))].append(q)
    if not rows[1]:
        q = q[0]
    slots = {"a": {"q": q[0]}}
    slots[handed("b")] = {"q": q}
    slots.get(handed("a"), {})["q"] = q
    q = slots["a"]["q"]
    cells = [{"q": q} for _ in range(handed(2))]
    cells[0]["q"] = q[0]
    q = cells[1]["q"]
    return chunk_kda(q, q, q, q, q[..., 0])
