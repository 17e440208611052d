"""KDA503: flags that need each other come together."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Exclusive, Needs, Within
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(Needs):
        if not call.all_on(law.flags):
            continue
        if any(call.on(companion) is not False for companion in law.companions):
            continue
        wanted = " or ".join(_spell(call, name) for name in law.companions)
        flags = " with ".join(_spell(call, name) for name in law.flags) or "the callee"
        yield Violation(
            f"{flags} needs {wanted}",
            parameter=next((name for name in law.flags if call.passed(name)), None),
            remedy=f"pass {wanted}",
        )
    for law in call.contract.each(Within):
        value = call.number(law.parameter)
        if value is None or not call.all_on(law.flags):
            continue
        if not law.low <= value < law.high:
            yield Violation(
                f"`{law.parameter}` is {value}, but must lie in [{law.low:g}, {law.high:g}) "
                f"with {' and '.join(_spell(call, name) for name in law.flags)}",
                parameter=law.parameter,
                remedy=f"pass a `{law.parameter}` in [{law.low:g}, {law.high:g})",
            )
    for law in call.contract.each(Exclusive):
        given = [name for name in law.parameters if call.given(name) is True]
        if len(given) > 1 and not any(call.contract.roles[n] == "offsets" for n in law.parameters):
            yield Violation(
                f"`{given[0]}` and `{given[1]}` exclude each other",
                parameter=given[1],
                remedy=f"drop `{given[0]}` or `{given[1]}`",
            )


def _spell(call: Call, name: str) -> str:
    return f"{name}=True" if isinstance(call.contract.by_name[name].default, bool) else f"`{name}`"


RULE = Rule(
    code="KDA503",
    name="missing-companion",
    law="Flags that need each other come together: `safe_gate` with a `lower_bound` in [-5, 0), `allow_neg_eigval` "
    "with `use_beta_sigmoid_in_kernel`, the gate in the kernel with its parameters.",
    why="Half of a pair is refused, or computes something that nobody asked for.",
    remedy="pass the companion as well, or drop the flag",
    static="call keywords, literals",
    runtime="meta",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, A_log):
    return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, safe_gate=True, A_log=A_log)
""",
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta, allow_neg_eigval=True)
""",
    ),
    right=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, A_log):
    return chunk_kda(
        q, k, v, g, beta, use_gate_in_kernel=True, safe_gate=True, lower_bound=-5.0, A_log=A_log
    )
""",
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta, allow_neg_eigval=True, use_beta_sigmoid_in_kernel=True)
""",
    ),
    check=check,
)
