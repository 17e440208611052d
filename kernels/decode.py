"""Decode steps and verification of candidates."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .launch import kernel


def _variant(name: str, state: Tensor, programs: int) -> str:
    """Regime of a launch: state width and how far B * HV is from filling the chip."""
    size = "few" if programs < 256 else "some" if programs < 1024 else "many"
    return f"{'wide' if state.element_size() > 2 else 'narrow'}-{size}"


def launch_packed_decode(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    scale: float,
    initial_state: Tensor,
    out: Tensor,
    ssm_state_indices: Tensor,
    normalize: bool,
    lower_bound: float | None,
) -> None:
    """Launch on any device that Helion serves, its interpreter included."""
    programs = mixed_qkv.shape[0] * initial_state.shape[1]
    if programs == 0:
        return
    kernel(
        "decode_device", "packed_decode", out, _variant("packed", initial_state, programs)
    )(
        mixed_qkv,
        a,
        b,
        A_log,
        dt_bias,
        initial_state,
        ssm_state_indices,
        out.squeeze(1),
        scale,
        0.0 if lower_bound is None else lower_bound,
        normalize,
        lower_bound is not None,
    )


def launch_replayssm_decode(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    scale: float,
    initial_state: Tensor,
    d_cache: Tensor,
    k_cache: Tensor,
    g_cache: Tensor,
    out: Tensor,
    ssm_state_indices: Tensor,
    write_pos: Tensor,
    force_flush: Tensor | None,
    normalize: bool,
    lower_bound: float | None,
) -> None:
    """Launch on any device that Helion serves, its interpreter included."""
    rows = mixed_qkv.shape[0]
    programs = rows * initial_state.shape[1]
    if programs == 0:
        return
    kernel(
        "decode_device", "replayssm_decode", out, _variant("replay", initial_state, programs)
    )(
        mixed_qkv,
        a.view(rows, -1),
        b,
        A_log,
        dt_bias.view(-1),
        initial_state,
        d_cache,
        k_cache,
        g_cache,
        ssm_state_indices,
        write_pos,
        force_flush,
        out.squeeze(1),
        scale,
        0.0 if lower_bound is None else lower_bound,
        normalize,
        lower_bound is not None,
        force_flush is not None,
    )


def launch_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    ssm_states: Tensor,
    cache_indices: Tensor,
    query_start_loc: Tensor,
    intermediate_states_buffer: Tensor,
    intermediate_state_indices: Tensor,
    cache_steps: int,
    retrieve_parent_token: Tensor | None,
    lower_bound: float | None,
) -> Tensor:
    """Launch on any device that Helion serves, its interpreter included."""
    tokens, _, width = q.shape[1:]
    value_heads = v.shape[2]
    sequences = cache_indices.shape[0]
    out = torch.zeros_like(v, memory_format=torch.contiguous_format)
    if tokens == 0 or sequences == 0:
        return out
    buffer = intermediate_states_buffer
    places, steps = buffer.shape[:2]
    unit = math.gcd(buffer.stride(0), buffer.stride(1)) or 1
    strides = buffer.stride(0) // unit, buffer.stride(1) // unit
    rows = (places - 1) * strides[0] + (steps - 1) * strides[1] + 1
    snapshots = buffer.as_strided((rows, *buffer.shape[2:]), (unit, *buffer.stride()[2:]))
    kernel("decode_device", "verify", q)(
        q[0],
        k[0],
        v[0],
        a.reshape(tokens, value_heads, width),
        b.reshape(tokens, value_heads),
        A_log.reshape(-1),
        dt_bias.reshape(value_heads, width),
        ssm_states,
        cache_indices,
        query_start_loc,
        snapshots,
        intermediate_state_indices,
        retrieve_parent_token,
        out[0],
        width**-0.5,
        0.0 if lower_bound is None else lower_bound,
        sequences,
        cache_steps,
        tokens,
        *strides,
        lower_bound is not None,
        retrieve_parent_token is not None,
    )
    return out
