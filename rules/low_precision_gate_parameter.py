"""KDA106: `A_log` and `dt_bias` keep float32 where the callee needs it."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import dtype_violations


def check(call: Call) -> Iterator[Violation]:
    return dtype_violations(call, "KDA106")


RULE = Rule(
    code="KDA106",
    name="low-precision-gate-parameter",
    law="`A_log` and `dt_bias` keep float32 where the callee needs it.",
    why="The decay is an exponential of an exponential: rounding of its parameters grows with the sequence. Callees "
    "that compute in float32 refuse anything less.",
    remedy="keep the gate parameters in float32, or pass `.float()`",
    static="dtype dataflow",
    runtime="meta",
    wrong=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out):
    A_log = torch.zeros(8, dtype=torch.bfloat16, device="cuda")
    dt_bias = torch.zeros(8, 128, device="cuda")
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
    ),
    right=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out):
    A_log = torch.zeros(8, dtype=torch.bfloat16, device="cuda").float()
    dt_bias = torch.zeros(8, 128, device="cuda")
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
    ),
    check=check,
)
