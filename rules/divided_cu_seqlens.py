"""KDA303: offsets are not floor-divided or scaled."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.tags import DIVIDED, QUOTIENT
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import offsets


def check(call: Call) -> Iterator[Violation]:
    for name, facts in offsets(call):
        if DIVIDED in facts.tags:
            yield Violation(
                f"`{name}` was divided although the lengths between the offsets do not divide evenly: "
                f"boundaries moved into other sequences",
                parameter=name,
                aspect="values",
            )
        elif QUOTIENT in facts.tags and facts.values is None:
            yield Violation(
                f"`{name}` was divided: boundaries move into other sequences unless every length divides evenly",
                parameter=name,
                aspect="values",
                likely=True,
            )


RULE = Rule(
    code="KDA303",
    name="divided-cu-seqlens",
    law="Offsets are not floor-divided or scaled; per-sequence lengths are padded first.",
    why="Halving offsets halves the position of a boundary, not the sequence: an odd length loses a token to its "
    "neighbour.",
    remedy="pad each length to a multiple of the ranks, divide the lengths, then sum them up",
    static="provenance",
    runtime="-",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    cu = torch.tensor([0, 5, 12, 16])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu // 2)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    cu = torch.tensor([0, 6, 14, 18])
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu // 2)
""",
    ),
    likely=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, cu: torch.Tensor, ranks: int):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu // ranks)
""",
    ),
    check=check,
)
