"""KDA204: each operand has a rank its signature allows."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import rank_violations


def check(call: Call) -> Iterator[Violation]:
    return rank_violations(call, "KDA204")


RULE = Rule(
    code="KDA204",
    name="operand-rank",
    law="Each operand has a rank its signature allows.",
    why="Libraries with functions of the same name differ in whether there is a batch or token axis. The wrong rank "
    "is refused, or shifts every axis by one.",
    remedy="add or drop the axis that this callee expects",
    static="dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta):
    q = torch.randn(128, 8, 64)
    return chunk_kda(q, q, q, g, beta)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta):
    q = torch.randn(128, 8, 64).unsqueeze(0)
    return chunk_kda(q, q, q, g, beta)
""",
    ),
    check=check,
)
