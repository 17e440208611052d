"""Chunked prefill."""

from __future__ import annotations

from typing import Any, Literal, overload

import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from kdacheck import contract
from kdacheck.clauses import (
    Boundaries,
    Covers,
    Dense,
    Gate,
    GateParameters,
    Indices,
    Multiple,
    OffsetsEnd,
    Packed,
    PerSequence,
    ReadOnlyWith,
    SameDevice,
    SameDtype,
    States,
    Together,
    VFirst,
)

from . import reference
from .launch import kernel, traced

CHUNK = reference.CHUNK
WIDTHS = (32, 64, 128, 256)
DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@overload
def chunk_kda(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
    initial_state: Tensor | None = None, initial_state_indices: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Tensor | None = None, A_log: Tensor | None = None,
    dt_bias: Tensor | None = None, lower_bound: float | None = None,
    output_intermediate_states: Literal[False] = False, track_state: Tensor | None = None,
    track_chunk_idx: Tensor | None = None, beta_is_raw: bool = False,
) -> Tensor: ...  # fmt: skip
@overload
def chunk_kda(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
    initial_state: Tensor | None = None, initial_state_indices: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Tensor | None = None, A_log: Tensor | None = None,
    dt_bias: Tensor | None = None, lower_bound: float | None = None, *,
    output_intermediate_states: Literal[True], track_state: Tensor | None = None,
    track_chunk_idx: Tensor | None = None, beta_is_raw: bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@contract(
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    ReadOnlyWith("A_log", ("dt_bias", "lower_bound")),
    States(("initial_state", "track_state")),
    VFirst(("initial_state", "track_state"), returns_state=False),
    Indices(("initial_state_indices",), pool="initial_state"),
    PerSequence("initial_state_indices", by="cu_seqlens", dense="B"),
    PerSequence("track_state", by="cu_seqlens", dense="B"),
    Together(("track_state", "track_chunk_idx")),
    Covers(("g", "beta"), "q"),
    Multiple("HV", "H"),
    SameDtype(("q", "k", "v")),
    Boundaries("cu_seqlens", ("q", "k", "v", "g", "beta")),
    OffsetsEnd("cu_seqlens", tokens_of="q", exact=False),
    SameDevice(),
)
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B _ HV K"],
    beta: Float[Tensor, "B _ HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "slots HV V K"] | None = None,
    initial_state_indices: Int[Tensor, "N"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    A_log: Float[Tensor, "HV"] | None = None,
    dt_bias: Float[Tensor, "HV*K"] | Float[Tensor, "HV K"] | None = None,
    lower_bound: float | None = None,
    output_intermediate_states: bool = False,
    track_state: Float32[Tensor, "N HV V K"] | None = None,
    track_chunk_idx: Int[Tensor, "N"] | None = None,
    beta_is_raw: bool = False,
) -> Float[Tensor, "B T HV V"] | tuple[Float[Tensor, "B T HV V"], Float[Tensor, "B C HV V K"]]:
    """Kimi Delta Attention over whole sequences, forward only on a GPU. `reference` states the mathematics.

    Dense: B sequences of T tokens. Packed: B = 1 and ``cu_seqlens`` cuts the T tokens into N sequences, empty ones included;
    tokens past the last offset read as zero. Nothing of the caller's is written but the state: ``v`` is kept.

    Args:
        q, k: queries and keys, bfloat16, float16 or float32; K is 32, 64, 128 or 256.
        v: values of the same dtype; HV is a multiple of H, and V of the same sizes as K.
        g: gate of T tokens or more, of which the first T count. With ``A_log`` a raw projection, else the log decay (natural, <= 0).
        beta: write strength, cut like g; logits with ``beta_is_raw``.
        scale: of the queries; K ** -0.5 if None.
        initial_state: pool of states, V first, any floating dtype and strides; slots are read and overwritten. None starts
            from zero and keeps no state.
        initial_state_indices: slot of each sequence, distinct; negative reads zero and writes nothing. None: sequence n in slot n.
        use_qk_l2norm_in_kernel: divide q and k by ``sqrt(sum(x^2) + 1e-6)``.
        cu_seqlens: offsets, int32 or int64, from 0 upward.
        A_log, dt_bias: parameters of the gate, dense, ``-exp(A_log) softplus(g + dt_bias)``.
        lower_bound: the gate is ``lower_bound sigmoid(exp(A_log) (g + dt_bias))`` instead.
        output_intermediate_states: also return the state before each chunk of 64 tokens, in k's dtype, chunks of all
            sequences in order. Packed, there are T // 64 + N rows, those past the last chunk zero: the count may not
            depend on the contents of ``cu_seqlens``.
        track_state, track_chunk_idx: float32 buffer that takes each sequence's state before that chunk; -1 takes none.

    Returns:
        Outputs in v's dtype, or outputs and intermediate states.

    Raises:
        ContractError: the call breaks the contract; not raised where contracts are not checked.
        ValueError: a shape or device would make the kernel read or write outside its tensors, or no kernel is made
            for such heads or dtypes.
    """
    _check(
        q, k, v, g, beta, initial_state, initial_state_indices, cu_seqlens, A_log, dt_bias,
        track_state, track_chunk_idx,
    )  # fmt: skip
    factor: float = q.shape[3] ** -0.5 if scale is None else float(scale)
    run = torch.ops.kdacheck.chunk_kda if traced(q) else launch if q.is_cuda else _on_cpu
    out, states = run(
        q, k, v, g, beta, factor, initial_state, initial_state_indices, use_qk_l2norm_in_kernel,
        cu_seqlens, A_log, dt_bias, lower_bound, output_intermediate_states, track_state,
        track_chunk_idx, beta_is_raw,
    )  # fmt: skip
    if states is None or not output_intermediate_states:
        return out
    return out, states


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    pool: Tensor | None,
    slots: Tensor | None,
    cu_seqlens: Tensor | None,
    A_log: Tensor | None,
    dt_bias: Tensor | None,
    track_state: Tensor | None,
    tracked: Tensor | None,
) -> None:
    """Refuse what would touch memory outside the tensors, contract or no contract."""
    if q.ndim != 4 or k.shape != q.shape or v.ndim != 4 or v.shape[:2] != q.shape[:2]:
        raise ValueError(
            "q and k must be [B, T, H, K] and v [B, T, HV, V]"
            f" (got {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)})"
        )
    batch, tokens, heads, width = q.shape
    value_heads, value_width = v.shape[2:]
    if not heads or value_heads % heads or width not in WIDTHS or value_width not in WIDTHS:
        raise ValueError(
            f"HV must be a multiple of H and K, V one of {WIDTHS}"
            f" (got H={heads}, HV={value_heads}, K={width}, V={value_width})"
        )
    if q.dtype not in DTYPES:
        raise ValueError(f"q, k and v must have one of {DTYPES} (got {q.dtype})")
    if (
        g.ndim != 4
        or g.shape[1] < tokens
        or g.shape[::2] != (batch, value_heads)
        or g.shape[3] != width
    ):
        raise ValueError(f"g must cover [B, T, HV, K] of q and v (got {tuple(g.shape)})")
    if beta.ndim != 3 or beta.shape[1] < tokens or beta.shape[::2] != (batch, value_heads):
        raise ValueError(f"beta must cover [B, T, HV] of q and v (got {tuple(beta.shape)})")
    sequences = batch
    if cu_seqlens is not None:
        if batch != 1 or cu_seqlens.ndim != 1 or not cu_seqlens.shape[0]:
            raise ValueError(
                "cu_seqlens must be 1-D offsets into a packed batch of 1"
                f" (got {tuple(cu_seqlens.shape)} with a batch of {batch})"
            )
        sequences = cu_seqlens.shape[0] - 1
    if A_log is not None and A_log.shape != (value_heads,):
        raise ValueError(f"A_log must be [HV] = [{value_heads}] (got {tuple(A_log.shape)})")
    if dt_bias is not None and dt_bias.numel() != value_heads * width:
        raise ValueError(f"dt_bias must have HV*K elements (got {tuple(dt_bias.shape)})")
    state = (value_heads, value_width, width)
    if pool is not None and (pool.ndim != 4 or pool.shape[1:] != state):
        raise ValueError(f"initial_state must be [slots, HV, V, K] (got {tuple(pool.shape)})")
    if slots is not None and slots.shape != (sequences,):
        raise ValueError(f"initial_state_indices must be [{sequences}] (got {tuple(slots.shape)})")
    if pool is not None and slots is None and pool.shape[0] < sequences:
        raise ValueError(f"initial_state has {pool.shape[0]} slots for {sequences} sequences")
    if track_state is not None and track_state.shape != (sequences, *state):
        raise ValueError(f"track_state must be [N, HV, V, K] (got {tuple(track_state.shape)})")
    if tracked is not None and tracked.shape != (sequences,):
        raise ValueError(f"track_chunk_idx must be [{sequences}] (got {tuple(tracked.shape)})")
    device = q.device
    for x in (k, v, g, beta, pool, slots, cu_seqlens, A_log, dt_bias, track_state, tracked):
        if x is not None and x.device != device:
            raise ValueError(f"every tensor must be on q's device {device} (got {x.device})")


def _laid_out(x: Tensor) -> Tensor:
    """[B, T, ...] as [B * T, ...]; a copy only where strides cannot say it."""
    return x.flatten(0, 1)


def launch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float,
    initial_state: Tensor | None,
    initial_state_indices: Tensor | None,
    normalize: bool,
    cu_seqlens: Tensor | None,
    A_log: Tensor | None,
    dt_bias: Tensor | None,
    lower_bound: float | None,
    listed: bool,
    track_state: Tensor | None,
    track_chunk_idx: Tensor | None,
    beta_is_raw: bool,
) -> tuple[Tensor, Tensor | None]:
    """Launch the two kernels on any device that Helion serves, its interpreter included."""
    batch, tokens, _, width = q.shape
    value_heads, value_width = v.shape[2:]
    packed = cu_seqlens is not None
    sequences = cu_seqlens.shape[0] - 1 if packed else batch
    device = q.device
    half = v.dtype != torch.float32
    size = _chunk_size(width, half)
    every = CHUNK // size
    rows = tokens // size + sequences if packed else batch * -(-tokens // size)
    tall = tokens // CHUNK + sequences if packed else batch * -(-tokens // CHUNK)

    def room(*shape: int, dtype: torch.dtype = v.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=device)

    out = torch.empty_like(v, memory_format=torch.contiguous_format)
    befores = None
    if listed:
        groups = 1 if packed else batch
        befores = torch.zeros(
            groups, tall // groups, value_heads, value_width, width, dtype=k.dtype, device=device
        )
    if tokens == 0 or sequences == 0:
        return out, befores

    reading = room(rows, value_heads, size, width)
    recall = room(rows, value_heads, size, width)
    writing = room(rows, value_heads, size, width)
    # Triton 3.6 miscompiles the product for a tile of 32 half-precision values on sm90.
    fresh = room(rows, value_heads, max(value_width, 64), size)
    scores = room(rows, value_heads, size, size)
    decay = room(rows + 1, value_heads, width, dtype=torch.float32)
    # Unit vectors fit float16, which keeps three more bits than bfloat16.
    pair_dtype = torch.float16 if normalize and half else v.dtype

    gated = A_log is not None
    bias = None
    if gated and dt_bias is not None:
        bias = dt_bias.reshape(value_heads, width)
    elif gated:
        bias = torch.zeros(value_heads, width, dtype=torch.float32, device=device)
    kernel("prefill_device", "chunk_operands", q, exact=not half)(
        _laid_out(q),
        _laid_out(k),
        _laid_out(v),
        _laid_out(g[:, :tokens]),
        _laid_out(beta[:, :tokens]),
        A_log,
        bias,
        cu_seqlens,
        _sums(size, device),
        reading,
        recall,
        fresh,
        writing,
        scores,
        decay,
        scale,
        0.0 if lower_bound is None else lower_bound,
        tokens,
        pair_dtype,
        packed,
        normalize,
        gated,
        lower_bound is not None,
        beta_is_raw,
        not half,
        size.bit_length() - 1,
        q.is_cuda and torch.version.hip is None,
    )
    stateful = initial_state is not None
    if stateful and initial_state_indices is None:
        initial_state_indices = torch.arange(sequences, dtype=torch.int32, device=device)
    track = track_state is not None
    if track_chunk_idx is not None and track_chunk_idx is initial_state_indices:
        # Helion takes arguments that are one tensor for one parameter, and would do so for every later call.
        track_chunk_idx = track_chunk_idx.view_as(track_chunk_idx)
    tile = _tile(sequences * value_heads, value_width, half)
    kernel("prefill_device", "chunk_states", q, tile, exact=not half)(
        reading,
        recall,
        fresh,
        writing,
        scores,
        decay,
        cu_seqlens,
        initial_state,
        initial_state_indices if stateful else None,
        _laid_out(out),
        None if befores is None else _laid_out(befores),
        track_state,
        track_chunk_idx,
        sequences,
        tokens,
        packed,
        stateful,
        listed,
        track,
        every,
    )
    return out, befores


