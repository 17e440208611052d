"""KDA306: the last offset is the token count."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import OffsetsEnd
from kdacheck.contracts.tags import DIVIDED, LENGTHS, ONE_ROW
from kdacheck.facts import bounds, differs
from kdacheck.facts.dims import add
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import counted, falls, show_values


def check(call: Call) -> Iterator[Violation]:
    if call.unflattened:
        return
    ranks = {fault.parameter for fault in call.unified.ranks}
    for law in call.contract.each(OffsetsEnd):
        facts, operand = call.tensor(law.by), call.tensor(law.tokens_of)
        tokens = operand.dim(1) if operand is not None else None
        if facts is None or tokens is None or law.tokens_of in ranks or facts.rank != 1:
            continue
        values = facts.values
        if not values or len(values) < 2 or values[0] != 0 or falls(values):
            continue
        if facts.tags & (LENGTHS | {DIVIDED, ONE_ROW}):
            continue
        room = bounds(add(tokens, -values[-1]))[1]
        past = room is not None and room < 0
        if past or (law.exact and differs(tokens, values[-1])):
            yield Violation(
                f"`{law.by}` is {show_values(values)}: it ends at {values[-1]}, "
                f"but `{law.tokens_of}` has {counted(tokens, 'tokens')}",
                parameter=law.by,
                aspect="values",
                remedy="let the last offset be the token count",
            )


RULE = Rule(
    code="KDA306",
    name="cu-seqlens-end",
    law="The last offset is the token count, where the callee demands it.",
    why="Offsets that end late read past the tokens. Offsets that end early leave rows of the output unwritten, with "
    "whatever the memory held.",
    remedy="let the last offset be the number of packed tokens",
    static="literals",
    runtime="values",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 512, 4, 64), torch.rand(1, 512, 4)
    return chunk_kda(x, x, x, x, beta, cu_seqlens=torch.tensor([0, 256, 640]))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 512, 4, 64), torch.rand(1, 512, 4)
    return chunk_kda(x, x, x, x, beta, cu_seqlens=torch.tensor([0, 256, 512]))
""",
    ),
    check=check,
)
