"""Pinned Helion configurations, per architecture. Plain data: nothing here imports Helion.

A key is the kernel, then the regime that the launcher names: for the state pass the tile of V, or that it is exact (float32,
whose tiles are twice as large), for decode the width of a state
element and how many (row, value head) pairs there are. Chosen on the GPU that the architecture names (benchmarks/gpu);
any other takes ``DEFAULT``, which fits the shared memory of every GPU since sm80. Two keys are not Helion's: ``body`` names the
function where a regime has its own, and ``registers`` caps those of a thread, which Helion offers for persistent kernels only.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

# The axes of the grid (rows, heads, V), the one that neighbours differ in first.
_V_FIRST = [[2, 1, 0]]
_ROWS_FIRST = [[0, 2, 1]]
# slots, state, q, k, a, dt_bias, A_log, b, v, state again: the state passes once, the rest is read by all tiles of V
_STATE_ONCE = ["", "first", *["last"] * 6, "", "first"]
# The same where the loads are slots, q, k, a, dt_bias, A_log, b, state, v.
_STREAMED_ONCE = ["", *["last"] * 6, "first", "last"]


def _decode(span: int, tile: int, unroll: list[int] | None = None, **more: Any) -> Config:
    """One warp a program, ``span`` values a program in tiles of ``tile``, neighbours in V side by side on the grid; ``more`` prevails."""
    config: Config = {
        "block_sizes": [span, tile],
        "num_warps": 1,
        "num_stages": 1,
        "loop_orders": _V_FIRST,
    }
    if unroll:
        config["range_unroll_factors"] = unroll
    return config | more


def _states(tile: int, stages: int) -> Config:
    """A warp for 16 values, so that no warp needs another's part of the state."""
    return {
        "block_sizes": [tile],
        "num_warps": 8 if tile == 128 else 4,
        "num_stages": stages,
        "loop_orders": _V_FIRST,
    }


DEFAULT: dict[str, Config] = {
    "chunk_operands": {"num_warps": 4, "num_stages": 1},
    "chunk_states/32": _states(32, 1),
    "chunk_states/64": _states(64, 1),
    "chunk_states/128": _states(64, 1),
    "packed_decode": _decode(16, 16),
    "replayssm_decode": _decode(32, 16),
    "chunk_states/exact": _states(32, 1),
    "verify": {"block_sizes": [16], "num_warps": 1, "num_stages": 1},
}

SM90: dict[str, Config] = {
    "chunk_operands": {"num_warps": 4, "num_stages": 1},
    "chunk_states/32": _states(32, 3),
    "chunk_states/64": _states(64, 3),
    "chunk_states/128": _states(128, 3),
    "chunk_states/exact": _states(32, 1),
    "packed_decode/float32-tiny": _decode(4, 4),
    "packed_decode/float32-few": _decode(16, 8),
    "packed_decode/float32-some": _decode(16, 4),
    "packed_decode/float32-many": _decode(16, 16),
    "packed_decode/float32-most": _decode(16, 16),
    "packed_decode/half-tiny": _decode(4, 4),
    "packed_decode/half-few": _decode(16, 8),
    "packed_decode/half-some": _decode(64, 8, [0, 2]),
    "packed_decode/half-many": _decode(
        32,
        8,
        body="packed_decode_streamed",
        range_num_stages=[0, 4],
        load_eviction_policies=_STREAMED_ONCE,
    ),
    "packed_decode/half-most": _decode(16, 16, load_eviction_policies=_STATE_ONCE),
    # unroll: the grid, the ring, V, the flush
    "replayssm_decode/float32-tiny": _decode(16, 16, [0, 4, 0, 0]),
    "replayssm_decode/float32-few": _decode(16, 16, [0, 4, 0, 0]),
    "replayssm_decode/float32-some": _decode(32, 8, [0, 2, 0, 0]),
    "replayssm_decode/float32-many": _decode(128, 8, [0, 4, 2, 0]),
    "replayssm_decode/float32-most": _decode(
        128,
        16,
        [0, 8, 0, 0],
        body="replayssm_decode_apart",
        registers=128,
        loop_orders=_ROWS_FIRST,
    ),
    "replayssm_decode/half-tiny": _decode(16, 16, [0, 4, 0, 0]),
    "replayssm_decode/half-few": _decode(16, 16, [0, 4, 0, 0]),
    "replayssm_decode/half-some": _decode(64, 16, [0, 4, 0, 0]),
    "replayssm_decode/half-many": _decode(128, 32, [0, 4, 0, 0]),
    "replayssm_decode/half-most": _decode(128, 32, [0, 4, 0, 0], body="replayssm_decode_apart"),
    "verify": {"block_sizes": [16], "num_warps": 1, "num_stages": 1},
}

PINNED: dict[tuple[int, int], dict[str, Config]] = {(9, 0): SM90}


def pinned(capability: tuple[int, int] | None, name: str) -> Config:
    """The configuration of kernel ``name`` on a GPU of that compute capability (None: not a GPU)."""
    table = PINNED.get(capability, DEFAULT) if capability else DEFAULT
    family = name.partition("/")[0]
    return table.get(name) or table.get(family) or DEFAULT.get(name) or DEFAULT[family]
