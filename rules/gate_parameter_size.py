"""KDA103: `dt_bias` has HV*K elements (HV for the gated delta rule), `A_log` has HV."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.annotations import evaluate
from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Elements
from kdacheck.facts import Dim, bounds, differs, show
from kdacheck.facts.dims import add, multiply
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import counted, size_violations


def check(call: Call) -> Iterator[Violation]:
    told = {fault.parameter for fault in call.unified.ranks}
    for violation in size_violations(call, "KDA103"):
        told.add(violation.parameter or "")
        yield violation
    for law in call.contract.each(Elements):
        name = law.parameter
        if name in told or call.ignored(name):
            continue
        if law.flag is not None and call.on(law.flag) is not law.value:
            continue
        facts = call.tensor(name)
        numel = facts.numel if facts is not None else None
        wanted = evaluate(law.count, call.unified.dims)
        if facts is None or numel is None or wanted is None or not _broken(law, numel, wanted):
            continue
        value = law.count if law.count.isidentifier() else f"{law.count} = {show(wanted)}"
        if law.count.isidentifier():
            value = f"{show(wanted)}, one per value head ({law.count})"
        more = "at least " if law.at_least else ""
        yield Violation(
            f"`{name}` has {counted(numel, 'elements')} in {facts.describe_shape()}, "
            f"but the kernel reads {more}{value}",
            parameter=name,
            aspect="shape",
            remedy=f"size `{name}` as {law.count}",
        )


def _broken(law: Elements, numel: Dim, wanted: Dim) -> bool:
    if not law.at_least:
        return differs(numel, wanted)
    high = bounds(add(numel, multiply(wanted, -1)))[1]
    return high is not None and high < 0


RULE = Rule(
    code="KDA103",
    name="gate-parameter-size",
    law="`dt_bias` has HV*K elements (HV for the gated delta rule), `A_log` has HV.",
    why="Few callees compare the count. A bias that is too short is read past its end, one that is too long is read "
    "as if it were another's.",
    remedy="size the gate parameters by value heads: A_log HV, dt_bias HV*K",
    static="dataflow, `__init__`",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 64, 8, 64), torch.rand(1, 64, 8)
    A_log, dt_bias = torch.zeros(8), torch.zeros(8)
    return chunk_kda(x, x, x, x, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
""",
        """\
import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule

def run():
    x, g, beta = torch.randn(1, 64, 8, 64), torch.randn(1, 64, 8), torch.rand(1, 64, 8)
    A_log, dt_bias = torch.zeros(8), torch.zeros(8 * 64)
    return chunk_gated_delta_rule(x, x, x, g, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    x, beta = torch.randn(1, 64, 8, 64), torch.rand(1, 64, 8)
    A_log, dt_bias = torch.zeros(8), torch.zeros(8 * 64)
    return chunk_kda(x, x, x, x, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
""",
        """\
import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule

def run():
    x, g, beta = torch.randn(1, 64, 8, 64), torch.randn(1, 64, 8), torch.rand(1, 64, 8)
    A_log, dt_bias = torch.zeros(8), torch.zeros(8)
    return chunk_gated_delta_rule(x, x, x, g, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias)
""",
    ),
    check=check,
)
