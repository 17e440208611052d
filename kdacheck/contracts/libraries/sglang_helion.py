"""SGLang's Helion kernels for KDA: prefill, packed decode, ReplaySSM decode, verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import (
    Boundaries,
    Covers,
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
    PoolPair,
    PowerOfTwo,
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

_PREFIX = "sglang.kernels.ops.attention.helion"

#: `get_kernel("attention.<name>", KernelBackend.HELION)` -> the import path of what it returns.
REGISTRY = {
    "attention.chunk_kda": f"{_PREFIX}.kda_prefill.chunk_kda",
    "attention.helion_fused_recurrent_kda_packed_decode": (
        f"{_PREFIX}.kda_decode.helion_fused_recurrent_kda_packed_decode"
    ),
    "attention.helion_fused_recurrent_kda_replayssm_decode": (
        f"{_PREFIX}.kda_replayssm.helion_fused_recurrent_kda_replayssm_decode"
    ),
    "attention.helion_kda_verify": f"{_PREFIX}.kda_verify.helion_kda_verify",
}

RCP_LN2: Any = Written("RCP_LN2")
_CHUNKS = ("chunk_indices", "chunk_offsets")


@callee(
    f"{_PREFIX}.kda_prefill.chunk_kda",
    package="sglang",
    versions=">=0.5.18,<0.5.20",
    without=("track_state", "track_chunk_idx", "beta_is_raw", *_CHUNKS),
)
@callee(
    f"{_PREFIX}.kda_prefill.chunk_kda",
    package="sglang",
    versions=">=0.5.20,<0.5.22",
    without=_CHUNKS,
)
@callee(
    f"{_PREFIX}.kda_prefill.chunk_kda",
    package="sglang",
    versions=">=0.5.22",
)
@clause(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H", at_least=True),
    Elements("dt_bias", "H*K", at_least=True),
    ReadOnlyWith("A_log", ("dt_bias",)),
    States(("initial_state", "track_state")),
    VFirst(("initial_state", "track_state"), returns_state=False),
    Indices(("initial_state_indices",), negatives=False, pool="initial_state"),
    PoolPair("initial_state", "initial_state_indices"),
    PerSequence("initial_state_indices", by="cu_seqlens", dense="B"),
    Together(("track_state", "track_chunk_idx")),
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
    """Chunked prefill on a pool of states; operands are copied dense, the bias is flattened, `v` is overwritten."""


@callee(f"{_PREFIX}.kda_prefill.gate_chunk_cumsum_operands", package="sglang", versions=">=0.5.18")
@clause(
    Packed(("g", "q", "k", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("a_log", "dt_bias")),
    Elements("a_log", "H", at_least=True),
    Elements("dt_bias", "H*K", at_least=True),
    ReadOnlyWith("a_log", ("dt_bias",)),
    Dense(("g", "q", "k", "beta"), outcome="refused"),
    Boundaries("cu_seqlens", ("g", "q", "k", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def gate_chunk_cumsum_operands(
    g: Float[Tensor, "B T H K"],
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T H"],
    *,
    q_scale: float,
    a_log: Float[Tensor, "..."] | None,
    dt_bias: Float[Tensor, "..."] | None,
    cu_seqlens: Int[Tensor, "N+1"] | None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    gate_scale: float = RCP_LN2,
): ...


@callee(
    f"{_PREFIX}.kda_decode.helion_fused_recurrent_kda_packed_decode",
    package="sglang",
    versions=">=0.5.18",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b", "initial_state"), trailing=1),
    Dense(("out",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    PowerOfTwo(("K", "V")),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def helion_fused_recurrent_kda_packed_decode(
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
    f"{_PREFIX}.kda_decode.validate_packed_decode_inputs", package="sglang", versions=">=0.5.18"
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b", "initial_state"), trailing=1),
    Dense(("out",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    PowerOfTwo(("K", "V")),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def validate_packed_decode_inputs(
    mixed_qkv: Float[Tensor, "B _"],
    a: Float[Tensor, "B HV*K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"],
    initial_state: Float[Tensor, "slots HV V K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
): ...


@callee(
    f"{_PREFIX}.kda_replayssm.helion_fused_recurrent_kda_replayssm_decode",
    package="sglang",
    versions=">=0.5.18",
)
@clause(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias", "a")),
    Dense(("mixed_qkv", "b", "initial_state"), trailing=1),
    Dense(("out",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    Rings(("d_cache", "k_cache", "g_cache"), ("write_pos", "force_flush"), pool="initial_state"),
    PowerOfTwo(("K", "V")),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def helion_fused_recurrent_kda_replayssm_decode(
    mixed_qkv: Float[Tensor, "B _"],
    a: Float[Tensor, "B HV*K"] | Float[Tensor, "B HV K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"] | Float[Tensor, "HV K"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    d_cache: Float[Tensor, "slots HV L V"],
    k_cache: Float[Tensor, "slots H L K"],
    g_cache: Float32[Tensor, "slots HV L K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    write_pos: Int32[Tensor, "B"],
    force_flush: Int32[Tensor, "B"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    lower_bound: float | None = None,
):
    """Decode that keeps the last tokens in rings and folds them into the state when a ring is full."""


@callee(f"{_PREFIX}.kda_verify.helion_kda_verify", package="sglang", versions=">=0.5.22")
@clause(
    Packed(("q", "k", "v"), by="query_start_loc"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    States(("ssm_states", "intermediate_states_buffer")),
    VFirst(("ssm_states",), returns_state=False),
    Indices(("cache_indices", "intermediate_state_indices")),
    PerSequence("cache_indices", by="query_start_loc"),
    Multiple("HV", "H"),
    Boundaries("query_start_loc", ("q", "k", "v", "a", "b")),
    OffsetsEnd("query_start_loc", tokens_of="q", exact=False),
    SameDevice(),
)
def helion_kda_verify(
    *,
    q: Float[Tensor, "1 T H K"],
    k: Float[Tensor, "1 T H K"],
    v: Float[Tensor, "1 T HV V"],
    a: Float[Tensor, "..."],
    b: Float[Tensor, "..."],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    ssm_states: Float[Tensor, "slots HV V K"],
    cache_indices: Int[Tensor, "_"],
    query_start_loc: Int[Tensor, "N+1"],
    intermediate_states_buffer: Float[Tensor, "scratch steps HV V K"],
    intermediate_state_indices: Int[Tensor, "_"],
    cache_steps: int,
    retrieve_parent_token: Int[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
):
    """Verification of draft tokens against a state pool that is read only."""
