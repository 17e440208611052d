"""KDA305: offsets are one-dimensional, with at least two entries."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.tags import ONE_ROW, ROW
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import counted, offsets, rank_violations

_JOIN = "shift each row by the tokens before it and join them into one list"


def check(call: Call) -> Iterator[Violation]:
    yield from rank_violations(call, "KDA305")
    for name, facts in offsets(call):
        if facts.rank != 1:
            continue
        length = facts.dim(0)
        if isinstance(length, int) and length < 2:
            yield Violation(
                f"`{name}` has {counted(length, 'entries')}, but even one sequence takes a start and an end",
                parameter=name,
                aspect="shape",
                remedy="pass offsets [0, ..., total_tokens]",
            )
        elif ONE_ROW in facts.tags:
            yield Violation(
                f"`{name}` is one row of several rows of offsets: the tokens of the others have no boundaries",
                parameter=name,
                aspect="shape",
                remedy=_JOIN,
            )
        elif ROW in facts.tags and facts.values is None:
            yield Violation(
                f"`{name}` is one row of a matrix: were there other rows, their tokens would have no boundaries",
                parameter=name,
                aspect="shape",
                remedy=_JOIN,
                likely=True,
            )


RULE = Rule(
    code="KDA305",
    name="cu-seqlens-rank",
    law="Offsets are one-dimensional with at least two entries: not `[micro_batch, n + 1]`, nor row 0 of it.",
    why="Offsets of several rows count from 0 in each. Flattened operands need one list that runs over all tokens.",
    remedy="merge the rows into one list of offsets over all tokens",
    static="dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    cu = torch.tensor([[0, 3, 8], [0, 5, 8]])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    cu = torch.tensor([0, 3, 8, 13, 16])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
""",
    ),
    likely=(
        """\
import torch
from fla.ops.kda import chunk_kda
from jaxtyping import Int

def run(q, k, v, g, beta, cu: Int[torch.Tensor, "rows n"]):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu[0])
""",
    ),
    check=check,
)
