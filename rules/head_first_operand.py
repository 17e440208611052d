"""KDA202: operands are token-major where the callee is."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.tags import HEAD_FIRST
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import token_major


def check(call: Call) -> Iterator[Violation]:
    wrong = [
        name
        for name, facts in call.tensors()
        if HEAD_FIRST in facts.tags and token_major(call, name)
    ]
    if wrong:
        others = ", ".join(f"`{name}`" for name in wrong[1:])
        also = f" (and so have {others})" if others else ""
        yield Violation(
            f"`{wrong[0]}` has heads before tokens{also}, but the kernel reads axis 1 as tokens",
            parameter=wrong[0],
            aspect="layout",
            remedy=f"keep it token-major, [B, T, H, ...]: `{wrong[0]}.transpose(1, 2)`",
        )


RULE = Rule(
    code="KDA202",
    name="head-first-operand",
    law="Operands are token-major, `[B, T, H, D]`, where the callee is.",
    why="The shapes are legal either way, so heads are taken for tokens: the recurrence runs over heads and nothing "
    "raises.",
    remedy="keep operands token-major: drop the transpose",
    static="dataflow, annotations",
    runtime="-",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(x, g, beta):
    B, T, _ = x.shape
    q = x.view(B, T, 8, 64).transpose(1, 2)
    return chunk_kda(q, q, q, g.transpose(1, 2), beta.transpose(1, 2))
""",
    ),
    right=(
        """\
from fla.ops.kda import chunk_kda

def run(x, g, beta):
    B, T, _ = x.shape
    q = x.view(B, T, 8, 64)
    return chunk_kda(q, q, q, g, beta)
""",
    ),
    check=check,
)
