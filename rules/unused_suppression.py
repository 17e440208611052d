"""KDA900: a suppression comment suppresses something."""

from __future__ import annotations

from kdacheck.rule import Rule

RULE = Rule(
    code="KDA900",
    name="unused-suppression",
    law="A suppression comment that suppresses nothing is removed.",
    why="A stale comment hides the next mistake on its line.",
    remedy="remove the comment, or the code in it that suppresses nothing",
    static="comments",
    runtime="-",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta)  # kdacheck: ignore[KDA001]
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta):
    x = torch.randn(2, 128, 8, 64)
    cu = torch.tensor([0, 100, 256])
    return chunk_kda(x, x, x, g, beta, cu_seqlens=cu)  # kdacheck: ignore[KDA001]
""",
    ),
)
