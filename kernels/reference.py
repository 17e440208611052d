"""Kimi Delta Attention in plain PyTorch: the mathematics that the Helion kernels must reproduce.

For one head with key width K and value width V the state ``S`` is a ``[V, K]`` matrix. A token brings a query ``q``, a key
``k``, a value ``v``, a log decay ``g <= 0`` per key channel and a write strength ``beta``::

    S  <- S diag(exp(g))                        forget, channel by channel
    d   = beta (v - S k)                        what the key does not yet recall
    S  <- S + d k^T                             write it (the delta rule)
    o   = S (scale q)                           read

The gate that yields ``g`` from a raw projection is ``-exp(A_log) softplus(raw + dt_bias)`` or, bounded from below,
``lower_bound sigmoid(exp(A_log) (raw + dt_bias))``.

The chunked form unrolls C tokens. With ``G`` the running sum of ``g`` inside the chunk and ``S`` the state before it::

    L[t, s] = beta_t sum_c k_t[c] k_s[c] exp(G_t[c] - G_s[c])         s < t
    D       = (I + L)^-1 diag(beta) (V - (K exp(G)) S^T)              the d of all its tokens
    O       = scale (Q exp(G)) S^T + P D                              P as L, with scale q_t for beta_t k_t and s <= t
    S'      = S diag(exp(G_C)) + D^T (K exp(G_C - G))

Every exponent is at most zero, so no decay, however strong, overflows. Source: Kimi Linear (Kimi Team, 2025,
arXiv:2510.26692), sections 3 and 4; the delta rule over sequences follows Yang et al., 2024 (arXiv:2406.06484), the gated one
Yang et al., 2024 (arXiv:2412.06464); the replayed form of decode is the recurrence with S written out as ``S_0`` decayed
plus the rank-one writes since.

The functions compute in ``dtype`` (float32 unless told, float64 for judging others) and follow the argument, mutation and
padding contracts of the kernels: a negative slot reads as a zero state and is never written.
"""

from __future__ import annotations

import itertools
from typing import Literal, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

CHUNK = 64
NORM_EPSILON = 1e-6


def l2_normalized(x: Float[Tensor, "*rows K"]) -> Float[Tensor, "*rows K"]:
    """``x / sqrt(sum(x^2) + 1e-6)`` over the last axis."""
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) + NORM_EPSILON)


