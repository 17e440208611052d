"""cuLA: chunked KDA, the fused prefills and the decode update; read at inclusionAI/cuLA fa742a23.

Tags v0.1.0 to v0.1.2 have the same prefills and no decode. The one published release cannot be downloaded everywhere,
and later commits take more keywords and grouped value heads, so signatures stay open and heads go by the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import (
    Boundaries,
    Elements,
    Gate,
    GateParameters,
    Needs,
    OffsetsEnd,
    Open,
    Packed,
    PerSequence,
    ReadOnlyWith,
    States,
    Swallows,
    Within,
)
from kdacheck.contracts.declare import callee, clause

if TYPE_CHECKING:
    from jaxtyping import BFloat16, Float, Float32, Int, Int32
    from torch import Tensor

_OPERANDS = ("q", "k", "v", "g", "beta")

_PACKAGE = "cuda-linear-attention"

_LAWS = (
    Open(),
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
    Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
)


@callee("cula.kda.chunk_kda", "cula.kda.chunk.chunk_kda", package=_PACKAGE)
@clause(
    *_LAWS,
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("A_log", "dt_bias")),
)
def chunk_kda(
    q: BFloat16[Tensor, "B T H K"],
    k: BFloat16[Tensor, "B T H K"],
    v: BFloat16[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: BFloat16[Tensor, "B T HV"] | Float32[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV _ _"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    cp_context: Any = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
):
    """The parameter order of FLA 0.4.2 as far as `cp_context`; offsets are int32."""


@callee(
    "cula.kda.kda_prefill_hopper",
    "cula.kda.hopper_fused_fwd.cula_kda_prefill",
    package=_PACKAGE,
)
@clause(
    *_LAWS,
    Boundaries("cu_seqlens", _OPERANDS),
    Swallows(reads=("A_log", "dt_bias")),
)
def kda_prefill_hopper(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV _ _"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    cu_seqlens: Int32[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
): ...


@callee("cula.kda.blackwell_fused_fwd.flash_kda_prefill", package=_PACKAGE)
@clause(
    *_LAWS,
    Boundaries("cu_seqlens", _OPERANDS),
    Swallows(reads=("A_log", "dt_bias")),
)
def flash_kda_prefill(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV _ _"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
):
    """Offsets of any integer dtype are cast."""


@callee(
    "cula.kda.kda_decode",
    "cula.ops.kda_decode.kda_decode",
    package=_PACKAGE,
)
@clause(
    Open(),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    States(("initial_state_source",)),
)
def kda_decode(
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    q: Float[Tensor, "_ _ _ K"],
    k: Float[Tensor, "_ _ _ K"],
    v: Float[Tensor, "_ _ HV _"],
    a: Float[Tensor, "..."],
    b: Float[Tensor, "..."],
    initial_state_source: Float[Tensor, "..."],
    initial_state_indices: Int[Tensor, "..."],
    cu_seqlens: Int[Tensor, "..."] | None = None,
    scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = True,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
    out: Float[Tensor, "..."] | None = None,
    state_layout: str = "vk",
):
    """Shapes alone say whether rows or packed tokens are meant; offsets are ignored."""


@callee(
    "cula.kda.fused_sigmoid_gating_delta_rule_update",
    "cula.ops.kda_decode.fused_sigmoid_gating_delta_rule_update",
    package=_PACKAGE,
)
@clause(
    Open(),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K", flag="is_kda"),
    States(("initial_state_source",)),
)
def fused_sigmoid_gating_delta_rule_update(
    A_log: Float[Tensor, "..."],
    a: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    softplus_beta: float,
    softplus_threshold: float,
    q: Float[Tensor, "_ _ _ K"],
    k: Float[Tensor, "_ _ _ K"],
    v: Float[Tensor, "_ _ HV _"],
    b: Float[Tensor, "..."],
    initial_state_source: Float[Tensor, "..."] | None,
    initial_state_indices: Int[Tensor, "..."] | None,
    scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "..."] | None = None,
    is_kda: bool = False,
    out: Float[Tensor, "..."] | None = None,
    state_layout: str = "vk",
):
    """The decode update behind the name and order that FLA's copies have; only `is_kda=True` runs."""
