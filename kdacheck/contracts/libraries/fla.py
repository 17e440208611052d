"""FLA (`fla-core`): KDA, the operators with the same packed contract, and the modules around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import (
    AtMost,
    Boundaries,
    Drift,
    Elements,
    Exclusive,
    Gate,
    GateParameters,
    Multiple,
    Needs,
    OffsetsEnd,
    OneOf,
    Packed,
    PerSequence,
    ReadOnlyWith,
    SameDevice,
    States,
    Swallows,
    VFirst,
    Within,
)
from kdacheck.contracts.declare import Written, callee, clause

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int
    from torch import Tensor

FLOAT32: Any = Written("torch.float32")
FLOAT: Any = Written("torch.float")

_OPERANDS = ("q", "k", "v", "g", "beta")
_HOST = SameDevice(but=("cu_seqlens_cpu",))

_CHUNK_KDA_PATHS = ("fla.ops.kda.chunk_kda", "fla.ops.chunk_kda", "fla.ops.kda.chunk.chunk_kda")

_RECURRENT_KDA_PATHS = (
    "fla.ops.kda.fused_recurrent_kda",
    "fla.ops.fused_recurrent_kda",
    "fla.ops.kda.fused_recurrent.fused_recurrent_kda",
)

_GATE_PATHS = ("fla.ops.kda.gate.fused_kda_gate",)

#: The laws that `chunk_kda` has had since its first release.
_CHUNK_KDA = (
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
)

#: The gate in the kernel and the limit on K, as of 0.4.1.
_CHUNK_KDA_GATE = (
    AtMost("K", 256),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
)


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.6.0")
@clause(
    *_CHUNK_KDA,
    _HOST,
    *_CHUNK_KDA_GATE,
    VFirst(("initial_state",), flag="state_v_first"),
    Multiple("HV", "H"),
    Needs(("use_gate_in_kernel",), ("A_log", "lower_bound")),
    Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
    Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    Exclusive(("cp_context", "initial_state")),
    OneOf("chunk_size", (32, 64)),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("A_log", "dt_bias", "chunk_size", "transpose_state_layout")),
    Drift(10, "use_beta_sigmoid_in_kernel", "cu_seqlens", "0.4.2 to 0.5.0"),
    Drift(11, "allow_neg_eigval", "cu_seqlens_cpu", "0.4.2 to 0.5.0"),
    Drift(14, "disable_recompute", "lower_bound", "0.5.0 and before"),
    Drift(16, "state_v_first", "cp_context", "0.5.0 and before"),
)
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV K V"] | Float32[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    use_graph: bool = False,
    max_num_seqs: int | None = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    chunk_size: int = 64,
):
    """Chunked KDA; every tensor is copied dense before the kernels see it."""


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.5.1,<0.6.0")
@clause(
    *_CHUNK_KDA,
    _HOST,
    *_CHUNK_KDA_GATE,
    VFirst(("initial_state",), flag="state_v_first"),
    Multiple("HV", "H"),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
    Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    Exclusive(("cp_context", "initial_state")),
    OneOf("chunk_size", (32, 64)),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("A_log", "dt_bias", "chunk_size", "transpose_state_layout")),
    Drift(10, "use_beta_sigmoid_in_kernel", "cu_seqlens", "0.4.2 to 0.5.0"),
    Drift(11, "allow_neg_eigval", "cu_seqlens_cpu", "0.4.2 to 0.5.0"),
    Drift(14, "disable_recompute", "lower_bound", "0.5.0 and before"),
    Drift(16, "state_v_first", "cp_context", "0.5.0 and before"),
)
def chunk_kda_051(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV K V"] | Float32[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    chunk_size: int = 64,
): ...


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.5.0,<0.5.1")
@clause(
    *_CHUNK_KDA,
    _HOST,
    *_CHUNK_KDA_GATE,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Multiple("HV", "H"),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
    Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("A_log", "dt_bias")),
    Drift(10, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
    Drift(11, "cu_seqlens_cpu", "allow_neg_eigval", "0.5.1 and later"),
)
def chunk_kda_050(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV K V"] | Float32[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    cp_context: Any = None,
    transpose_state_layout: bool = False,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
): ...


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.4.2,<0.5.0")
@clause(
    *_CHUNK_KDA,
    _HOST,
    *_CHUNK_KDA_GATE,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
    Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("A_log", "dt_bias")),
    Drift(10, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
    Drift(11, "cu_seqlens_cpu", "chunk_indices", "0.4.1"),
)
def chunk_kda_042(
    q: Float[Tensor, "B T HV K"],
    k: Float[Tensor, "B T HV K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV K V"] | Float32[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    cp_context: Any = None,
    transpose_state_layout: bool = False,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
): ...


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.4.1,<0.4.2")
@clause(
    *_CHUNK_KDA,
    SameDevice(),
    *_CHUNK_KDA_GATE,
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Boundaries("cu_seqlens", _OPERANDS),
    Swallows(reads=("A_log", "dt_bias")),
    Drift(10, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
    Drift(11, "chunk_indices", "cu_seqlens_cpu", "0.4.2 and 0.5.0"),
)
def chunk_kda_041(
    q: Float[Tensor, "B T HV K"],
    k: Float[Tensor, "B T HV K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float32[Tensor, "N HV K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    *,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
): ...


@callee(*_CHUNK_KDA_PATHS, package="fla-core", versions=">=0.4.0,<0.4.1")
@clause(
    *_CHUNK_KDA,
    SameDevice(),
    Boundaries("cu_seqlens", _OPERANDS),
    Swallows(),
    Drift(9, "cu_seqlens", "use_gate_in_kernel", "0.4.1 and later"),
)
def chunk_kda_040(
    q: Float[Tensor, "B T HV K"],
    k: Float[Tensor, "B T HV K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
): ...


_RECURRENT_KDA = (
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)

_RECURRENT_KDA_GATE = (
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
    Needs(("use_gate_in_kernel",), ("A_log", "lower_bound")),
    Multiple("HV", "H"),
)


@callee(*_RECURRENT_KDA_PATHS, package="fla-core", versions=">=0.5.1")
@clause(
    *_RECURRENT_KDA,
    *_RECURRENT_KDA_GATE,
    VFirst(("initial_state",), flag="state_v_first"),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    Swallows(reads=("transpose_state_layout",)),
    Drift(5, "A_log", "scale", "0.4.1 and before"),
    Drift(6, "dt_bias", "initial_state", "0.4.1 and before"),
    Drift(7, "scale", "output_final_state", "0.4.1 and before"),
    Drift(8, "initial_state", "use_qk_l2norm_in_kernel", "0.4.1 and before"),
    Drift(9, "output_final_state", "cu_seqlens", "0.4.1 and before"),
    Drift(12, "use_beta_sigmoid_in_kernel", "lower_bound", "0.4.2 and 0.5.0"),
    Drift(13, "allow_neg_eigval", "cu_seqlens", "0.4.2 and 0.5.0"),
)
def fused_recurrent_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"],
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    lower_bound: float | None = None,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
):
    """Token-by-token KDA; beta is per value head, or per channel where it has the rank of v."""


@callee(*_RECURRENT_KDA_PATHS, package="fla-core", versions=">=0.4.2,<0.5.1")
@clause(
    *_RECURRENT_KDA,
    *_RECURRENT_KDA_GATE,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Swallows(),
    Drift(5, "A_log", "scale", "0.4.1 and before"),
    Drift(6, "dt_bias", "initial_state", "0.4.1 and before"),
    Drift(7, "scale", "output_final_state", "0.4.1 and before"),
    Drift(8, "initial_state", "use_qk_l2norm_in_kernel", "0.4.1 and before"),
    Drift(9, "output_final_state", "cu_seqlens", "0.4.1 and before"),
    Drift(12, "lower_bound", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
    Drift(13, "cu_seqlens", "allow_neg_eigval", "0.5.1 and later"),
)
def fused_recurrent_kda_042(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"],
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    lower_bound: float | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    transpose_state_layout: bool = False,
): ...


@callee(*_RECURRENT_KDA_PATHS, package="fla-core", versions=">=0.4.0,<0.4.2")
@clause(
    *_RECURRENT_KDA,
    Swallows(),
    Drift(5, "scale", "A_log", "0.4.2 and later"),
    Drift(6, "initial_state", "dt_bias", "0.4.2 and later"),
    Drift(7, "output_final_state", "scale", "0.4.2 and later"),
    Drift(8, "use_qk_l2norm_in_kernel", "initial_state", "0.4.2 and later"),
    Drift(9, "cu_seqlens", "output_final_state", "0.4.2 and later"),
)
def fused_recurrent_kda_040(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T H K"],
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
): ...


@callee(*_GATE_PATHS, package="fla-core", versions=">=0.6.0")
@clause(
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Needs((), ("A_log", "lower_bound")),
    SameDevice(),
    Drift(2, "dt_bias", "head_k_dim", "0.4.0"),
    Drift(3, "lower_bound", "output_dtype", "0.4.1"),
)
def fused_kda_gate(
    g: Float[Tensor, "... H K"],
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    output_dtype: Any = FLOAT32,
):
    """The gate alone, for any batch and without boundaries."""


@callee(*_GATE_PATHS, package="fla-core", versions=">=0.4.2,<0.6.0")
@clause(
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    SameDevice(),
    Drift(2, "dt_bias", "head_k_dim", "0.4.0"),
    Drift(3, "lower_bound", "output_dtype", "0.4.1"),
)
def fused_kda_gate_042(
    g: Float[Tensor, "... H K"],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    output_dtype: Any = FLOAT32,
): ...


@callee(*_GATE_PATHS, package="fla-core", versions=">=0.4.1,<0.4.2")
@clause(
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    SameDevice(),
    Drift(2, "dt_bias", "head_k_dim", "0.4.0"),
    Drift(3, "output_dtype", "lower_bound", "0.4.2 and later"),
)
def fused_kda_gate_041(
    g: Float[Tensor, "... H K"],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."] | None = None,
    output_dtype: Any = FLOAT32,
): ...


@callee(*_GATE_PATHS, package="fla-core", versions=">=0.4.0,<0.4.1")
@clause(
    GateParameters(("A", "g_bias")),
    SameDevice(),
    Drift(2, "head_k_dim", "dt_bias", "0.4.1 and later"),
    Drift(3, "g_bias", "output_dtype or lower_bound", "0.4.1 and later"),
)
def fused_kda_gate_040(
    g: Float[Tensor, "..."],
    A: Float[Tensor, "..."],
    head_k_dim: int,
    g_bias: Float[Tensor, "..."] | None = None,
    beta: float = 1.0,
    threshold: float = 20.0,
): ...


@callee("fla.ops.kda.gate.kda_gate_chunk_cumsum", package="fla-core", versions=">=0.6.0")
@clause(
    Packed(("g",), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Boundaries("cu_seqlens", ("g",)),
    OffsetsEnd("cu_seqlens", tokens_of="g"),
    Swallows(),
    SameDevice(),
)
def kda_gate_chunk_cumsum(
    g: Float[Tensor, "B T H K"],
    A_log: Float[Tensor, "..."] | None,
    chunk_size: int,
    scale: float | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    output_dtype: Any = FLOAT,
    chunk_indices: Int[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
    use_graph: bool = False,
):
    """Gate and chunk-local cumulative sum, which restarts at every boundary."""


@callee("fla.ops.kda.gate.kda_gate_chunk_cumsum", package="fla-core", versions=">=0.4.2,<0.6.0")
@clause(
    Packed(("g",), by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "H"),
    Elements("dt_bias", "H*K"),
    Boundaries("cu_seqlens", ("g",)),
    OffsetsEnd("cu_seqlens", tokens_of="g"),
    Swallows(),
    SameDevice(),
)
def kda_gate_chunk_cumsum_042(
    g: Float[Tensor, "B T H K"],
    A_log: Float[Tensor, "..."],
    chunk_size: int,
    scale: float | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    output_dtype: Any = FLOAT,
    chunk_indices: Int[Tensor, "..."] | None = None,
    lower_bound: float | None = None,
): ...


@callee(
    "fla.ops.utils.cumsum.chunk_local_cumsum",
    "fla.ops.utils.chunk_local_cumsum",
    package="fla-core",
    versions=">=0.6.0",
)
@clause(
    Packed(("g",), by="cu_seqlens"),
    Boundaries("cu_seqlens", ("g",)),
    SameDevice(),
    Swallows(refuses=("head_first",)),
)
def chunk_local_cumsum(
    g: Float[Tensor, "B T H"] | Float[Tensor, "B T H K"],
    chunk_size: int,
    reverse: bool = False,
    scale: float | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    output_dtype: Any = FLOAT,
    chunk_indices: Int[Tensor, "..."] | None = None,
    use_graph: bool = False,
): ...


_CHUNK_GDN_PATHS = (
    "fla.ops.gated_delta_rule.chunk_gated_delta_rule",
    "fla.ops.gated_delta_rule.chunk_gdn",
    "fla.ops.chunk_gated_delta_rule",
    "fla.ops.chunk_gdn",
    "fla.ops.gated_delta_rule.chunk.chunk_gated_delta_rule",
    "fla.ops.gated_delta_rule.chunk.chunk_gdn",
)

_RECURRENT_GDN_PATHS = (
    "fla.ops.gated_delta_rule.fused_recurrent_gated_delta_rule",
    "fla.ops.gated_delta_rule.fused_recurrent_gdn",
    "fla.ops.fused_recurrent_gated_delta_rule",
    "fla.ops.fused_recurrent_gdn",
    "fla.ops.gated_delta_rule.fused_recurrent.fused_recurrent_gated_delta_rule",
    "fla.ops.gated_delta_rule.fused_recurrent.fused_recurrent_gdn",
)

_GDN = (
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
)

#: The gate in the kernel: one bias per value head, not per channel.
_GDN_GATE = (
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV"),
    ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Multiple("HV", "H"),
)


@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.6.0")
@clause(
    *_GDN,
    *_GDN_GATE,
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    VFirst(("initial_state",), flag="state_v_first"),
    OneOf("chunk_size", (16, 32, 64)),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(
        reads=("use_gate_in_kernel", "A_log", "dt_bias", "chunk_size", "transpose_state_layout"),
        refuses=("head_first",),
    ),
    Drift(14, "chunk_indices", "cp_context", "0.5.2 and before"),
    _HOST,
)
def chunk_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    cp_context: Any = None,
    *,
    use_gate_in_kernel: bool = False,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    chunk_size: int = 64,
):
    """Chunked gated delta rule: gate and bias are per value head, not per channel."""


@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.5.1,<0.5.2", without=("chunk_size",))
@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.5.2,<0.6.0")
@clause(
    *_GDN,
    *_GDN_GATE,
    _HOST,
    OneOf("chunk_size", (16, 32, 64)),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    VFirst(("initial_state",), flag="state_v_first"),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(
        reads=("use_gate_in_kernel", "A_log", "dt_bias", "chunk_size", "transpose_state_layout"),
        refuses=("head_first",),
    ),
    Drift(14, "cp_context", "chunk_indices", "0.6.0 and later"),
)
def chunk_gated_delta_rule_052(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    *,
    use_gate_in_kernel: bool = False,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    chunk_size: int = 64,
): ...


@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.5.0,<0.5.1")
@clause(
    *_GDN,
    *_GDN_GATE,
    _HOST,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("use_gate_in_kernel", "A_log", "dt_bias"), refuses=("head_first",)),
    Drift(9, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
)
def chunk_gated_delta_rule_050(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    transpose_state_layout: bool = False,
    *,
    use_gate_in_kernel: bool = False,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
): ...


@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.4.2,<0.5.0")
@clause(
    *_GDN,
    _HOST,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Exclusive(("cp_context", "initial_state")),
    Boundaries("cu_seqlens", _OPERANDS, instead=("cp_context",)),
    Swallows(reads=("head_first",)),
    Drift(9, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
)
def chunk_gated_delta_rule_042(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    transpose_state_layout: bool = False,
): ...


@callee(*_CHUNK_GDN_PATHS, package="fla-core", versions=">=0.4.0,<0.4.2")
@clause(
    *_GDN,
    SameDevice(),
    Boundaries("cu_seqlens", _OPERANDS),
    Swallows(reads=("head_first",)),
    Drift(9, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
)
def chunk_gated_delta_rule_040(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"],
    beta: Float[Tensor, "B T HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
): ...


@callee(*_RECURRENT_GDN_PATHS, package="fla-core", versions=">=0.5.1")
@clause(
    Packed(("q", "k", "v", "g", "gk", "gv", "beta"), by="cu_seqlens"),
    Gate(("g", "gk", "gv", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV"),
    ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    States(("initial_state",)),
    VFirst(("initial_state",), flag="state_v_first"),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(reads=("transpose_state_layout",)),
    Drift(4, "gk", "beta", "`chunk_gated_delta_rule` and other libraries"),
    SameDevice(),
)
def fused_recurrent_gated_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"] | None = None,
    gk: Float[Tensor, "B T HV K"] | None = None,
    gv: Float[Tensor, "B T HV V"] | None = None,
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
):
    """Token-by-token gated delta rule: `beta` is the seventh parameter here."""


_RECURRENT_GDN = (
    Packed(("q", "k", "v", "g", "gk", "gv", "beta"), by="cu_seqlens"),
    Gate(("g", "gk", "gv", "beta")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", _OPERANDS),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Drift(4, "gk", "beta", "`chunk_gated_delta_rule` and other libraries"),
    SameDevice(),
)


@callee(*_RECURRENT_GDN_PATHS, package="fla-core", versions=">=0.5.0,<0.5.1")
@clause(
    *_RECURRENT_GDN,
    *_GDN_GATE,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Drift(14, "cu_seqlens", "use_beta_sigmoid_in_kernel", "0.5.1 and later"),
)
def fused_recurrent_gated_delta_rule_050(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"] | None = None,
    gk: Float[Tensor, "B T HV K"] | None = None,
    gv: Float[Tensor, "B T HV V"] | None = None,
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    use_exp2: bool = False,
    transpose_state_layout: bool = False,
): ...


@callee(*_RECURRENT_GDN_PATHS, package="fla-core", versions=">=0.4.2,<0.5.0")
@clause(
    *_RECURRENT_GDN,
    VFirst(("initial_state",), flag="transpose_state_layout"),
    Drift(11, "cu_seqlens", "use_gate_in_kernel", "0.5.0 and later"),
)
def fused_recurrent_gated_delta_rule_042(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"] | None = None,
    gk: Float[Tensor, "B T HV K"] | None = None,
    gv: Float[Tensor, "B T HV V"] | None = None,
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    transpose_state_layout: bool = False,
): ...


@callee(*_RECURRENT_GDN_PATHS, package="fla-core", versions=">=0.4.0,<0.4.2")
@clause(
    *_RECURRENT_GDN,
    Drift(11, "cu_seqlens", "use_gate_in_kernel", "0.5.0 and later"),
)
def fused_recurrent_gated_delta_rule_040(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV"] | None = None,
    gk: Float[Tensor, "B T HV K"] | None = None,
    gv: Float[Tensor, "B T HV V"] | None = None,
    beta: Float[Tensor, "B T HV"] | Float[Tensor, "B T HV V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N HV K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
): ...


@callee(
    "fla.ops.gla.chunk_gla",
    "fla.ops.chunk_gla",
    "fla.ops.gla.chunk.chunk_gla",
    package="fla-core",
    versions=">=0.5.1",
)
@clause(
    Packed(("q", "k", "v", "g"), by="cu_seqlens"),
    Gate(("g",)),
    States(("initial_state",)),
    VFirst(("initial_state",), flag="state_v_first"),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    _HOST,
)
def chunk_gla(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    g: Float[Tensor, "B T H K"],
    scale: int | None = None,
    initial_state: Float32[Tensor, "N H K V"] | Float32[Tensor, "N H V K"] | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
): ...


@callee(
    "fla.ops.simple_gla.chunk_simple_gla",
    "fla.ops.chunk_simple_gla",
    "fla.ops.simple_gla.chunk.chunk_simple_gla",
    package="fla-core",
    versions=">=0.5.2",
)
@clause(
    Packed(("q", "k", "v", "g"), by="cu_seqlens"),
    Gate(("g",)),
    States(("initial_state",)),
    VFirst(("initial_state",), flag="state_v_first"),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("q", "k", "v", "g")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    Swallows(reads=("chunk_size",), refuses=("head_first",)),
    _HOST,
)
def chunk_simple_gla(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    g: Float[Tensor, "B T H"] | None = None,
    g_gamma: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N H K V"] | Float[Tensor, "N H V K"] | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
): ...


@callee(
    "fla.ops.delta_rule.chunk_delta_rule",
    "fla.ops.chunk_delta_rule",
    "fla.ops.delta_rule.chunk.chunk_delta_rule",
    package="fla-core",
    versions=">=0.5.2",
)
@clause(
    Packed(("q", "k", "v", "beta"), by="cu_seqlens"),
    Gate(("beta",)),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("q", "k", "v", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    OneOf("chunk_size", (16, 32, 64)),
    Swallows(reads=("chunk_size",), refuses=("head_first",)),
    _HOST,
)
def chunk_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    beta: Float[Tensor, "B T H"],
    scale: float | None = None,
    initial_state: Float[Tensor, "N H K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    *,
    chunk_size: int = 64,
): ...


@callee(
    "fla.ops.delta_rule.fused_recurrent_delta_rule",
    "fla.ops.fused_recurrent_delta_rule",
    "fla.ops.delta_rule.fused_recurrent.fused_recurrent_delta_rule",
    package="fla-core",
    versions=">=0.4.0",
)
@clause(
    Packed(("q", "k", "v", "beta"), by="cu_seqlens"),
    Gate(("beta",)),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("q", "k", "v", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def fused_recurrent_delta_rule(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    beta: Float[Tensor, "B T H"] | Float[Tensor, "B T H V"] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "N H K V"] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
): ...


@callee(
    "fla.modules.convolution.causal_conv1d",
    "fla.modules.conv.causal_conv1d",
    "fla.modules.causal_conv1d.causal_conv1d",
    "fla.modules.causal_conv1d.ops.causal_conv1d",
    package="fla-core",
    versions=">=0.4.2",
)
@clause(
    Packed(("x",), by="cu_seqlens"),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Boundaries("cu_seqlens", ("x",), instead=("cp_context",)),
    OffsetsEnd("cu_seqlens", tokens_of="x"),
    Swallows(reads=("seq_idx",)),
    _HOST,
)
def causal_conv1d(
    x: Float[Tensor, "B T ..."],
    weight: Float[Tensor, "D W"] | None = None,
    bias: Float[Tensor, "D"] | None = None,
    residual: Float[Tensor, "B T ..."] | None = None,
    initial_state: Float[Tensor, "N D W"] | None = None,
    output_final_state: bool | None = False,
    activation: str | None = None,
    backend: str | None = "triton",
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    cp_context: Any = None,
):
    """Short convolution over tokens; the strides of `x` are honoured, its batch is never checked."""


@callee(
    "fla.modules.ShortConvolution.forward",
    "fla.modules.convolution.ShortConvolution.forward",
    "fla.modules.conv.ShortConvolution.forward",
    "fla.modules.causal_conv1d.ShortConvolution.forward",
    package="fla-core",
    versions=">=0.4.1",
)
@clause(
    Packed(("x",), by="cu_seqlens"),
    States(("cache",)),
    PerSequence("cache", by="cu_seqlens", dense="B"),
    Exclusive(("mask", "cu_seqlens")),
    Boundaries("cu_seqlens", ("x",), instead=("cp_context",)),
    OffsetsEnd("cu_seqlens", tokens_of="x"),
    Swallows(reads=("seq_idx", "cu_seqlens_cpu", "cp_context")),
    _HOST,
)
def forward(
    x: Float[Tensor, "B T ..."],
    residual: Float[Tensor, "B T ..."] | None = None,
    mask: Any = None,
    cache: Float[Tensor, "N D W"] | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    chunk_indices: Int[Tensor, "..."] | None = None,
    *,
    cu_seqlens_cpu: Int[Tensor, "N+1"] | None = None,
    cp_context: Any = None,
    seq_idx: Any = None,
):
    """Calling a `ShortConvolution`."""


@callee(
    "fla.modules.token_shift.token_shift",
    package="fla-core",
    versions=">=0.4.1",
)
@clause(
    Packed(("x",), by="cu_seqlens"),
    Boundaries("cu_seqlens", ("x",)),
    OffsetsEnd("cu_seqlens", tokens_of="x"),
    SameDevice(),
)
def token_shift(
    x: Float[Tensor, "B T D"],
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    cache: Float[Tensor, "..."] | None = None,
    output_cache: bool = False,
    chunk_indices: Int[Tensor, "..."] | None = None,
): ...
