"""KDA102: `dt_bias` has a rank the callee takes."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import rank_violations


def check(call: Call) -> Iterator[Violation]:
    return rank_violations(call, "KDA102")


RULE = Rule(
    code="KDA102",
    name="dt-bias-rank",
    law="`dt_bias` (and `A_log`) has a rank the callee takes: 1-D, 2-D, or either.",
    why="Libraries disagree: packed decode wants the flat form, FlashKDA and attention-gym the `[H, K]` one, FLA takes "
    "any. The wrong one is refused.",
    remedy="reshape the bias to the form this callee takes",
    static="dataflow",
    runtime="meta",
    wrong=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out):
    A_log, dt_bias = torch.zeros(8, device="cuda"), torch.zeros(8 * 128, device="cuda")
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv, out = torch.randn(rows, 3 * heads * dim), torch.empty(rows, 1, heads, dim)
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    dt_bias = torch.zeros(heads, dim)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    right=(
        """\
import flash_kda
import torch

def run(q, k, v, g, beta, out):
    A_log, dt_bias = torch.zeros(8, device="cuda"), torch.zeros(8, 128, device="cuda")
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv, out = torch.randn(rows, 3 * heads * dim), torch.empty(rows, 1, heads, dim)
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    dt_bias = torch.zeros(heads, dim).flatten()
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    check=check,
)
