"""KDA101: `dt_bias` and `A_log` are dense where the callee reads them with unit stride."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import layout_violations


def check(call: Call) -> Iterator[Violation]:
    return layout_violations(call, "KDA101")


RULE = Rule(
    code="KDA101",
    name="strided-dt-bias",
    law="`dt_bias` and `A_log` are dense where the callee reads them with unit stride: not expanded, transposed, "
    "step-sliced or column-sliced.",
    why="A kernel that walks the bias as raw memory reads neighbouring values instead of the view's. Some callees "
    "refuse a strided bias, others compute with the wrong numbers.",
    remedy="pass a dense copy: `dt_bias.contiguous()`",
    static="layout dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from sglang.kernels.ops.attention.fla.kda import chunk_kda

def run(q, k, v, g, beta, pool, slots):
    A_log = torch.zeros(4)
    dt_bias = torch.zeros(512, 2)[:, 0]
    return chunk_kda(
        q, k, v, g, beta, initial_state=pool, initial_state_indices=slots, A_log=A_log, dt_bias=dt_bias
    )
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv, out = torch.randn(rows, 3 * heads * dim), torch.empty(rows, 1, heads, dim)
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    dt_bias = torch.zeros(1).expand(heads * dim)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    right=(
        """\
import torch
from sglang.kernels.ops.attention.fla.kda import chunk_kda

def run(q, k, v, g, beta, pool, slots):
    A_log = torch.zeros(4)
    dt_bias = torch.zeros(512, 2)[:, 0].contiguous()
    return chunk_kda(
        q, k, v, g, beta, initial_state=pool, initial_state_indices=slots, A_log=A_log, dt_bias=dt_bias
    )
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv, out = torch.randn(rows, 3 * heads * dim), torch.empty(rows, 1, heads, dim)
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    dt_bias = torch.zeros(2 * heads * dim)[: heads * dim]
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    check=check,
)
