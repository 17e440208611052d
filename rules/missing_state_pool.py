"""KDA404: a pool comes with its indices, and what belongs together is given together."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import PoolPair, Together
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(PoolPair):
        missing = [name for name in (law.pool, law.indices) if call.given(name) is False]
        if missing:
            names = " and ".join(f"`{name}`" for name in missing)
            yield Violation(
                f"{names} {'is' if len(missing) == 1 else 'are'} missing: the callee works on a state pool and "
                f"takes `{law.pool}` with `{law.indices}`",
                remedy=f"pass `{law.pool}`, and `{law.indices}` with one slot per sequence",
            )
    for law in call.contract.each(Together):
        there = [name for name in law.parameters if call.handed(name)]
        missing = [name for name in law.parameters if call.given(name) is False]
        if there and missing:
            yield Violation(
                f"`{there[0]}` is given without `{missing[0]}`",
                parameter=there[0],
                remedy=f"pass `{missing[0]}` as well, or neither",
            )


RULE = Rule(
    code="KDA404",
    name="missing-state-pool",
    law="A callee that works on a pool gets both the pool and the indices; `track_state` goes with "
    "`track_chunk_idx`.",
    why="One without the other is refused, or None reaches the kernel.",
    remedy="pass both, or neither where neither is needed",
    static="call keywords",
    runtime="meta",
    wrong=(
        """\
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda

def run(q, k, v, g, beta, pool, cu):
    return chunk_kda(q, k, v, g, beta, initial_state=pool, cu_seqlens=cu)
""",
    ),
    right=(
        """\
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda

def run(q, k, v, g, beta, pool, slots, cu):
    return chunk_kda(
        q, k, v, g, beta, initial_state=pool, initial_state_indices=slots, cu_seqlens=cu
    )
""",
    ),
    check=check,
)
