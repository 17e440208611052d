"""attention-gym: chunked and recurrent KDA on an activated gate, and the operators around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import (
    Boundaries,
    Dense,
    Gate,
    GateParameters,
    Indices,
    Multiple,
    Needs,
    OffsetsEnd,
    Packed,
    PerSequence,
    SameDevice,
    States,
    VFirst,
)
from kdacheck.contracts.declare import Written, callee, clause

if TYPE_CHECKING:
    from jaxtyping import BFloat16, Float, Float32, Int32
    from torch import Tensor

FUSED: Any = Written("Impl.FUSED")

_OPERANDS = ("q", "k", "v", "cumulative_gate", "beta")
_RECURRENT = ("q", "k", "v", "gate", "beta")


@callee(
    "attn_gym.linear.kda.chunk_kda",
    "attn_gym.linear.chunk_kda",
    package="attn-gym",
    versions="<0.0.5",
)
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("cumulative_gate", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Dense(("cu_seqlens",)),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    cumulative_gate: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T H"],
    initial_state: Float[Tensor, "N H _ _"] | None = None,
    *,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    output_final_state: bool = False,
    fastmath: bool = False,
    autotune: bool = True,
    impl: Any = FUSED,
):
    """The gate is already activated and summed over chunks, in log2 units."""


@callee(
    "attn_gym.linear.kda.chunk_kda",
    "attn_gym.linear.chunk_kda",
    package="attn-gym",
    versions=">=0.0.5,<0.0.6",
)
@clause(
    Packed(_RECURRENT, by="cu_seqlens"),
    Gate(("gate", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Dense(("cu_seqlens",)),
    Boundaries("cu_seqlens", _RECURRENT),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def chunk_kda_005(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    gate: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T H"],
    initial_state: Float[Tensor, "N H _ _"] | None = None,
    *,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    output_final_state: bool = False,
    fastmath: bool = False,
    autotune: bool = True,
    impl: Any = FUSED,
): ...


@callee(
    "attn_gym.linear.kda.recurrent_kda",
    "attn_gym.linear.recurrent_kda",
    package="attn-gym",
    versions="<0.0.6",
)
@clause(
    Packed(_RECURRENT, by="cu_seqlens"),
    Gate(("gate", "beta")),
    States(("initial_state",)),
    Indices(("state_indices",), live_zero=False),
    Dense(("cu_seqlens", "state_indices")),
    Boundaries("cu_seqlens", _RECURRENT),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def recurrent_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    gate: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T H"],
    initial_state: Float[Tensor, "_ H _ _"] | None = None,
    *,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    output_final_state: bool = False,
    state_indices: Int32[Tensor, "_"] | None = None,
    autotune: bool = True,
    impl: Any = FUSED,
):
    """Inference only; with indices the state is a pool whose slot 0 is padding."""


@callee(
    "attn_gym.linear.kda.bounded_gate_cumsum",
    "attn_gym.linear.bounded_gate_cumsum",
    package="attn-gym",
    versions="<0.0.6",
)
@clause(
    Packed(("raw_gate",), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Dense(("cu_seqlens",)),
    Boundaries("cu_seqlens", ("raw_gate",)),
    OffsetsEnd("cu_seqlens", tokens_of="raw_gate", exact=False),
    SameDevice(),
)
def bounded_gate_cumsum(
    raw_gate: BFloat16[Tensor, "B T H K"],
    A_log: Float32[Tensor, "H"],
    dt_bias: Float32[Tensor, "H K"],
    *,
    chunk_size: int = 64,
    lower_bound: float = -5.0,
    fastmath: bool = False,
    profile_ranges: bool = False,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
):
    """Gate and chunk-local cumulative sum; strides of the bias are honoured."""


@callee(
    "attn_gym.linear.kda.chunk_kda",
    "attn_gym.linear.chunk_kda",
    package="attn-gym",
    versions=">=0.0.6",
)
@clause(
    Packed(_RECURRENT, by="cu_seqlens"),
    Gate(("gate", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Dense(("cu_seqlens",)),
    Boundaries("cu_seqlens", _RECURRENT),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def chunk_kda_006(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    gate: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T H"],
    initial_state: Float[Tensor, "N H V K"] | None = None,
    *,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    scale: float | None = None,
    output_final_state: bool = False,
    fastmath: bool = True,
    autotune: bool = True,
    impl: Any = FUSED,
    kernel_options: Any = None,
):
    """The gate is a natural-log decay per token, not summed; states are V-first."""


@callee(
    "attn_gym.linear.kda.recurrent_kda",
    "attn_gym.linear.recurrent_kda",
    package="attn-gym",
    versions=">=0.0.6",
)
@clause(
    Packed(_RECURRENT, by="cu_seqlens"),
    Gate(("gate", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    Indices(("state_indices",), live_zero=False, pool="initial_state"),
    Needs(("state_indices",), ("initial_state",)),
    Needs(("has_initial_state",), ("state_indices",)),
    Multiple("HV", "H"),
    Dense(("cu_seqlens", "state_indices")),
    Boundaries("cu_seqlens", _RECURRENT),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def recurrent_kda_006(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    gate: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    initial_state: Float[Tensor, "_ HV V K"] | None = None,
    *,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    scale: float | None = None,
    output_final_state: bool = False,
    state_indices: Int32[Tensor, "_"] | None = None,
    has_initial_state: Any = None,
    autotune: bool = True,
    impl: Any = FUSED,
): ...
