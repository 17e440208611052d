"""KDA205: operands have the dtypes the signature states."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Drift
from kdacheck.facts import Integer, Literal
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import dtype_violations, wanted_shape


def check(call: Call) -> Iterator[Violation]:
    yield from dtype_violations(call, "KDA205")
    yield from _not_tensors(call)


def _not_tensors(call: Call) -> Iterator[Violation]:
    # a number at a position that moved was meant for another parameter: KDA502 tells
    drifting = {law.position for law in call.contract.each(Drift)}
    for parameter in call.contract.parameters:
        name, annotation = parameter.name, parameter.annotation
        if not annotation.tensors or annotation.others or not call.passed(name):
            continue
        if call.positional.get(name) in drifting or call.ignored(name):
            continue
        match call.fact(name):
            case Literal(None) if parameter.required and not annotation.optional:
                what = "None"
            case Literal(bool() | int() | float() | str() as value):
                what = repr(value)
            case Integer():
                what = "an integer"
            case _:
                continue
        yield Violation(
            f"`{name}` is {what}, but must be a tensor, {wanted_shape(call, name)}",
            parameter=name,
            remedy=f"pass a tensor, or check the order of the arguments: `{name}=...`",
        )


RULE = Rule(
    code="KDA205",
    name="operand-dtype",
    law="Operands are tensors of the dtypes the signature states.",
    why="Kernels compiled for one dtype refuse the others; `torch.randn` without a dtype is float32. None in the place of "
    "a required tensor and a number in the place of an operand mostly mean that the arguments are in the order of "
    "another kernel.",
    remedy="cast the operand to the dtype this callee takes",
    static="dtype dataflow",
    runtime="meta",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g):
    return chunk_kda(q, k, v, g, None)
""",
        """\
import flash_kda

def run(q, k, v, g, beta, out, A_log, dt_bias):
    flash_kda.fwd(q, k, v, g, beta, out, 0.088, A_log, dt_bias, -5.0)
""",
        """\
import flash_kda
import torch

def run(k, v, g, beta, out, A_log, dt_bias):
    q = torch.randn(1, 64, 4, 128, device="cuda")
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
    ),
    right=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta, None)
""",
        """\
import flash_kda

def run(q, k, v, g, beta, out, A_log, dt_bias, cu):
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
""",
        """\
import flash_kda
import torch

def run(k, v, g, beta, out, A_log, dt_bias):
    q = torch.randn(1, 64, 4, 128, device="cuda", dtype=torch.bfloat16)
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
    ),
    check=check,
)
