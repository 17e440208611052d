"""KDA105: gate parameters are not passed where the callee ignores them."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Drift, ReadOnlyWith
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    # what was passed by a position that moved was probably meant for another parameter: KDA502 tells
    drifting = {law.position for law in call.contract.each(Drift)}
    for clause in call.contract.each(ReadOnlyWith):
        if call.on(clause.flag) is not False:
            continue
        idle = [
            name
            for name in clause.parameters
            if call.handed(name) and call.positional.get(name) not in drifting
        ]
        if not idle:
            continue
        default = call.contract.by_name[clause.flag].default
        missing = f"{clause.flag}=True" if isinstance(default, bool) else f"`{clause.flag}`"
        names = " and ".join(f"`{name}`" for name in idle)
        yield Violation(
            f"{names} {'is' if len(idle) == 1 else 'are'} ignored without {missing}",
            parameter=idle[0],
            remedy=f"pass {missing}, or drop {names}",
        )


RULE = Rule(
    code="KDA105",
    name="ignored-gate-parameter",
    law="Gate parameters are not passed where the callee ignores them.",
    why="The raw gate is then taken for an activated one: the decay has neither bias nor slope, and no error says so.",
    remedy="pass the flag or parameter that switches the gate on, or drop the gate parameters",
    static="call keywords",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 64, 4, 32), torch.rand(1, 64, 4)
    return chunk_kda(x, x, x, x, beta, A_log=torch.zeros(4), dt_bias=torch.zeros(128))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 64, 4, 32), torch.rand(1, 64, 4)
    A_log, dt_bias = torch.zeros(4), torch.zeros(128)
    return chunk_kda(x, x, x, x, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
""",
    ),
    check=check,
)
