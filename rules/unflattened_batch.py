"""KDA001: with `cu_seqlens`, every packed operand has batch size 1."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Packed
from kdacheck.facts import differs, show
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    for packed in call.contract.each(Packed):
        if call.given(packed.by) is not True:
            continue
        wrong = []
        for name in packed.operands:
            facts = call.tensor(name)
            batch = facts.dim(0) if facts is not None else None
            if batch is not None and differs(batch, 1):
                wrong.append((name, batch, facts))
        if not wrong:
            continue
        name, batch, facts = wrong[0]
        others = ", ".join(f"`{other}`" for other, _, _ in wrong[1:])
        also = f" (and so have {others})" if others else ""
        yield Violation(
            f"`{name}` has batch size {show(batch)} in {facts.describe_shape()}{also}, but with "
            f"`{packed.by}` every packed operand is [1, total_tokens, ...]",
            parameter=name,
            aspect="shape",
            remedy=f"flatten the batch into the token axis: {name}.reshape(1, -1, *{name}.shape[2:]), "
            f"or drop `{packed.by}` for a dense batch",
        )


RULE = Rule(
    code="KDA001",
    name="unflattened-batch",
    law="With `cu_seqlens`, every packed operand has batch size 1: `[1, total_tokens, ...]`.",
    why="The offsets count tokens of one flat axis. With more than one row some callees raise, and others read the "
    "first row with the boundaries of all of them.",
    remedy="reshape every packed operand to [1, total_tokens, ...]",
    static="dataflow to the call",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta):
    q = torch.randn(2, 128, 8, 64)
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta):
    q = torch.randn(2, 128, 8, 64).reshape(1, 256, 8, 64)
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
""",
    ),
    check=check,
)
