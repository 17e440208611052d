"""KDA403: a state is K-first or V-first as the callee and its flags want."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import VFirst
from kdacheck.contracts.tags import K_FIRST, V_FIRST
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import size_faults

_AXES = {K_FIRST: "[..., K, V]", V_FIRST: "[..., V, K]"}


def check(call: Call) -> Iterator[Violation]:
    told = set()
    for fault in size_faults(call, "KDA403"):
        name = fault.parameter
        facts = call.tensor(name)
        if name in told or facts is None:
            continue
        told.add(name)
        order = _AXES[call.state_order(name) or K_FIRST]
        yield Violation(
            f"`{name}` is {facts.describe_shape()}, with K and V in each other's place: "
            f"the callee reads {order}",
            parameter=name,
            aspect="shape",
            remedy=_remedy(call, name),
        )
    for name, facts in call.tensors():
        if call.contract.roles[name] != "state" or name in told:
            continue
        wants = call.state_order(name)
        has = next((tag for tag in (K_FIRST, V_FIRST) if tag in facts.tags), None)
        if wants is not None and has is not None and has != wants:
            yield Violation(
                f"`{name}` was written {_AXES[has]} and is read {_AXES[wants]}",
                parameter=name,
                aspect="layout",
                remedy=_remedy(call, name),
            )


def scattered(read: str, written: str) -> Violation:
    """A state that goes back to its pool in another order than it was read from there."""
    return Violation(
        f"the state was read from here as it lies, {_AXES[read]}, and is written back {_AXES[written]}",
        remedy="transpose on gather and on scatter, or on neither",
    )


def _remedy(call: Call, name: str) -> str:
    flags = [law.flag for law in call.contract.each(VFirst) if name in law.states and law.flag]
    flag = f", or set {flags[0]} alike in both calls" if flags else ""
    return f"pass `{name}.transpose(-1, -2).contiguous()`{flag}"


RULE = Rule(
    code="KDA403",
    name="state-layout",
    law="A state is K-first or V-first as the callee and its flags want, on gather and on scatter.",
    why="K and V are often equal, so a transposed state has a legal shape and only the numbers are wrong.",
    remedy="transpose the state, or give both calls the same flag",
    static="flags, transposes",
    runtime="meta when K != V",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 4, 32), torch.randn(2, 64, 4, 64)
    state = torch.zeros(2, 4, 64, 32)
    return chunk_kda(q, q, v, q, torch.rand(2, 64, 4), initial_state=state)
""",
        """\
from fla.ops.kda import chunk_kda, fused_recurrent_kda

def run(q, k, v, g, beta, q1, k1, v1, g1, beta1):
    o, state = chunk_kda(q, k, v, g, beta, output_final_state=True, state_v_first=True)
    return fused_recurrent_kda(q1, k1, v1, g1, beta1, initial_state=state)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 4, 32), torch.randn(2, 64, 4, 64)
    state = torch.zeros(2, 4, 64, 32)
    beta = torch.rand(2, 64, 4)
    return chunk_kda(q, q, v, q, beta, initial_state=state, state_v_first=True)
""",
        """\
from fla.ops.kda import chunk_kda, fused_recurrent_kda

def run(q, k, v, g, beta, q1, k1, v1, g1, beta1):
    o, state = chunk_kda(q, k, v, g, beta, output_final_state=True, state_v_first=True)
    return fused_recurrent_kda(q1, k1, v1, g1, beta1, initial_state=state, state_v_first=True)
""",
    ),
    check=check,
)
