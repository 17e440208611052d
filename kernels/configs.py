"""Pinned Helion configurations, per architecture. Plain data: nothing here imports Helion.

Measured on the GPU that the architecture names (benchmarks/gpu/RESULTS.md); any other takes ``DEFAULT``, chosen to fit
the shared memory of every GPU since sm80.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

DEFAULT: dict[str, Config] = {
    "chunk_operands": {"num_warps": 8, "num_stages": 1},
    "chunk_states/16": {"block_sizes": [16], "num_warps": 4, "num_stages": 1},
    "chunk_states/32": {"block_sizes": [32], "num_warps": 4, "num_stages": 1},
    "chunk_states/64": {"block_sizes": [64], "num_warps": 4, "num_stages": 1},
    "packed_decode": {"block_sizes": [16, 16], "num_warps": 1, "num_stages": 1},
    "replayssm_decode": {"block_sizes": [32, 16], "num_warps": 1, "num_stages": 1},
    "verify": {"block_sizes": [16], "num_warps": 1, "num_stages": 1},
}

SM90: dict[str, Config] = {
    "chunk_operands": {"num_warps": 4, "num_stages": 1},
    "chunk_states/16": {"block_sizes": [16], "num_warps": 4, "num_stages": 2},
    "chunk_states/32": {"block_sizes": [32], "num_warps": 4, "num_stages": 2},
    "chunk_states/64": {"block_sizes": [64], "num_warps": 4, "num_stages": 2},
}

PINNED: dict[tuple[int, int], dict[str, Config]] = {(9, 0): SM90}


def pinned(capability: tuple[int, int] | None, name: str) -> Config:
    """The configuration of kernel ``name`` on a GPU of that compute capability (None: not a GPU)."""
    table = PINNED.get(capability, DEFAULT) if capability else DEFAULT
    family = name.partition("/")[0]
    return table.get(name) or table.get(family) or DEFAULT.get(name) or DEFAULT[family]
