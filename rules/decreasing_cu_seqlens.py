"""KDA308: offsets never decrease."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import StrictOffsets
from kdacheck.contracts.tags import LENGTHS
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import falls, offsets, show_values


def check(call: Call) -> Iterator[Violation]:
    strict = {law.by for law in call.contract.each(StrictOffsets)}
    for name, facts in offsets(call):
        values = facts.values
        if not values or values[0] != 0 or facts.tags & LENGTHS:
            continue
        repeats = name in strict and len(set(values)) < len(values)
        if falls(values) or repeats:
            must = "strictly increase here" if name in strict else "never decrease"
            yield Violation(
                f"`{name}` is {show_values(values)}, but offsets {must}",
                parameter=name,
                aspect="values",
                remedy="build the offsets by a cumulative sum of lengths",
            )


RULE = Rule(
    code="KDA308",
    name="decreasing-cu-seqlens",
    law="Offsets never decrease, and strictly increase where the callee demands it.",
    why="A sequence that ends before it starts has a negative length, which kernels take for a huge one.",
    remedy="build the offsets by a cumulative sum of non-negative lengths",
    static="literals",
    runtime="values",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 512, 4, 64), torch.rand(1, 512, 4)
    return chunk_kda(x, x, x, x, beta, cu_seqlens=torch.tensor([0, 300, 200, 512]))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 512, 4, 64), torch.rand(1, 512, 4)
    return chunk_kda(x, x, x, x, beta, cu_seqlens=torch.tensor([0, 200, 200, 512]))
""",
    ),
    check=check,
)
