"""KDA301: `cu_seqlens` holds cumulative offsets, not lengths."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.tags import LENGTHS
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import falls, offsets, show_values


def check(call: Call) -> Iterator[Violation]:
    for name, facts in offsets(call):
        values = facts.values
        if facts.tags & LENGTHS:
            what = f"`{name}` holds lengths of sequences"
        elif values and values[0] != 0 and falls(values):
            what = f"`{name}` holds lengths of sequences ({show_values(values)} falls)"
        else:
            continue
        yield Violation(
            f"{what}, but must hold their cumulative offsets from 0",
            parameter=name,
            aspect="values",
            remedy="pass `torch.nn.functional.pad(lengths.cumsum(0), (1, 0))`",
        )


RULE = Rule(
    code="KDA301",
    name="lengths-as-cu-seqlens",
    law="`cu_seqlens` holds cumulative offsets, not lengths.",
    why="Lengths read as offsets mark sequences that overlap, are empty or run backwards. No callee looks at the "
    "values.",
    remedy="pass the left-padded cumulative sum of the lengths",
    static="provenance",
    runtime="values",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([5, 7, 4]))
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, mask: torch.Tensor):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=mask.sum(-1, dtype=torch.int32))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 5, 12, 16]))
""",
        """\
import torch
import torch.nn.functional as F
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, mask: torch.Tensor):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=F.pad(mask.sum(-1).cumsum(0), (1, 0)))
""",
    ),
    check=check,
)
