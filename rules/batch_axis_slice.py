"""KDA002: an operand with batch size 1 is not cut along axis 0 where tokens were meant."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Packed
from kdacheck.contracts.tags import BATCH_CUT
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import token_major


def check(call: Call) -> Iterator[Violation]:
    packed = {name for clause in call.contract.each(Packed) for name in clause.operands}
    for name, facts in call.tensors():
        if BATCH_CUT not in facts.tags:
            continue
        if name in packed or token_major(call, name):
            yield Violation(
                f"`{name}` was cut by `[:n]` on axis 0, which has size 1: no token was dropped",
                parameter=name,
                aspect="values",
                at_origin=True,
                remedy="cut the token axis: `[:, :n]`",
            )


RULE = Rule(
    code="KDA002",
    name="batch-axis-slice",
    law="An operand known to have batch size 1 is not cut along axis 0 where the token axis was meant.",
    why="`g[:n]` of `[1, T, ...]` returns all of it. Padding tokens stay in, and reach the gate, the state or the "
    "shapes of a kernel that was given fewer tokens elsewhere.",
    remedy="cut the token axis: `g[:, :n]`",
    static="dataflow",
    runtime="-",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(cu, num_tokens: int):
    x = torch.randn(1, 128, 4, 64)[:, :num_tokens]
    beta = torch.rand(1, 128, 4)[:, :num_tokens]
    g = torch.zeros(1, 128, 4, 64)
    return chunk_kda(x, x, x, g[:num_tokens], beta, cu_seqlens=cu)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run(cu, num_tokens: int):
    x = torch.randn(1, 128, 4, 64)[:, :num_tokens]
    beta = torch.rand(1, 128, 4)[:, :num_tokens]
    g = torch.zeros(1, 128, 4, 64)
    return chunk_kda(x, x, x, g[:, :num_tokens], beta, cu_seqlens=cu)
""",
    ),
    check=check,
)
