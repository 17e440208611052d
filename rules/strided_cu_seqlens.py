"""KDA307: offsets are dense."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import layout_violations


def check(call: Call) -> Iterator[Violation]:
    return layout_violations(call, "KDA307")


RULE = Rule(
    code="KDA307",
    name="strided-cu-seqlens",
    law="Offsets are dense where the callee reads them by pointer.",
    why="`cu[::2]` keeps its stride of 2. A kernel that reads the data pointer sees the offsets in between as well.",
    remedy="pass a dense copy: `cu_seqlens.contiguous()`",
    static="layout dataflow",
    runtime="meta",
    wrong=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out, A_log, dt_bias):
    cu = torch.arange(0, 50, 10, device="cuda")[::2]
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
""",
    ),
    right=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out, A_log, dt_bias):
    cu = torch.arange(0, 50, 10, device="cuda")[::2].contiguous()
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
""",
    ),
    check=check,
)
