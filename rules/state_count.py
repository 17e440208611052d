"""KDA401: one initial state, or one pool index, per sequence."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.facts import exactly
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import counted, size_faults


def check(call: Call) -> Iterator[Violation]:
    for fault in size_faults(call, "KDA401"):
        facts = call.tensor(fault.parameter)
        shape = facts.describe_shape() if facts is not None else "[...]"
        many = counted(fault.expected, "sequences")
        if fault.against is None or fault.against == fault.parameter:
            why = f"there {'is' if exactly(fault.expected) == 1 else 'are'} {many}"
        elif call.contract.roles.get(fault.against) == "offsets":
            why = f"`{fault.against}` marks {many}"
        else:
            why = f"`{fault.against}` has {many}"
        index = call.contract.roles[fault.parameter] == "index"
        have = counted(fault.actual, "slot indices" if index else "entries")
        yield Violation(
            f"`{fault.parameter}` has {have} in {shape}, but {why}",
            parameter=fault.parameter,
            aspect="shape",
            remedy=f"pass one {'index' if index else 'state'} per sequence",
        )


RULE = Rule(
    code="KDA401",
    name="state-count",
    law="There is one initial state per sequence, `len(cu_seqlens) - 1` or the batch when dense; for a pool, one "
    "index per sequence.",
    why="The batch of packed operands is 1 and says nothing about the number of sequences. Missing states are read "
    "past the end.",
    remedy="size the states, or the indices, by the number of sequences",
    static="dataflow, literals",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 12, 2, 32), torch.rand(1, 12, 2)
    state = torch.zeros(1, 2, 32, 32)
    return chunk_kda(x, x, x, x, beta, initial_state=state, cu_seqlens=torch.tensor([0, 4, 8, 12]))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 12, 2, 32), torch.rand(1, 12, 2)
    state = torch.zeros(3, 2, 32, 32)
    return chunk_kda(x, x, x, x, beta, initial_state=state, cu_seqlens=torch.tensor([0, 4, 8, 12]))
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(4, 12, 2, 32), torch.rand(4, 12, 2)
    return chunk_kda(x, x, x, x, beta, initial_state=torch.zeros(4, 2, 32, 32))
""",
    ),
    check=check,
)
