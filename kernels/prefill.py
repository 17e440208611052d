"""Chunked prefill."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from . import reference
from .launch import kernel

CHUNK = reference.CHUNK
WIDTHS = (32, 64, 128, 256)


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
    fresh = room(rows, value_heads, size, max(value_width, 64))
    scores = room(rows, value_heads, size, size)
    decay = room(rows, value_heads, width, dtype=torch.float32)
    if normalize and half:
        # Unit vectors fit float16, which keeps three more bits than bfloat16.
        pair_dtype = torch.float16
    else:
        pair_dtype = v.dtype

    gated = A_log is not None
    if gated and dt_bias is None:
        dt_bias = torch.zeros(value_heads * width, dtype=torch.float32, device=device)
    kernel("prefill_device", "chunk_operands", q)(
        _laid_out(q),
        _laid_out(k),
        _laid_out(v),
        _laid_out(g[:, :tokens]),
        _laid_out(beta[:, :tokens]),
        A_log,
        dt_bias.reshape(value_heads, width) if gated else None,
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
    kernel("prefill_device", "chunk_states", q, _tile(sequences * value_heads, value_width))(
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
        _laid_out(befores) if listed else None,
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


def _tile(programs: int, value_width: int) -> str:
    """How many values one program of the state pass holds: few sequences and heads are split further."""
    for size in (64, 32):
        if size <= value_width and programs * (value_width // size) >= 128:
            return str(size)
    return "16" if programs * value_width // 32 < 64 else "32"
