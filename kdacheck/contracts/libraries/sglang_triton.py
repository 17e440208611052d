"""SGLang's Triton and CuTe DSL kernels for KDA and the gated delta rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import (
    AtMost,
    Boundaries,
    Covers,
    Dense,
    Elements,
    Form,
    Gate,
    GateParameters,
    Indices,
    Multiple,
    OffsetsEnd,
    Packed,
    PackedWidth,
    PerSequence,
    PoolPair,
    ReadOnlyWith,
    Rings,
    SameDevice,
    States,
    Swallows,
    Together,
    VFirst,
)
from kdacheck.contracts.declare import Written, callee, clause

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int, Int32
    from torch import Tensor

_PREFIX = "sglang.kernels.ops.attention"
_OLD = "sglang.srt.layers.attention"

FLOAT: Any = Written("torch.float")

#: What the prefill and the update took on in later releases.
_CHUNKS = ("chunk_indices", "chunk_offsets")
_TRACKING = ("track_state", "track_chunk_idx", "beta_is_raw")
_RINGS = ("cache_ring", "replayssm_rawv", "replayssm_rawk", "replayssm_g", "replayssm_beta")


def _fla(module: str, name: str) -> tuple[str, ...]:
    """The path of 0.5.23 and the one that older releases had."""
    return f"{_PREFIX}.fla.{module}.{name}", f"{_OLD}.fla.{module}.{name}"


@callee(
    *_fla("kda", "chunk_kda"),
    package="sglang",
    versions=">=0.5.12,<0.5.16",
    without=("output_intermediate_states", *_TRACKING, *_CHUNKS),
)
@callee(
    *_fla("kda", "chunk_kda"),
    package="sglang",
    versions=">=0.5.16,<0.5.20",
    without=(*_TRACKING, *_CHUNKS),
)
@callee(
    *_fla("kda", "chunk_kda"),
    package="sglang",
    versions=">=0.5.20,<0.5.22",
    without=_CHUNKS,
)
@callee(
    *_fla("kda", "chunk_kda"),
    package="sglang",
    versions=">=0.5.22",
)
@clause(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Dense(("A_log", "dt_bias"), outcome="misread"),
    Dense(("q", "k"), outcome="misread", unless="use_qk_l2norm_in_kernel"),
    Dense(("initial_state_indices", "cu_seqlens"), outcome="misread"),
    Dense(("initial_state",), trailing=3, outcome="misread"),
    ReadOnlyWith("A_log", ("dt_bias",)),
    States(("initial_state", "track_state")),
    VFirst(("initial_state", "track_state"), returns_state=False),
    Indices(("initial_state_indices",), pool="initial_state"),
    PoolPair("initial_state", "initial_state_indices"),
    PerSequence("initial_state_indices", by="cu_seqlens", dense="B"),
    Together(("track_state", "track_chunk_idx")),
    AtMost("K", 256),
    Covers(("g", "beta"), "q"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(),
    SameDevice(),
)
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    g: Float[Tensor, "B _ H K"],
    beta: Float[Tensor, "B _ H"],
    scale: float | None = None,
    initial_state: Float[Tensor, "slots H V K"] | None = None,
    initial_state_indices: Int[Tensor, "N"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    output_intermediate_states: bool = False,
    track_state: Float32[Tensor, "N H V K"] | None = None,
    track_chunk_idx: Int[Tensor, "N"] | None = None,
    beta_is_raw: bool = False,
    chunk_indices: Int[Tensor, "..."] | None = None,
    chunk_offsets: Int[Tensor, "..."] | None = None,
):
    """Chunked prefill on a pool of states; gate parameters, indices and offsets are read with unit stride."""


@callee(*_fla("kda", "fused_recurrent_kda"), package="sglang")
@clause(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Dense(("initial_state",), outcome="misread"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(),
    SameDevice(),
)
def fused_recurrent_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV V K"] | None = None,
    inplace_final_state: bool = True,
    use_qk_l2norm_in_kernel: bool = True,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
):
    """Token-by-token KDA; the gate goes by key heads here, and the state is updated in place."""


@callee(
    *_fla("kda", "kda_gate_chunk_cumsum"),
    package="sglang",
    versions="<0.5.21",
    without=("beta",),
)
@callee(
    *_fla("kda", "kda_gate_chunk_cumsum"),
    package="sglang",
    versions=">=0.5.21",
)
@clause(
    Packed(("g",), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Dense(("A_log", "dt_bias", "cu_seqlens"), outcome="misread"),
    Boundaries("cu_seqlens", ("g",)),
    OffsetsEnd("cu_seqlens", tokens_of="g"),
    SameDevice(),
)
def kda_gate_chunk_cumsum(
    g: Float[Tensor, "B T H K"],
    A_log: Float[Tensor, "..."],
    chunk_size: int,
    scale: float | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    output_dtype: Any = FLOAT,
    chunk_indices: Int[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    beta: Float[Tensor, "..."] | None = None,
): ...


@callee(
    *_fla("fused_recurrent", "fused_recurrent_kda_packed_decode"),
    package="sglang",
    versions=">=0.5.15,<0.5.17",
    without=("lower_bound",),
)
@callee(
    *_fla("fused_recurrent", "fused_recurrent_kda_packed_decode"),
    package="sglang",
    versions=">=0.5.17",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b"), trailing=1),
    Dense(("out",)),
    Dense(("initial_state",), trailing=3, outcome="misread"),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def fused_recurrent_kda_packed_decode(
    mixed_qkv: Float[Tensor, "B _"],
    a: Float[Tensor, "B HV*K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    use_qk_l2norm_in_kernel: bool = False,
    lower_bound: float | None = None,
):
    """One token per request: rows are the batch, states lie in a pool."""


@callee(
    *_fla("fused_recurrent", "fused_recurrent_gated_delta_rule_packed_decode"), package="sglang"
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b"), trailing=1),
    Dense(("out",)),
    Dense(("initial_state",), trailing=3, outcome="misread"),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
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
    initial_state: Float[Tensor, "slots HV V K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    use_qk_l2norm_in_kernel: bool = False,
):
    """The gated delta rule twin: gate and bias are per head."""


@callee(
    f"{_PREFIX}.linear.fused_recurrent_linear_replayssm.fused_recurrent_linear_replayssm_decode",
    f"{_PREFIX}.linear.fused_recurrent_linear_replayssm.fused_recurrent_gdn_replayssm_decode",
    *_fla("fused_recurrent_linear_replayssm", "fused_recurrent_linear_replayssm_decode"),
    *_fla("fused_recurrent_linear_replayssm", "fused_recurrent_gdn_replayssm_decode"),
    package="sglang",
    versions=">=0.5.15",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Form("a", 'Float[Tensor, "B HV K"]', flag="is_kda"),
    Form("a", 'Float[Tensor, "B HV"]', flag="is_kda", value=False),
    Form("dt_bias", 'Float[Tensor, "HV K"]', flag="is_kda"),
    Form("dt_bias", 'Float[Tensor, "HV"]', flag="is_kda", value=False),
    Form("g_cache", 'Float32[Tensor, "slots HV L K"]', flag="is_kda"),
    Form("g_cache", 'Float32[Tensor, "slots HV L"]', flag="is_kda", value=False),
    Dense(("a", "dt_bias")),
    Dense(("A_log",), outcome="misread"),
    Dense(("mixed_qkv",), trailing=1),
    Dense(("out",)),
    Dense(("d_cache", "k_cache", "g_cache", "write_pos", "force_flush"), outcome="misread"),
    Dense(("initial_state",), trailing=3, outcome="misread"),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    Rings(("d_cache", "k_cache", "g_cache"), ("write_pos", "force_flush"), pool="initial_state"),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def fused_recurrent_linear_replayssm_decode(
    mixed_qkv: Float[Tensor, "B _"],
    a: Float[Tensor, "B HV K"] | Float[Tensor, "B HV"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV K"] | Float[Tensor, "HV"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    d_cache: Float[Tensor, "slots HV L V"],
    k_cache: Float[Tensor, "slots H L K"],
    g_cache: Float32[Tensor, "slots HV L K"] | Float32[Tensor, "slots HV L"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    write_pos: Int32[Tensor, "B"],
    force_flush: Int32[Tensor, "B"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    is_kda: bool = False,
    block_v: int | None = None,
    num_warps: int = 1,
    num_stages: int = 3,
    nk: int = 2,
):
    """ReplaySSM decode; KDA wants a two-dimensional bias here, and rings are addressed as dense."""


_UPDATE = (
    f"{_PREFIX}.linear.fused_sigmoid_gating_recurrent.fused_sigmoid_gating_delta_rule_update",
    *_fla("fused_sigmoid_gating_recurrent", "fused_sigmoid_gating_delta_rule_update"),
)


@callee(
    *_UPDATE,
    package="sglang",
    versions=">=0.5.12,<0.5.17",
    without=("lower_bound", *_RINGS, "match_cutedsl_decode"),
)
@callee(
    *_UPDATE,
    package="sglang",
    versions=">=0.5.17,<0.5.22",
    without=("match_cutedsl_decode",),
)
@callee(
    *_UPDATE,
    package="sglang",
    versions=">=0.5.22",
)
@clause(
    Packed(("q", "k", "v"), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K", flag="is_kda"),
    Elements("dt_bias", "HV", flag="is_kda", value=False),
    Dense(("A_log", "dt_bias"), outcome="misread"),
    Dense(("q", "k", "v"), trailing=2, outcome="misread"),
    Dense(("initial_state_indices", "cu_seqlens"), outcome="misread"),
    Dense(("initial_state_source",), trailing=3, outcome="misread"),
    States(("initial_state_source",)),
    VFirst(("initial_state_source",), returns_state=False),
    Indices(("initial_state_indices",), pool="initial_state_source"),
    PerSequence("initial_state_indices", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", ("q", "k", "v", "a", "b")),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def fused_sigmoid_gating_delta_rule_update(
    A_log: Float[Tensor, "..."],
    a: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    softplus_beta: float,
    softplus_threshold: float,
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    b: Float[Tensor, "... HV"],
    initial_state_source: Float[Tensor, "slots HV V K"] | None,
    initial_state_indices: Int[Tensor, "N"] | None,
    scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    is_kda: bool = False,
    lower_bound: float | None = None,
    disable_state_update: bool = False,
    intermediate_states_buffer: Float[Tensor, "..."] | None = None,
    intermediate_state_indices: Int[Tensor, "..."] | None = None,
    cache_steps: int | None = None,
    retrieve_parent_token: Int[Tensor, "..."] | None = None,
    cache_ring: bool = False,
    replayssm_rawv: Float[Tensor, "..."] | None = None,
    replayssm_rawk: Float[Tensor, "..."] | None = None,
    replayssm_g: Float[Tensor, "..."] | None = None,
    replayssm_beta: Float[Tensor, "..."] | None = None,
    match_cutedsl_decode: bool = False,
):
    """Gate and recurrent update in one kernel that checks next to nothing."""


@callee(
    *_fla("chunk", "chunk_gated_delta_rule"),
    package="sglang",
    versions=">=0.5.9,<0.5.20",
    without=("inplace_update",),
)
@callee(
    *_fla("chunk", "chunk_gated_delta_rule"),
    package="sglang",
    versions=">=0.5.20",
)
@clause(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("initial_state_indices",), pool="initial_state"),
    PerSequence("initial_state_indices", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def chunk_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "slots HV V K"] | None = None,
    initial_state_indices: Int[Tensor, "N"] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    head_first: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    inplace_update: bool = True,
): ...


@callee(*_fla("fused_recurrent", "fused_recurrent_gated_delta_rule"), package="sglang")
@clause(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def fused_recurrent_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
): ...


@callee(
    f"{_PREFIX}.cutedsl_kda.cutedsl_fused_sigmoid_gating_kda_update",
    "sglang.jit_kernel.cutedsl_kda.cutedsl_fused_sigmoid_gating_kda_update",
    package="sglang",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    States(("initial_state_source",)),
    Indices(("initial_state_indices",)),
)
def cutedsl_fused_sigmoid_gating_kda_update(
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    q: Float[Tensor, "_ _ _ _"],
    k: Float[Tensor, "_ _ _ _"],
    v: Float[Tensor, "_ _ _ _"],
    a: Float[Tensor, "..."],
    b: Float[Tensor, "..."],
    initial_state_source: Float[Tensor, "..."],
    initial_state_indices: Int[Tensor, "..."],
    cu_seqlens: Int[Tensor, "..."] | None = None,
    scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = True,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
):
    """CuTe DSL decode: shapes alone say whether rows or packed tokens are meant, offsets or not."""


@callee(f"{_PREFIX}.linear.kda_blackwell.chunk_kda_cutedsl", package="sglang", versions=">=0.5.16")
@clause(
    GateParameters(("A_log", "dt_bias")),
    States(("h0",)),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
)
def chunk_kda_cutedsl(
    q: Float[Tensor, "T H K"],
    k: Float[Tensor, "T H K"],
    v: Float[Tensor, "T HV V"],
    g: Float[Tensor, "..."],
    beta: Float[Tensor, "..."],
    h0: Float[Tensor, "..."],
    cu_seqlens: Int[Tensor, "_"],
    scale: float | None = None,
    num_sms: int | None = None,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    h0_indices: Int[Tensor, "..."] | None = None,
):
    """Prefill without a batch axis: axis 0 is tokens."""
