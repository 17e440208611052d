"""KDA104: a KDA gate is per channel, beta per head, both by value heads."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import rank_violations, size_violations


def check(call: Call) -> Iterator[Violation]:
    yield from rank_violations(call, "KDA104")
    yield from size_violations(call, "KDA104")


RULE = Rule(
    code="KDA104",
    name="gate-shape",
    law="A KDA gate is per channel, `[B, T, HV, K]`, and beta is `[B, T, HV]`, both by value heads.",
    why="The gated delta rule has one decay per head, KDA one per key channel; with grouped values both go by value "
    "heads. A gate of another shape is refused at best and indexed past its end at worst.",
    remedy="build the gate as [B, T, HV, K] and beta as [B, T, HV]",
    static="dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(2, 64, 4, 32), torch.rand(2, 64, 4)
    g = torch.zeros(2, 64, 4)
    return chunk_kda(x, x, x, g, beta)
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 2, 32), torch.randn(2, 64, 4, 32)
    g, beta = torch.zeros(2, 64, 2, 32), torch.rand(2, 64, 2)
    return chunk_kda(q, q, v, g, beta)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(2, 64, 4, 32), torch.rand(2, 64, 4)
    g = torch.zeros(2, 64, 4, 32)
    return chunk_kda(x, x, x, g, beta)
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 2, 32), torch.randn(2, 64, 4, 32)
    g, beta = torch.zeros(2, 64, 4, 32), torch.rand(2, 64, 4)
    return chunk_kda(q, q, v, g, beta)
""",
    ),
    check=check,
)
