"""KDA405: slot indices are 1-D, dense, of the dtype the callee takes, and their padding is not a live slot."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Indices
from kdacheck.contracts.tags import CLAMPED, CLAMPED_PADDING
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import (
    counted,
    dtype_violations,
    layout_violations,
    rank_violations,
    show_values,
)


def check(call: Call) -> Iterator[Violation]:
    yield from rank_violations(call, "KDA405")
    yield from layout_violations(call, "KDA405")
    yield from dtype_violations(call, "KDA405")
    for law in call.contract.each(Indices):
        for name in law.parameters:
            yield from _contents(call, law, name)


def _contents(call: Call, law: Indices, name: str) -> Iterator[Violation]:
    facts = call.tensor(name)
    if facts is None:
        return
    zeros = (facts.values or ()).count(0)
    if law.live_zero and (CLAMPED_PADDING in facts.tags or (CLAMPED in facts.tags and zeros > 1)):
        yield Violation(
            f"`{name}` had its negative padding clamped onto slot 0, which is a live slot for this callee",
            parameter=name,
            aspect="values",
            remedy=_instead(law),
        )
    values = facts.values
    padding = CLAMPED in facts.tags and CLAMPED_PADDING not in facts.tags
    if values is None and law.live_zero and padding:
        yield Violation(
            f"`{name}` is clamped from below: negative padding would land on slot 0, a live slot for this callee "
            "unless the pool reserves it",
            parameter=name,
            aspect="values",
            remedy=_instead(law),
            likely=True,
        )
    if not values:
        return
    if not law.negatives and min(values) < 0:
        yield Violation(
            f"`{name}` is {show_values(values)}: a negative index is no padding here, it reaches in front of the pool",
            parameter=name,
            aspect="values",
            remedy="drop the padding rows, or send them to a slot that is reserved for padding",
        )
    pool = call.tensor(law.pool) if law.pool is not None else None
    slots = pool.dim(0) if pool is not None else None
    if isinstance(slots, int) and max(values) >= slots:
        yield Violation(
            f"`{name}` is {show_values(values)}, but `{law.pool}` has {counted(slots, 'slots')}",
            parameter=name,
            aspect="values",
            remedy="keep the indices below the number of slots",
        )


def _instead(law: Indices) -> str:
    if law.negatives:
        return "pass the negative indices: the callee skips them"
    return "send padding to a slot that is reserved for it"


RULE = Rule(
    code="KDA405",
    name="state-index",
    law="Slot indices are 1-D, dense and of the dtype the callee takes; the padding sentinel is not clamped onto a "
    "live slot.",
    why="Kernels read indices by pointer and write states through them: a wrong index overwrites another request's "
    "state.",
    remedy="pass one dense index per row, with the callee's own padding value",
    static="dataflow, provenance",
    runtime="meta; values for bounds",
    wrong=(
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, out):
    slots = torch.tensor([[4], [1], [7]], dtype=torch.int32)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    right=(
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, out):
    slots = torch.tensor([4, 1, -1], dtype=torch.int32)
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, out, slots
    )
""",
    ),
    likely=(
        """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run(mixed_qkv, a, b, A_log, dt_bias, pool, out, slots: torch.Tensor):
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv, a, b, A_log, dt_bias, 0.088, pool, out, slots.clamp(min=0)
    )
""",
    ),
    check=check,
)
