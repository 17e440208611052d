"""KDA302: offsets start at 0."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.tags import CUMSUM, DIVIDED, LENGTHS, PADDED_LEFT, QUOTIENT
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import falls, offsets, show_values

_PAD = "pad the cumulative sum on the left: `torch.nn.functional.pad(ends, (1, 0))`"


def check(call: Call) -> Iterator[Violation]:
    for name, facts in offsets(call):
        values = facts.values
        tags = facts.tags
        if values is None and CUMSUM in tags and not tags & (LENGTHS | {PADDED_LEFT, QUOTIENT}):
            yield Violation(
                f"`{name}` is a cumulative sum without a zero in front, unless what it sums begins with one",
                parameter=name,
                aspect="values",
                remedy=_PAD,
                likely=True,
            )
        if not values or values[0] == 0 or falls(values) or facts.tags & (LENGTHS | {DIVIDED}):
            continue
        yield Violation(
            f"`{name}` is {show_values(values)}: it starts at {values[0]}, but offsets start at 0",
            parameter=name,
            aspect="values",
            remedy=_PAD,
        )


RULE = Rule(
    code="KDA302",
    name="cu-seqlens-without-zero",
    law="Offsets start at 0: a `cumsum` of lengths is padded on the left.",
    why="Without the zero the first sequence is skipped, every state belongs to its neighbour, and the count of "
    "sequences is one short.",
    remedy="pad the cumulative sum on the left with a zero",
    static="provenance, literals",
    runtime="values",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    lens = torch.tensor([128, 64, 320])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=lens.cumsum(0))
""",
    ),
    right=(
        """\
import torch
import torch.nn.functional as F
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    lens = torch.tensor([128, 64, 320])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(lens.cumsum(0), (1, 0)))
""",
    ),
    likely=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, lens: torch.Tensor):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=lens.cumsum(0))
""",
    ),
    check=check,
)
