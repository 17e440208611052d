"""vLLM's copies of the FLA kernels, under the prefixes they have had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdacheck.contracts.clauses import (
    Boundaries,
    Dense,
    Elements,
    Gate,
    GateParameters,
    Indices,
    OffsetsEnd,
    Packed,
    States,
    Swallows,
    VFirst,
)
from kdacheck.contracts.declare import callee, clause

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

_OPERANDS = ("q", "k", "v", "g", "beta")


def _kda(name: str) -> tuple[str, ...]:
    return (
        f"vllm.third_party.flash_linear_attention.ops.kda.{name}",
        f"vllm.model_executor.layers.fla.ops.kda.{name}",
    )


@callee(*_kda("chunk_kda"), package="vllm")
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    Dense(("q", "k"), outcome="misread", unless="use_qk_l2norm_in_kernel"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(),
)
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    g: Float[Tensor, "B _ H K"],
    beta: Float[Tensor, "B _ H"],
    scale: float | None = None,
    initial_state: Float[Tensor, "_ H _ _"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
): ...


@callee(*_kda("chunk_kda_with_fused_gate"), package="vllm")
@clause(
    Packed(("q", "k", "v", "raw_g", "beta"), by="cu_seqlens"),
    Gate(("raw_g", "beta")),
    GateParameters(("A_log", "g_bias")),
    Elements("A_log", "H"),
    Elements("g_bias", "H*K"),
    States(("initial_state",)),
    Dense(("q", "k"), outcome="misread", unless="use_qk_l2norm_in_kernel"),
    Boundaries("cu_seqlens", ("q", "k", "v", "raw_g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(),
)
def chunk_kda_with_fused_gate(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    raw_g: Float[Tensor, "B _ H K"],
    beta: Float[Tensor, "B _ H"],
    A_log: Float[Tensor, "..."],
    g_bias: Float[Tensor, "..."] | None,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ H _ _"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    safe_gate: bool = False,
    lower_bound: float | None = -5.0,
): ...


@callee(*_kda("fused_recurrent_kda"), package="vllm")
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    Indices(("ssm_state_indices",), live_zero=False),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    Swallows(),
)
def fused_recurrent_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T _ K"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ HV _ _"] | None = None,
    inplace_final_state: bool = True,
    use_qk_l2norm_in_kernel: bool = True,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    ssm_state_indices: Int[Tensor, "..."] | None = None,
): ...


@callee(*_kda("fused_kda_gate"), package="vllm")
@clause(
    GateParameters(("A", "g_bias")),
    Dense(("A", "g_bias"), outcome="misread"),
)
def fused_kda_gate(
    g: Float[Tensor, "..."],
    A: Float[Tensor, "..."],
    head_k_dim: int,
    g_bias: Float[Tensor, "..."] | None = None,
    beta: float = 1.0,
    threshold: float = 20.0,
    lower_bound: float | None = None,
): ...


@callee(
    "vllm.models.kimi_k3.nvidia.ops.third_party.kda.fused_recurrent_kda_packed_decode",
    "vllm.models.kimi_k3.amd.ops.third_party.kda.fused_recurrent_kda_packed_decode",
    package="vllm",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Dense(("dt_bias",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("state_indices",), live_zero=False),
)
def fused_recurrent_kda_packed_decode(
    mixed_qkv: Float[Tensor, "B _"],
    raw_g: Float[Tensor, "1 B H K"],
    raw_beta: Float[Tensor, "1 B H"],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    lower_bound: float | None,
    initial_state: Float[Tensor, "_ H V K"],
    state_indices: Int[Tensor, "B"],
    scale: float | None = None,
):
    """One token per request; the gate carries a leading axis of size 1."""