_tables: dict[tuple[int, torch.device], Tensor] = {}


def _sums(size: int, device: torch.device) -> Tensor:
    """The constant table of the operand kernel, made once per device."""
    table = _tables.get((size, device))
    if table is None:
        from .prefill_device import summing

        table = summing(size, device)
        # Memory of a graph under capture holds nothing until the graph runs.
        if not (device.type == "cuda" and torch.cuda.is_current_stream_capturing()):
            _tables[size, device] = table
    return table


def _chunk_size(width: int, half: bool) -> int:
    """Tokens per chunk: wide or float32 tiles outgrow shared memory unless the chunk is halved."""
    return 64 if width <= 128 and half else 32


def _tile(programs: int, value_width: int, half: bool) -> str:
    """How many values one program of the state pass holds, as `configs` names it.

    A tile of 128 halves what the tiles of one head read in common, but only pays once it fills the chip.
    """
    if not half:
        return "exact"
    if value_width % 128 == 0 and programs * (value_width // 128) >= 96:
        return "128"
    return "64" if value_width % 64 == 0 else "32"


def _on_cpu(*args: Any) -> tuple[Tensor, Tensor | None]:
    result = reference.chunk_kda(*args)
    return result if isinstance(result, tuple) else (result, None)


@torch.library.custom_op(
    "kdacheck::chunk_kda",
    mutates_args=("initial_state", "track_state"),
    schema=(
        "(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, float scale, Tensor(a!)? initial_state,"
        " Tensor? initial_state_indices, bool normalize, Tensor? cu_seqlens, Tensor? A_log, Tensor? dt_bias,"
        " float? lower_bound, bool listed, Tensor(b!)? track_state, Tensor? track_chunk_idx, bool beta_is_raw)"
        " -> (Tensor, Tensor)"
    ),
)
def _operator(q: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    out, states = (launch if q.is_cuda else _on_cpu)(q, *args)
    return out, out.new_empty(0) if states is None else states


@_operator.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    cu_seqlens, listed = args[6], args[10]
    out = torch.empty_like(v, memory_format=torch.contiguous_format)
    if not listed:
        return out, out.new_empty(0)
    batch, tokens, value_heads, value_width = v.shape
    chunks = -(-tokens // CHUNK)
    if cu_seqlens is not None:
        chunks = tokens // CHUNK + cu_seqlens.shape[0] - 1
    return out, k.new_empty(batch, chunks, value_heads, value_width, q.shape[3])
