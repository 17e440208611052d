"""KDA402: states and caches have the dtypes the signature states."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import SameDtype
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import dtype_violations


def check(call: Call) -> Iterator[Violation]:
    told = set()
    for violation in dtype_violations(call, "KDA402"):
        told.add(violation.parameter)
        yield violation
    for law in call.contract.each(SameDtype):
        known = [
            (name, facts.dtype)
            for name in law.parameters
            if (facts := call.tensor(name)) is not None and facts.dtype is not None
        ]
        for name, dtype in known[1:]:
            first, other = known[0]
            if dtype != other and not told & {name, first}:
                yield Violation(
                    f"`{name}` is {dtype}, but must have the dtype of `{first}`, {other}",
                    parameter=name,
                    aspect="dtype",
                    remedy=f"allocate `{name}` with dtype={first}.dtype",
                )


RULE = Rule(
    code="KDA402",
    name="state-dtype",
    law="States and caches have the dtypes the signature states.",
    why="A state sums over the whole sequence, so chunked kernels keep it in float32 and refuse the dtype of the model.",
    remedy="keep the state or cache in the dtype that this callee takes",
    static="dtype dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(2, 64, 4, 32), torch.rand(2, 64, 4)
    state = torch.zeros(2, 4, 32, 32, dtype=torch.bfloat16)
    return chunk_kda(x, x, x, x, beta, initial_state=state)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(2, 64, 4, 32), torch.rand(2, 64, 4)
    state = torch.zeros(2, 4, 32, 32, dtype=torch.float32)
    return chunk_kda(x, x, x, x, beta, initial_state=state)
""",
    ),
    check=check,
)
