"""vLLM: its copies of the FLA kernels under the prefixes they have had, and the Kimi K3 kernels.

A signature counts from the oldest release it was compared with; of older ones nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdacheck.contracts.clauses import (
    Boundaries,
    Dense,
    Elements,
    Gate,
    GateParameters,
    Indices,
    Multiple,
    OffsetsEnd,
    Packed,
    PackedWidth,
    PerSequence,
    SameDevice,
    States,
    Swallows,
    VFirst,
)
from kdacheck.contracts.declare import callee, clause

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

_OPERANDS = ("q", "k", "v", "g", "beta")
_RAW = ("q", "k", "v", "raw_g", "raw_beta")


def _fla(module: str, name: str) -> tuple[str, ...]:
    return (
        f"vllm.third_party.flash_linear_attention.ops.{module}.{name}",
        f"vllm.model_executor.layers.fla.ops.{module}.{name}",
    )


def _exported(module: str, name: str) -> tuple[str, ...]:
    return (
        *_fla(module, name),
        f"vllm.third_party.flash_linear_attention.ops.{name}",
        f"vllm.model_executor.layers.fla.ops.{name}",
    )


def _k3(module: str, name: str, *vendors: str) -> tuple[str, ...]:
    kda = [f"vllm.models.kimi_k3.{vendor}.ops.third_party.kda" for vendor in vendors]
    return tuple(path for base in kda for path in (f"{base}.{name}", f"{base}.{module}.{name}"))


@callee(
    *_fla("kda", "chunk_kda"),
    *_k3("chunk", "chunk_kda", "nvidia", "amd"),
    "vllm.models.glm5next.nvidia.ops.third_party.kda.kernels.chunk_kda",
    "vllm.models.glm5next.amd.ops.third_party.kda.kernels.chunk_kda",
    package="vllm",
    versions=">=0.11.1",
)
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
):
    """The gate is activated before the call; bounds of it given here vanish."""


_FUSED_GATE = (
    GateParameters(("A_log", "g_bias")),
    Elements("A_log", "H"),
    Elements("g_bias", "H*K"),
    States(("initial_state",)),
    Dense(("q", "k"), outcome="misread", unless="use_qk_l2norm_in_kernel"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(),
)


@callee(
    *_fla("kda", "chunk_kda_with_fused_gate"),
    package="vllm",
    versions=">=0.23.0,<0.28.0",
    without=("lower_bound",),
)
@callee(*_fla("kda", "chunk_kda_with_fused_gate"), package="vllm", versions=">=0.28.0")
@clause(
    Packed(("q", "k", "v", "raw_g", "beta"), by="cu_seqlens"),
    Gate(("raw_g", "beta")),
    Boundaries("cu_seqlens", ("q", "k", "v", "raw_g", "beta")),
    *_FUSED_GATE,
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
    lower_bound: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
): ...


@callee(
    *_k3("chunk", "chunk_kda_with_fused_gate", "nvidia"),
    package="vllm",
    versions=">=0.28.0,<0.30.0",
    without=("out",),
)
@callee(
    *_k3("chunk", "chunk_kda_with_fused_gate", "nvidia"),
    package="vllm",
    versions=">=0.30.0",
)
@clause(
    Packed(_RAW, by="cu_seqlens"),
    Gate(("raw_g", "raw_beta")),
    Boundaries("cu_seqlens", _RAW),
    *_FUSED_GATE,
)
def chunk_kda_with_fused_gate_k3(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    raw_g: Float[Tensor, "B _ H K"],
    raw_beta: Float[Tensor, "B _ H"],
    A_log: Float[Tensor, "..."],
    g_bias: Float[Tensor, "..."] | None,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ H _ _"] | None = None,
    output_final_state: bool = False,
    lower_bound: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    out: Float[Tensor, "..."] | None = None,
):
    """Kimi K3: beta is raw too."""


@callee(
    *_k3("chunk", "chunk_kda_with_fused_gate", "amd"),
    package="vllm",
    versions=">=0.28.0",
)
@clause(
    Packed(_RAW, by="cu_seqlens"),
    Gate(("raw_g", "raw_beta")),
    Boundaries("cu_seqlens", _RAW),
    *_FUSED_GATE,
)
def chunk_kda_with_fused_gate_k3_amd(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    raw_g: Float[Tensor, "B _ H K"],
    raw_beta: Float[Tensor, "B _ H"],
    A_log: Float[Tensor, "..."],
    g_bias: Float[Tensor, "..."] | None,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ H _ _"] | None = None,
    output_final_state: bool = False,
    lower_bound: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    chunk_offsets: Int[Tensor, "..."] | None = None,
): ...


@callee(*_fla("kda", "fused_recurrent_kda"), package="vllm", versions=">=0.11.1")
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


@callee(
    "vllm.models.glm5next.nvidia.ops.third_party.kda.fused_recurrent_kda",
    "vllm.models.glm5next.amd.ops.third_party.kda.fused_recurrent_kda",
    package="vllm",
    versions=">=0.30.0",
)
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("a_log", "g_bias")),
    States(("initial_state",)),
    Indices(("ssm_state_indices",), live_zero=False),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    Swallows(),
)
def fused_recurrent_kda_glm5(
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
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    out: Float[Tensor, "..."] | None = None,
    sigmoid_beta: bool = False,
    a_log: Float[Tensor, "..."] | None = None,
    g_bias: Float[Tensor, "..."] | None = None,
    compute_gate: bool = False,
    lower_bound: float | None = -5.0,
): ...


_K3_RECURRENT = (
    Packed(_RAW, by="cu_seqlens"),
    Gate(("raw_g", "raw_beta")),
    GateParameters(("A_log", "dt_bias")),
    Dense(("cu_seqlens",)),
    Dense(("q", "k", "v", "raw_g"), trailing=2),
    Dense(("raw_beta",), trailing=1),
    Dense(("initial_state",), trailing=3),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), live_zero=False),
    Boundaries("cu_seqlens", _RAW),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
)


@callee(
    *_k3("fused_recurrent", "fused_recurrent_kda", "amd"),
    package="vllm",
    versions=">=0.28.0,<0.31.0",
)
@callee(
    *_k3("fused_recurrent", "fused_recurrent_kda", "nvidia"),
    package="vllm",
    versions=">=0.28.0",
)
@clause(*_K3_RECURRENT)
def fused_recurrent_kda_k3(
    q: Float[Tensor, "1 T H K"],
    k: Float[Tensor, "1 T H K"],
    v: Float[Tensor, "1 T H V"],
    raw_g: Float[Tensor, "1 T H K"],
    raw_beta: Float[Tensor, "1 T H"],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."] | None,
    lower_bound: float | None,
    initial_state: Float[Tensor, "_ H V K"],
    cu_seqlens: Int[Tensor, "_"],
    ssm_state_indices: Int[Tensor, "_"] | Int[Tensor, "_ _"],
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    out: Float[Tensor, "1 T H V"] | None = None,
    fuse_gate: bool | None = None,
):
    """Kimi K3: always packed, by asserts that say nothing."""


@callee(
    *_k3("fused_recurrent", "fused_recurrent_kda", "amd"),
    package="vllm",
    versions=">=0.31.0",
)
@clause(*_K3_RECURRENT)
def fused_recurrent_kda_k3_amd(
    q: Float[Tensor, "1 T H K"],
    k: Float[Tensor, "1 T H K"],
    v: Float[Tensor, "1 T H V"],
    raw_g: Float[Tensor, "1 T H K"],
    raw_beta: Float[Tensor, "1 T H"],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."] | None,
    lower_bound: float | None,
    initial_state: Float[Tensor, "_ H V K"],
    cu_seqlens: Int[Tensor, "_"],
    ssm_state_indices: Int[Tensor, "_"] | Int[Tensor, "_ _"],
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    uniform_sequence_length: int | None = None,
    out: Float[Tensor, "1 T H V"] | None = None,
    fuse_gate: bool | None = None,
): ...


@callee(
    *_fla("kda", "fused_kda_gate"),
    package="vllm",
    versions=">=0.11.1,<0.28.0",
    without=("lower_bound",),
)
@callee(
    *_fla("kda", "fused_kda_gate"),
    *_k3("chunk", "fused_kda_gate", "nvidia", "amd"),
    package="vllm",
    versions=">=0.28.0",
)
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


_K3_DECODE = (
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "raw_beta"), trailing=1),
    Dense(("raw_g",), trailing=2),
    Dense(("initial_state",), trailing=3),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("state_indices",), live_zero=False),
    SameDevice(but=("out",)),
)

_PACKED_DECODE = "fused_recurrent_kda_packed_decode"


@callee(*_k3("fused_recurrent", _PACKED_DECODE, "nvidia"), package="vllm", versions=">=0.30.0")
@clause(*_K3_DECODE)
def fused_recurrent_kda_packed_decode(
    mixed_qkv: Float[Tensor, "B 2*H*K+H*V"],
    raw_g: Float[Tensor, "1 B H K"],
    raw_beta: Float[Tensor, "1 B H"],
    A_log: Float[Tensor, "H"],
    dt_bias: Float[Tensor, "..."],
    lower_bound: float | None,
    initial_state: Float[Tensor, "_ H V K"],
    state_indices: Int[Tensor, "B"],
    scale: float | None = None,
    out: Float[Tensor, "..."] | None = None,
):
    """One token per request; the gate carries a leading axis of size 1."""


@callee(
    *_k3("fused_recurrent", _PACKED_DECODE, "nvidia"),
    package="vllm",
    versions=">=0.28.0,<0.30.0",
)
@callee(*_k3("fused_recurrent", _PACKED_DECODE, "amd"), package="vllm", versions=">=0.28.0")
@clause(*(law for law in _K3_DECODE if not isinstance(law, SameDevice)), SameDevice())
def fused_recurrent_kda_packed_decode_amd(
    mixed_qkv: Float[Tensor, "B 2*H*K+H*V"],
    raw_g: Float[Tensor, "1 B H K"],
    raw_beta: Float[Tensor, "1 B H"],
    A_log: Float[Tensor, "H"],
    dt_bias: Float[Tensor, "..."],
    lower_bound: float | None,
    initial_state: Float[Tensor, "_ H V K"],
    state_indices: Int[Tensor, "B"],
    scale: float | None = None,
): ...


@callee(
    *_exported("chunk", "chunk_gated_delta_rule"),
    package="vllm",
    versions=">=0.18.0,<0.23.0",
    without=("chunk_indices", "chunk_offsets", "core_attn_out"),
)
@callee(*_exported("chunk", "chunk_gated_delta_rule"), package="vllm", versions=">=0.23.0")
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
)
def chunk_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    chunk_offsets: Int[Tensor, "..."] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    core_attn_out: Float[Tensor, "..."] | None = None,
): ...


@callee(
    *_exported("fused_recurrent", "fused_recurrent_gated_delta_rule"),
    package="vllm",
    versions=">=0.11.1",
)
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), live_zero=False),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
)
def fused_recurrent_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ HV V K"] | None = None,
    inplace_final_state: bool = True,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    ssm_state_indices: Int[Tensor, "..."] | None = None,
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
): ...


@callee(
    *_exported("fused_recurrent", "fused_recurrent_gated_delta_rule_packed_decode"),
    package="vllm",
    versions=">=0.18.0",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b"), trailing=1),
    Dense(("out",)),
    Dense(("initial_state",), trailing=1),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), live_zero=False),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def fused_recurrent_gated_delta_rule_packed_decode(
    mixed_qkv: Float[Tensor, "B _"],
    a: Float[Tensor, "B HV"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV"],
    scale: float,
    initial_state: Float[Tensor, "_ HV V K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    use_qk_l2norm_in_kernel: bool = False,
): ...


@callee(
    *_exported("fused_sigmoid_gating", "fused_sigmoid_gating_delta_rule_update"),
    package="vllm",
    versions=">=0.18.0",
)
@clause(
    Packed(("q", "k", "v"), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K", flag="is_kda"),
    Elements("dt_bias", "HV", flag="is_kda", value=False),
    Dense(("A_log", "dt_bias"), outcome="misread"),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), live_zero=False),
    Boundaries("cu_seqlens", ("q", "k", "v")),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
)
def fused_sigmoid_gating_delta_rule_update(
    A_log: Float[Tensor, "..."],
    a: Float[Tensor, "..."],
    b: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    beta: float = 1.0,
    threshold: float = 20.0,
    scale: float | None = None,
    initial_state: Float[Tensor, "_ HV V K"] | Float[Tensor, "_ _"] | None = None,
    inplace_final_state: bool = True,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    ssm_state_indices: Int[Tensor, "..."] | None = None,
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    is_kda: bool = False,
):
    """`beta` is softplus's here; the write strength is `b`."""
