"""KDA205: operands have the dtypes the signature states."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import dtype_violations


def check(call: Call) -> Iterator[Violation]:
    return dtype_violations(call, "KDA205")


RULE = Rule(
    code="KDA205",
    name="operand-dtype",
    law="Operands have the dtypes the signature states.",
    why="Kernels compiled for one dtype refuse the others; `torch.randn` without a dtype is float32.",
    remedy="cast the operand to the dtype this callee takes",
    static="dtype dataflow",
    runtime="meta",
    wrong=(
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
import flash_kda
import torch

def run(k, v, g, beta, out, A_log, dt_bias):
    q = torch.randn(1, 64, 4, 128, device="cuda", dtype=torch.bfloat16)
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
    ),
    check=check,
)
