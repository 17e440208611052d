"""FlashKDA: one forward kernel that checks much and copies nothing; read at MoonshotAI/FlashKDA 1ce47ea3.

Every commit calls itself 0.0.1, and forks of the same name take more keywords, so the signature stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdacheck.contracts.clauses import (
    Boundaries,
    Dense,
    Gate,
    GateParameters,
    OffsetsEnd,
    Open,
    Packed,
    PerSequence,
    SameDevice,
    SameDtype,
    States,
    VFirst,
)
from kdacheck.contracts.declare import callee, clause

if TYPE_CHECKING:
    from jaxtyping import BFloat16, Float32, Int64
    from torch import Tensor


@callee("flash_kda.fwd", package="flash-kda")
@clause(
    Open(),
    Packed(("q", "k", "v", "g", "out", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Dense(("q", "k", "v", "g", "beta", "out")),
    Dense(("A_log", "dt_bias")),
    Dense(("initial_state", "final_state")),
    Dense(("cu_seqlens",), outcome="misread"),
    States(("initial_state", "final_state")),
    VFirst(("initial_state", "final_state"), returns_state=False),
    SameDtype(("initial_state", "final_state")),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def fwd(
    q: BFloat16[Tensor, "B T H 128"],
    k: BFloat16[Tensor, "B T H 128"],
    v: BFloat16[Tensor, "B T H 128"],
    g: BFloat16[Tensor, "B T H 128"],
    beta: BFloat16[Tensor, "B T H"],
    scale: float,
    out: BFloat16[Tensor, "B T H 128"],
    A_log: Float32[Tensor, "H"],
    dt_bias: Float32[Tensor, "H 128"],
    lower_bound: float,
    initial_state: BFloat16[Tensor, "N H 128 128"] | Float32[Tensor, "N H 128 128"] | None = None,
    final_state: BFloat16[Tensor, "N H 128 128"] | Float32[Tensor, "N H 128 128"] | None = None,
    cu_seqlens: Int64[Tensor, "N+1"] | None = None,
):
    """Gate and beta are always taken raw; results are written to `out` and `final_state`."""
