"""KDA502: no positional argument whose meaning differs between releases or callees of one name."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Drift
from kdacheck.facts import Integer, Literal, Number, TensorFacts
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import counted


def check(call: Call) -> Iterator[Violation]:
    if call.unknown_keywords:
        return
    if call.extra_positional:
        most = len(call.contract.positional)
        passed = most + call.extra_positional
        yield Violation(
            f"{counted(passed, 'positional arguments')} {'is' if passed == 1 else 'are'} passed, "
            f"but the signature takes {most}",
            remedy="pass everything after the operands by keyword",
        )
        return
    drifts = {law.position: law for law in call.contract.each(Drift)}
    for name, position in sorted(call.positional.items(), key=lambda item: item[1]):
        law = drifts.get(position)
        if law is not None and (_is_other_kind(call, name) or _is_missing(call, law)):
            yield Violation(
                f"position {position} is `{law.now}` here, but `{law.was}` in {law.where}",
                parameter=name,
                remedy=f"pass it by keyword: `{law.now}=` or `{law.was}=`, whichever is meant",
            )
            return


def _is_other_kind(call: Call, name: str) -> bool:
    """Whether a number stands where a tensor is wanted, or a tensor where none is."""
    annotation = call.contract.by_name[name].annotation
    fact = call.fact(name)
    if annotation.tensors:
        number = isinstance(fact, (Integer, Number)) or (
            isinstance(fact, Literal) and isinstance(fact.value, (int, float, str))
        )
        return number and not annotation.others
    plain = {"bool", "int", "float", "str"}
    return (
        isinstance(fact, TensorFacts)
        and bool(annotation.others)
        and plain.issuperset(annotation.others)
    )


def _is_missing(call: Call, law: Drift) -> bool:
    """Whether the operand that other callees take at this position reaches the callee in no other way."""
    was = call.contract.by_name.get(law.was)
    return law.was in _OPERANDS and was is not None and call.complete and not call.passed(law.was)


#: Operands that nobody leaves out on purpose.
_OPERANDS = ("q", "k", "v", "g", "beta")


RULE = Rule(
    code="KDA502",
    name="positional-drift",
    law="No argument is passed by a position whose meaning differs between supported releases or between callees of "
    "one name.",
    why="Parameters were inserted in the middle of the signatures. A scale that lands on `A_log`, or a beta on `gk`, "
    "is taken without a word.",
    remedy="pass everything after the operands by keyword",
    static="versioned signature",
    runtime="meta",
    wrong=(
        """\
from fla.ops.kda import fused_recurrent_kda

def run(q, k, v, g, beta):
    return fused_recurrent_kda(q, k, v, g, beta, 0.125)
""",
        """\
from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

def run(q, k, v, g, beta):
    return fused_recurrent_gated_delta_rule(q, k, v, g, beta)
""",
    ),
    right=(
        """\
from fla.ops.kda import fused_recurrent_kda

def run(q, k, v, g, beta):
    return fused_recurrent_kda(q, k, v, g, beta, scale=0.125)
""",
        """\
from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

def run(q, k, v, g, beta):
    return fused_recurrent_gated_delta_rule(q, k, v, g, beta=beta)
""",
        """\
from fla.ops.kda.gate import fused_kda_gate

def run(g, A_log, dt_bias):
    return fused_kda_gate(g, A_log, dt_bias)
""",
    ),
    check=check,
)
