"""KDA406: ReplaySSM rings share slots and length; cursors are 1-D int32 of the batch."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Rings
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import (
    counted,
    dtype_violations,
    layout_violations,
    rank_violations,
    show_values,
    size_violations,
)


def check(call: Call) -> Iterator[Violation]:
    yield from rank_violations(call, "KDA406")
    yield from size_violations(call, "KDA406")
    yield from dtype_violations(call, "KDA406")
    yield from layout_violations(call, "KDA406")
    for law in call.contract.each(Rings):
        yield from _cursor(call, law)


def _cursor(call: Call, law: Rings) -> Iterator[Violation]:
    cursor = call.tensor(law.cursors[0]) if law.cursors else None
    length = call.unified.size("L")
    values = cursor.values if cursor is not None else None
    if values and isinstance(length, int) and (min(values) < 0 or max(values) >= length):
        yield Violation(
            f"`{law.cursors[0]}` is {show_values(values)}, but the rings have {counted(length, 'places')}",
            parameter=law.cursors[0],
            aspect="values",
            remedy="advance the cursor modulo the ring length",
        )


RULE = Rule(
    code="KDA406",
    name="ring-cache-shape",
    law="`d_cache`, `k_cache` and `g_cache` share slots and length; `write_pos` and `force_flush` are 1-D int32 of "
    "the batch.",
    why="The slot of a request indexes all rings and the pool. A ring with fewer slots, or another length, is written "
    "past its end.",
    remedy="allocate the rings as [slots, heads, length, dim] with the slots of the pool, cursors as int32 [B]",
    static="dataflow",
    runtime="meta; values for range",
    wrong=(
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_replayssm import helion_fused_recurrent_kda_replayssm_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, out, slots, write_pos):
    d_cache, g_cache = torch.zeros(32, 4, 8, 128), torch.zeros(32, 4, 8, 128)
    k_cache = torch.zeros(32, 4, 16, 128)
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, d_cache, k_cache, g_cache, out, slots, write_pos
    )
""",
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_replayssm import helion_fused_recurrent_kda_replayssm_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, d_cache, k_cache, g_cache, out, slots):
    write_pos = torch.zeros(4, dtype=torch.int64)
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, d_cache, k_cache, g_cache, out, slots, write_pos
    )
""",
    ),
    right=(
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_replayssm import helion_fused_recurrent_kda_replayssm_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, out, slots):
    d_cache, g_cache = torch.zeros(32, 4, 8, 128), torch.zeros(32, 4, 8, 128)
    k_cache = torch.zeros(32, 4, 8, 128)
    write_pos = torch.zeros(4, dtype=torch.int32)
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, d_cache, k_cache, g_cache, out, slots, write_pos
    )
""",
    ),
    check=check,
)
