"""Inputs for kernel tests, drawn at random but small."""

from __future__ import annotations

from typing import Any

import torch


def error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative L2 error; NaN when a NaN is left."""
    actual, expected = actual.double(), expected.double()
    return ((actual - expected).norm() / expected.norm().clamp_min(1e-30)).item()


def prefill(
    batch=1,
    tokens=70,
    heads=1,
    value_heads=1,
    width=32,
    value_width=32,
    offsets=None,
    dtype=torch.float32,
    gated=True,
    normalized=True,
    raw_beta=False,
    strength=2.0,
    lower_bound=None,
    padding=False,
    extra=0,
) -> dict[str, Any]:
    """Keyword arguments of chunk_kda. Without a gate every seventh token forgets everything."""
    q, k = (torch.randn(batch, tokens, heads, width) for _ in range(2))
    if not normalized:
        q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
    g = torch.randn(batch, tokens + extra, value_heads, width) * strength
    if not gated:
        g = -g.abs()
        g[:, ::7] *= 100
    sequences = batch if offsets is None else len(offsets) - 1
    slots = torch.randperm(sequences + 2)[:sequences].int()
    if padding:
        slots[-1] = -1
    beta = torch.randn(batch, tokens + extra, value_heads)
    return {
        "q": q.to(dtype),
        "k": k.to(dtype),
        "v": torch.randn(batch, tokens, value_heads, value_width).to(dtype),
        "g": g.to(dtype),
        "beta": beta if raw_beta else beta.sigmoid(),
        "scale": width**-0.5,
        "initial_state": torch.randn(sequences + 2, value_heads, value_width, width) * 0.3,
        "initial_state_indices": slots,
        "use_qk_l2norm_in_kernel": normalized,
        "cu_seqlens": None if offsets is None else torch.tensor(offsets, dtype=torch.int32),
        "A_log": torch.rand(value_heads) * 2 if gated else None,
        "dt_bias": torch.randn(value_heads * width) * 0.1 if gated else None,
        "lower_bound": lower_bound,
        "output_intermediate_states": False,
        "track_state": None,
        "track_chunk_idx": None,
        "beta_is_raw": raw_beta,
    }


def copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in arguments.items()}


def decode(
    rows=4,
    heads=2,
    value_heads=2,
    width=32,
    value_width=64,
    dtype=torch.float32,
    state=torch.float32,
) -> dict[str, Any]:
    """Keyword arguments of packed_decode, one row of them padding; out is poisoned."""
    slots = torch.randperm(rows + 2)[:rows].int()
    slots[1] = -1
    return {
        "mixed_qkv": torch.randn(rows, 2 * heads * width + value_heads * value_width).to(dtype),
        "a": torch.randn(rows, value_heads * width).to(dtype),
        "b": torch.randn(rows, value_heads).to(dtype),
        "A_log": torch.rand(value_heads),
        "dt_bias": torch.randn(value_heads * width) * 0.1,
        "scale": width**-0.5,
        "initial_state": torch.randn(rows + 2, value_heads, value_width, width).to(state),
        "out": torch.full((rows, 1, value_heads, value_width), float("nan"), dtype=dtype),
        "ssm_state_indices": slots,
    }


def replay(length=4, **options) -> dict[str, Any]:
    """Keyword arguments of replayssm_decode, every fill of the ring among the rows."""
    call = decode(**options)
    slots, value_heads, value_width, width = call["initial_state"].shape
    dtype = call["out"].dtype
    heads = (call["mixed_qkv"].shape[1] - value_heads * value_width) // 2 // width
    rows = call["out"].shape[0]
    keys = torch.nn.functional.normalize(torch.randn(slots, heads, length, width), dim=-1)
    return call | {
        "d_cache": torch.randn(slots, value_heads, length, value_width).to(dtype),
        "k_cache": keys.to(dtype),
        "g_cache": -torch.rand(slots, value_heads, length, width),
        "write_pos": (torch.arange(rows) % length).int(),
    }


def candidates(
    heads=1, value_heads=2, width=32, value_width=32, dtype=torch.float32, tree=False
) -> dict[str, Any]:
    """Keyword arguments of verify: five sequences of four steps and less, one empty, one padding, one without a snapshot."""
    offsets = [0, 4, 4, 5, 8, 9]
    tokens, sequences, steps = offsets[-1], 5, 4
    return {
        "q": torch.randn(1, tokens, heads, width).to(dtype),
        "k": torch.randn(1, tokens, heads, width).to(dtype),
        "v": torch.randn(1, tokens, value_heads, value_width).to(dtype),
        "a": torch.randn(tokens, value_heads * width).to(dtype),
        "b": torch.randn(tokens, value_heads).to(dtype),
        "A_log": torch.rand(value_heads),
        "dt_bias": torch.randn(value_heads * width) * 0.1,
        "ssm_states": torch.randn(6, value_heads, value_width, width),
        "cache_indices": torch.tensor([0, 1, -1, 2, 3], dtype=torch.int32),
        "query_start_loc": torch.tensor(offsets, dtype=torch.int32),
        "intermediate_states_buffer": torch.zeros(
            sequences, steps, value_heads, value_width, width
        ),
        "intermediate_state_indices": torch.tensor([4, 0, 1, -1, 2], dtype=torch.int32),
        "cache_steps": steps,
        "retrieve_parent_token": torch.tensor([[0, 0, 0, 1]] * sequences, dtype=torch.int32)
        if tree
        else None,
        "lower_bound": None,
    }
