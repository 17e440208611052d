"""KDA201: operands, outputs and states are dense where the callee walks raw pointers."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import layout_violations


def check(call: Call) -> Iterator[Violation]:
    return layout_violations(call, "KDA201")


RULE = Rule(
    code="KDA201",
    name="strided-operand",
    law="Operands, outputs and states are dense where the callee walks raw pointers.",
    why="A kernel that computes addresses from sizes alone reads other elements of a strided view. Some callees check "
    "and refuse, others return wrong numbers.",
    remedy="pass a dense copy: `.contiguous()`",
    static="layout dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
from sglang.kernels.ops.attention.fla.kda import chunk_kda

def run(g, beta, pool, slots):
    fused = torch.randn(1, 64, 3 * 512)
    q, k, v = (x.unflatten(-1, (4, 128)) for x in fused.split(512, dim=-1))
    return chunk_kda(q, k, v, g, beta, initial_state=pool, initial_state_indices=slots)
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv = torch.randn(rows, 3 * heads * dim)
    out = torch.empty(rows, 2, heads, dim)[:, :1]
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), torch.zeros(heads * dim), 0.088, pool, out, slots
    )
""",
    ),
    right=(
        """\
import torch
from sglang.kernels.ops.attention.fla.kda import chunk_kda

def run(g, beta, pool, slots):
    fused = torch.randn(1, 64, 3 * 512)
    q, k, v = (x.unflatten(-1, (4, 128)) for x in fused.split(512, dim=-1))
    return chunk_kda(
        q.contiguous(), k.contiguous(), v, g, beta, initial_state=pool, initial_state_indices=slots
    )
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run():
    rows, heads, dim = 4, 8, 128
    mixed_qkv = torch.randn(rows, 3 * heads * dim)
    out = torch.empty(rows, 1, heads, dim)
    a, b = torch.randn(rows, heads * dim), torch.randn(rows, heads)
    pool, slots = torch.zeros(16, heads, dim, dim), torch.arange(rows)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, torch.zeros(heads), torch.zeros(heads * dim), 0.088, pool, out, slots
    )
""",
    ),
    check=check,
)