def log_decay(
    g: Float[Tensor, "*rows HV K"],
    A_log: Float[Tensor, "HV"] | None,
    dt_bias: Float[Tensor, "HV*K"] | None,
    lower_bound: float | None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*rows HV K"]:
    """The natural logarithm of the per-channel decay. Without ``A_log``, ``g`` already is that."""
    g = g.to(dtype)
    if A_log is None:
        return g
    if dt_bias is not None:
        g = g + dt_bias.to(dtype).reshape(g.shape[-2:])
    rate = A_log.to(dtype).reshape(-1, 1).exp()
    if lower_bound is not None:
        return lower_bound * torch.sigmoid(rate * g)
    return -rate * torch.nn.functional.softplus(g)


def recurrent(
    q: Float[Tensor, "T HV K"],
    k: Float[Tensor, "T HV K"],
    v: Float[Tensor, "T HV V"],
    g: Float[Tensor, "T HV K"],
    beta: Float[Tensor, "T HV"],
    scale: float,
    state: Float[Tensor, "HV V K"],
) -> tuple[Float[Tensor, "T HV V"], Float[Tensor, "HV V K"]]:
    """One sequence, token by token; ``g`` is a log decay. Returns outputs and the final state."""
    outputs = []
    for t in range(q.shape[0]):
        state = state * g[t].exp()[:, None, :]
        recalled = torch.einsum("hvk,hk->hv", state, k[t])
        write = beta[t][:, None] * (v[t] - recalled)
        state = state + write[:, :, None] * k[t][:, None, :]
        outputs.append(torch.einsum("hvk,hk->hv", state, q[t]) * scale)
    return (torch.stack(outputs) if outputs else v.new_zeros(v.shape)), state


def chunked(
    q: Float[Tensor, "T HV K"],
    k: Float[Tensor, "T HV K"],
    v: Float[Tensor, "T HV V"],
    g: Float[Tensor, "T HV K"],
    beta: Float[Tensor, "T HV"],
    scale: float,
    state: Float[Tensor, "HV V K"],
    chunk: int = CHUNK,
) -> tuple[Float[Tensor, "T HV V"], Float[Tensor, "HV V K"], Float[Tensor, "C HV V K"]]:
    """One sequence in chunks, differentiable in every tensor; ``g`` is a log decay.

    Returns outputs, the final state, and the state before each chunk.
    """
    outputs, befores = [], []
    for begin in range(0, q.shape[0], chunk):
        part = slice(begin, begin + chunk)
        # Heads first: [HV, C, ...].
        qc, kc, vc, gc = (x[part].transpose(0, 1) for x in (q, k, v, g))
        bc = beta[part].transpose(0, 1).unsqueeze(-1)
        total = gc.cumsum(1)
        size = total.shape[1]
        lower = torch.ones(size, size, dtype=torch.bool, device=q.device).tril()
        # Masking the exponent, not its exponential, keeps the gradient of the other half finite.
        between = (total[:, :, None] - total[:, None]).masked_fill(~lower[..., None], -torch.inf)
        pair = between.exp()
        keys = torch.einsum("htc,hsc,htsc->hts", kc, kc, pair)
        reads = torch.einsum("htc,hsc,htsc->hts", qc, kc, pair) * scale
        befores.append(state)
        residual = bc * (vc - (kc * total.exp()) @ state.mT)
        system = torch.eye(size, dtype=q.dtype, device=q.device) + (bc * keys).tril(-1)
        writes = torch.linalg.solve_triangular(system, residual, upper=False, unitriangular=True)
        outputs.append(((qc * total.exp() * scale) @ state.mT + reads @ writes).transpose(0, 1))
        last = total[:, -1:]
        state = state * last.exp() + writes.mT @ (kc * (last - total).exp())
    if not outputs:
        return v.new_zeros(v.shape), state, state.new_zeros(0, *state.shape)
    return torch.cat(outputs), state, torch.stack(befores)


def _spread(x: Tensor, value_heads: int) -> Tensor:
    """Repeat key heads so that each value head has its own: value head i reads key head i // (HV // H)."""
    return x.repeat_interleave(value_heads // x.shape[-2], -2)


@overload
def chunk_kda(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
    initial_state: Tensor | None = None, initial_state_indices: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Tensor | None = None, A_log: Tensor | None = None,
    dt_bias: Tensor | None = None, lower_bound: float | None = None,
    output_intermediate_states: Literal[False] = False, track_state: Tensor | None = None,
    track_chunk_idx: Tensor | None = None, beta_is_raw: bool = False, *,
    dtype: torch.dtype = torch.float32, token_by_token: bool = False,
) -> Tensor: ...  # fmt: skip
@overload
def chunk_kda(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: float | None = None,
    initial_state: Tensor | None = None, initial_state_indices: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Tensor | None = None, A_log: Tensor | None = None,
    dt_bias: Tensor | None = None, lower_bound: float | None = None, *,
    output_intermediate_states: Literal[True], track_state: Tensor | None = None,
    track_chunk_idx: Tensor | None = None, beta_is_raw: bool = False,
    dtype: torch.dtype = torch.float32, token_by_token: bool = False,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def chunk_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B TG HV K"],
    beta: Float[Tensor, "B TG HV"],
    scale: float | None = None,
    initial_state: Float[Tensor, "slots HV V K"] | None = None,
    initial_state_indices: Int[Tensor, "N"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    A_log: Float[Tensor, "HV"] | None = None,
    dt_bias: Float[Tensor, "HV*K"] | None = None,
    lower_bound: float | None = None,
    output_intermediate_states: bool = False,
    track_state: Float[Tensor, "N HV V K"] | None = None,
    track_chunk_idx: Int[Tensor, "N"] | None = None,
    beta_is_raw: bool = False,
    *,
    dtype: torch.dtype = torch.float32,
    token_by_token: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The prefill contract of `kdacheck.kernels.chunk_kda`, on any device.

    ``token_by_token`` takes the recurrence instead of the chunked form (and then gives no intermediate states).
    The result has v's dtype, or ``dtype`` when that is float64.
    """
    batch, tokens, _, width = q.shape
    value_heads = v.shape[2]
    factor: float = width**-0.5 if scale is None else scale
    kind = torch.float64 if dtype == torch.float64 else v.dtype
    q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalized(q), l2_normalized(k)
    q, k = _spread(q, value_heads), _spread(k, value_heads)
    decay = log_decay(g[:, :tokens], A_log, dt_bias, lower_bound, dtype)
    beta = beta[:, :tokens].to(dtype)
    if beta_is_raw:
        beta = beta.sigmoid()

    if cu_seqlens is None:
        spans = [(b, 0, tokens) for b in range(batch)]
        rows = -(-tokens // CHUNK) * batch
    else:
        offsets = cu_seqlens.tolist()
        spans = [(0, begin, end) for begin, end in itertools.pairwise(offsets)]
        rows = tokens // CHUNK + len(spans)
    slots = list(range(len(spans)))
    if initial_state_indices is not None:
        slots = initial_state_indices.tolist()
    tracked = [-1] * len(spans) if track_chunk_idx is None else track_chunk_idx.tolist()

    out = torch.zeros_like(v)
    states = torch.zeros(rows, value_heads, v.shape[-1], width, dtype=kind, device=q.device)
    row = 0
    for n, (b, begin, end) in enumerate(spans):
        pool = initial_state if slots[n] >= 0 else None
        state = v.new_zeros(value_heads, v.shape[-1], width)
        if pool is not None:
            state = pool[slots[n]].to(dtype)
        span = slice(begin, end)
        part = (q[b, span], k[b, span], v[b, span], decay[b, span], beta[b, span])
        if token_by_token:
            out[b, begin:end], state = recurrent(*part, factor, state)
        else:
            out[b, begin:end], state, befores = chunked(*part, factor, state)
            if output_intermediate_states:
                states[row : row + len(befores)] = befores.to(kind)
            if track_state is not None and 0 <= tracked[n] < len(befores):
                track_state[n] = befores[tracked[n]].to(track_state.dtype)
            row += len(befores)
        if pool is not None:
            pool[slots[n]] = state.to(pool.dtype)
    if output_intermediate_states:
        groups = batch if cu_seqlens is None else 1
        return out.to(kind), states.view(groups, rows // groups, *states.shape[1:])
    return out.to(kind)


def split_packed(
    mixed_qkv: Float[Tensor, "B W"], value_heads: int, value_width: int, key_width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries [B, H, K], keys [B, H, K] and values [B, HV, V] of one row ``[q | k | v]`` per token."""
    rows = mixed_qkv.shape[0]
    keys = (mixed_qkv.shape[1] - value_heads * value_width) // 2
    q, k, v = mixed_qkv.split([keys, keys, value_heads * value_width], -1)
    return (
        q.reshape(rows, -1, key_width),
        k.reshape(rows, -1, key_width),
        v.reshape(rows, value_heads, value_width),
    )


def _step(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    initial_state: Tensor,
    normalize: bool,
    lower_bound: float | None,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """q, k (one per key head), v, log decay and beta of one decode step, activated."""
    _, value_heads, value_width, key_width = initial_state.shape
    q, k, v = split_packed(mixed_qkv.to(dtype), value_heads, value_width, key_width)
    if normalize:
        q, k = l2_normalized(q), l2_normalized(k)
    decay = log_decay(a.reshape(-1, value_heads, key_width), A_log, dt_bias, lower_bound, dtype)
    return q, k, v, decay, b.to(dtype).sigmoid()


def packed_decode(
    mixed_qkv: Float[Tensor, "B W"],
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
    *,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """The contract of `kdacheck.kernels.packed_decode`, on any device."""
    value_heads = initial_state.shape[1]
    q, k, v, decay, beta = _step(
        mixed_qkv, a, b, A_log, dt_bias, initial_state, use_qk_l2norm_in_kernel, lower_bound, dtype
    )
    q, k = _spread(q, value_heads), _spread(k, value_heads)
    for row, slot in enumerate(ssm_state_indices.tolist()):
        if slot < 0:
            out[row] = 0
            continue
        one = slice(row, row + 1)
        result, state = recurrent(
            q[one], k[one], v[one], decay[one], beta[one], scale, initial_state[slot].to(dtype)
        )
        out[row] = result.to(out.dtype)
        initial_state[slot] = state.to(initial_state.dtype)
    return out, initial_state


def replayssm_decode(
    mixed_qkv: Float[Tensor, "B W"],
    a: Float[Tensor, "B HV*K"] | Float[Tensor, "B HV K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"] | Float[Tensor, "HV K"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    d_cache: Float[Tensor, "slots HV L V"],
    k_cache: Float[Tensor, "slots H L K"],
    g_cache: Float[Tensor, "slots HV L K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    write_pos: Int[Tensor, "B"],
    force_flush: Int[Tensor, "B"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    lower_bound: float | None = None,
    *,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """The contract of `kdacheck.kernels.replayssm_decode`, on any device: the state is rebuilt, then stepped."""
    value_heads, length = initial_state.shape[1], d_cache.shape[2]
    q, k, v, decay, beta = _step(
        mixed_qkv, a, b, A_log, dt_bias, initial_state, use_qk_l2norm_in_kernel, lower_bound, dtype
    )
    keys = _spread(k, value_heads)
    queries = _spread(q, value_heads)
    positions = write_pos.tolist()
    flushes = [p == length - 1 for p in positions]
    if force_flush is not None:
        flushes = [x or y != 0 for x, y in zip(flushes, force_flush.tolist(), strict=True)]
    for row, slot in enumerate(ssm_state_indices.tolist()):
        if slot < 0:
            out[row] = 0
            continue
        state = initial_state[slot].to(dtype)
        for past in range(positions[row]):
            old_key = _spread(k_cache[slot, :, past].to(dtype), value_heads)
            state = state * g_cache[slot, :, past].to(dtype).exp()[:, None, :]
            state = state + d_cache[slot, :, past].to(dtype)[:, :, None] * old_key[:, None, :]
        state = state * decay[row].exp()[:, None, :]
        recalled = torch.einsum("hvk,hk->hv", state, keys[row])
        write = beta[row][:, None] * (v[row] - recalled)
        state = state + write[:, :, None] * keys[row][:, None, :]
        out[row, 0] = (torch.einsum("hvk,hk->hv", state, queries[row]) * scale).to(out.dtype)
        if flushes[row]:
            initial_state[slot] = state.to(initial_state.dtype)
        else:
            d_cache[slot, :, positions[row]] = write.to(d_cache.dtype)
            k_cache[slot, :, positions[row]] = k[row].to(k_cache.dtype)
            g_cache[slot, :, positions[row]] = decay[row].to(g_cache.dtype)
    return out, initial_state


def verify(
    *,
    q: Float[Tensor, "1 T H K"],
    k: Float[Tensor, "1 T H K"],
    v: Float[Tensor, "1 T HV V"],
    a: Float[Tensor, "*rows"],
    b: Float[Tensor, "*cols"],
    A_log: Float[Tensor, "*heads"],
    dt_bias: Float[Tensor, "*channels"],
    ssm_states: Float[Tensor, "slots HV V K"],
    cache_indices: Int[Tensor, "N"],
    query_start_loc: Int[Tensor, "N+1"],
    intermediate_states_buffer: Float[Tensor, "scratch steps HV V K"],
    intermediate_state_indices: Int[Tensor, "N"],
    cache_steps: int,
    retrieve_parent_token: Int[Tensor, "N steps"] | None = None,
    lower_bound: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "1 T HV V"]:
    """The contract of `kdacheck.kernels.verify`, on any device."""
    tokens, _, width = q.shape[1:]
    value_heads, value_width = v.shape[2:]
    scale = width**-0.5
    queries = _spread(l2_normalized(q[0].to(dtype)), value_heads)
    keys = _spread(l2_normalized(k[0].to(dtype)), value_heads)
    values = v[0].to(dtype)
    decay = log_decay(
        a.reshape(tokens, value_heads, width), A_log.reshape(-1), dt_bias, lower_bound, dtype
    )
    beta = b.reshape(tokens, value_heads).to(dtype).sigmoid()
    out = torch.zeros_like(v)
    offsets = query_start_loc.tolist()
    for n, (slot, scratch) in enumerate(
        zip(cache_indices.tolist(), intermediate_state_indices.tolist(), strict=True)
    ):
        state = values.new_zeros(value_heads, value_width, width)
        if slot >= 0:
            state = ssm_states[slot].to(dtype)
        for step, token in enumerate(range(offsets[n], offsets[n + 1])):
            if retrieve_parent_token is not None and step > 0 and scratch >= 0:
                parent = int(retrieve_parent_token[n, step])
                state = intermediate_states_buffer[scratch, parent].to(dtype)
            one = slice(token, token + 1)
            result, state = recurrent(
                queries[one], keys[one], values[one], decay[one], beta[one], scale, state
            )
            out[0, token] = result[0].to(out.dtype)
            if scratch >= 0:
                intermediate_states_buffer[scratch, step] = state.to(
                    intermediate_states_buffer.dtype
                )
    return out
