"""Helion kernels of one decode step and of verification. The mathematics is in `reference`.

A decode step needs the state twice, against the key and against the query. Both are read off the old state at once::

    S' k = S (exp(g) k)        o = S (exp(g) q) + d (k . q)        d = beta (v - S' k)

so that the state crosses the registers in one pass. ReplaySSM keeps the last writes d_l with their keys and decays beside a
state S_0 that is rewritten only when the ring is full. Its state need not be rebuilt to be read: with W_l the decay since
write l and W_0 that since S_0::

    S k = S_0 (W_0 k) + sum_l d_l (W_l k_l . k)

one pass over S_0 again, and a few scalars.

The decode kernels see the K channels as P parts of 32: a tile of state is [V, P, 32], whose last axis fills only some lanes
of a warp and leaves the rest to V. A sum over channels is then mostly within a thread; over [V, K] tiles every row would
need five shuffles.
"""

from __future__ import annotations

import helion
import helion.language as hl
import torch


def _log_decay(
    raw: torch.Tensor, A_log: torch.Tensor, lower_bound: float, bounded: bool
) -> torch.Tensor:
    rate = torch.exp(A_log)
    if bounded:
        return lower_bound * torch.sigmoid(rate * raw)
    return -rate * torch.where(raw > 20.0, raw, torch.log(1.0 + torch.exp(raw)))


def packed_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    pool: torch.Tensor,
    slots: torch.Tensor,
    out: torch.Tensor,
    scale: float,
    lower_bound: float,
    slot_rows: int,
    head_rows: int,
    part_rows: int,
    normalize: hl.constexpr,
    bounded: hl.constexpr,
) -> None:
    """One token per row: out [B, HV, V], and the state of its slot in place; a negative slot gives zeros.

    Channels come as [P, 32]: q, k [B, H, P, 32], a [B, HV, P, 32], dt_bias [HV, P, 32]. Part p of value row j of (slot, hv) is
    ``pool[j, slot * slot_rows + hv * head_rows + p * part_rows]``: Helion takes one index tensor.
    """
    H = hl.specialize(q.size(1))
    HV = hl.specialize(v.size(1))
    V = hl.specialize(v.size(2))
    P = hl.specialize(q.size(2))
    hl.specialize(q.size(3))
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([q.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        slot = slots[row].to(torch.int64)
        # What does not wait for the slot is loaded before it is known.
        query = q[row, h, :, :].float()
        key = k[row, h, :, :].float()
        raw = a[row, hv, :, :].float() + dt_bias[hv, :, :].float()
        decay = torch.exp(_log_decay(raw, A_log[hv].float(), lower_bound, bounded))
        beta = torch.sigmoid(b[row, hv].float())
        if normalize:
            query = query * torch.rsqrt((query * query).sum(-1).sum(-1) + 1e-6)
            key = key * torch.rsqrt((key * key).sum(-1).sum(-1) + 1e-6)
        query = query * scale
        own = (key * query).sum(-1).sum(-1)
        faded_key = decay * key
        faded_query = decay * query
        if slot >= 0:
            parts = slot * slot_rows + hv * head_rows + hl.arange(P) * part_rows
            for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                state = pool[tile_v, parts, :].float()
                recalled = (state * faded_key[None, :, :]).sum(1).sum(-1)
                read = (state * faded_query[None, :, :]).sum(1).sum(-1)
                write = beta * (v[row, hv, tile_v].float() - recalled)
                out[row, hv, tile_v] = (read + write * own).to(out.dtype)
                state = state * decay[None, :, :] + write[:, None, None] * key[None, :, :]
                pool[tile_v, parts, :] = state.to(pool.dtype)
        else:
            out[row, hv, tile_span] = hl.zeros([tile_span], dtype=out.dtype)


def replayssm_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    pool: torch.Tensor,
    d_cache: torch.Tensor,
    k_cache: torch.Tensor,
    g_cache: torch.Tensor,
    slots: torch.Tensor,
    write_pos: torch.Tensor,
    force_flush: torch.Tensor | None,
    out: torch.Tensor,
    scale: float,
    lower_bound: float,
    slot_rows: int,
    head_rows: int,
    part_rows: int,
    normalize: hl.constexpr,
    bounded: hl.constexpr,
    forced: hl.constexpr,
) -> None:
    """One token per row against a ring of past writes; a full ring, or force_flush, folds them into the state.

    Channels and pool come as in `packed_decode`.
    """
    H = hl.specialize(q.size(1))
    HV = hl.specialize(v.size(1))
    V = hl.specialize(v.size(2))
    P = hl.specialize(q.size(2))
    Q = hl.specialize(q.size(3))
    L = hl.specialize(d_cache.size(2))
    ring = helion.next_power_of_2(L)
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([q.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        channel = hl.arange(P * Q)
        past = hl.arange(ring)
        slot = slots[row].to(torch.int64)
        filled = write_pos[row].to(torch.int32)
        query = q[row, h, :, :].float()
        key = k[row, h, :, :].float()
        raw = a[row, hv, :, :].float() + dt_bias[hv, :, :].float()
        gate = _log_decay(raw, A_log[hv].float(), lower_bound, bounded)
        beta = torch.sigmoid(b[row, hv].float())
        if normalize:
            query = query * torch.rsqrt((query * query).sum(-1).sum(-1) + 1e-6)
            key = key * torch.rsqrt((key * key).sum(-1).sum(-1) + 1e-6)
        query = query * scale
        own = (key * query).sum(-1).sum(-1)
        flush = filled == L - 1
        if forced:
            flush = flush | (force_flush[row] != 0)
        if slot >= 0:
            parts = slot * slot_rows + hv * head_rows + hl.arange(P) * part_rows
            held = (past < filled)[:, None]
            old_g = hl.load(g_cache, [slot, hv, past, channel], extra_mask=held)
            old_g = old_g.float().reshape(ring, P, Q)
            old_k = hl.load(k_cache, [slot, h, past, channel], extra_mask=held)
            old_k = old_k.float().reshape(ring, P, Q)
            total = old_g.sum(0) + gate
            # min: the rounding of a running sum must not let an old write grow.
            since = torch.clamp_max(total[None, :, :] - torch.cumsum(old_g, 0), 0.0)
            aged = old_k * torch.exp(since)
            kept = torch.exp(total)
            met_key = (aged * key[None, :, :]).sum(-1).sum(-1)
            met_query = (aged * query[None, :, :]).sum(-1).sum(-1)
            kept_key = kept * key
            kept_query = kept * query
            if flush == 0:
                if tile_span.begin == 0:
                    g_cache[slot, hv, filled, :] = gate.reshape(P * Q)
                    if hv % (HV // H) == 0:
                        k_cache[slot, h, filled, :] = key.reshape(P * Q).to(k_cache.dtype)
            for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                state = pool[tile_v, parts, :].float()
                # The reshape does nothing on the chip; the interpreter keeps an axis for slot.
                old_d = hl.load(d_cache, [slot, hv, past, tile_v.index], extra_mask=held)
                old_d = old_d.float().reshape(ring, tile_v.block_size)
                recalled = (state * kept_key[None, :, :]).sum(1).sum(-1)
                recalled = recalled + (old_d * met_key[:, None]).sum(0)
                read = (state * kept_query[None, :, :]).sum(1).sum(-1)
                read = read + (old_d * met_query[:, None]).sum(0)
                write = beta * (v[row, hv, tile_v].float() - recalled)
                out[row, hv, tile_v] = (read + write * own).to(out.dtype)
                if flush:
                    state = state * kept[None, :, :] + write[:, None, None] * key[None, :, :]
                    left = total
                    for step in range(filled):
                        left = left - g_cache[slot, hv, step, :].float().reshape(P, Q)
                        rank_one = k_cache[slot, h, step, :].float().reshape(P, Q)
                        rank_one = rank_one * torch.exp(torch.clamp_max(left, 0.0))
                        old = d_cache[slot, hv, step, tile_v].float()
                        state = state + old[:, None, None] * rank_one[None, :, :]
                    pool[tile_v, parts, :] = state.to(pool.dtype)
                else:
                    d_cache[slot, hv, filled, tile_v] = write.to(d_cache.dtype)
        else:
            out[row, hv, tile_span] = hl.zeros([tile_span], dtype=out.dtype)


def verify(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    pool: torch.Tensor,
    slots: torch.Tensor,
    offsets: torch.Tensor,
    snapshots: torch.Tensor,
    places: torch.Tensor,
    parents: torch.Tensor | None,
    out: torch.Tensor,
    scale: float,
    lower_bound: float,
    sequences: int,
    steps: int,
    length: int,
    place_stride: int,
    step_stride: int,
    bounded: hl.constexpr,
    tree: hl.constexpr,
) -> None:
    """Candidate tokens of each sequence from its committed state, a snapshot of the state after each.

    Snapshot (place, step) is row ``place * place_stride + step * step_stride`` of ``snapshots``: Helion takes one index tensor.
    """
    H = hl.specialize(q.size(1))
    HV = hl.specialize(v.size(1))
    K = hl.specialize(q.size(2))
    V = hl.specialize(v.size(2))
    block_v = hl.register_block_size(1, V)
    for tile_n, tile_head, tile_v in hl.tile([sequences, HV, V], block_size=[1, 1, block_v]):
        n = tile_n.id
        hv = tile_head.id
        h = hv // (HV // H)
        slot = slots[n].to(torch.int64)
        place = places[n].to(torch.int64)
        begin = torch.clamp_min(offsets[n].to(torch.int32), 0)
        end = torch.clamp_max(offsets[n + 1].to(torch.int32), length)
        # A snapshot past the buffer would belong to somebody else.
        end = torch.minimum(end, begin + steps)
        committed = pool[torch.clamp_min(slot, 0), hv, tile_v, :].float()
        state = torch.where(slot >= 0, committed, 0.0)
        rate = A_log[hv].float()
        bias = dt_bias[hv, :].float()
        for step in range(end - begin):
            token = begin + step
            if tree:
                parent = torch.clamp_min(parents[n, step].to(torch.int64), 0)
                source = torch.clamp_min(place, 0) * place_stride + parent * step_stride
                earlier = snapshots[source, hv, tile_v, :].float()
                state = torch.where((place >= 0) & (step > 0), earlier, state)
            query = q[token, h, :].float()
            key = k[token, h, :].float()
            query = query * (scale * torch.rsqrt((query * query).sum(-1) + 1e-6))
            key = key * torch.rsqrt((key * key).sum(-1) + 1e-6)
            decay = torch.exp(
                _log_decay(a[token, hv, :].float() + bias, rate, lower_bound, bounded)
            )
            beta = torch.sigmoid(b[token, hv].float())
            state = state * decay[None, :]
            recalled = (state * key[None, :]).sum(-1)
            write = beta * (v[token, hv, tile_v].float() - recalled)
            state = state + write[:, None] * key[None, :]
            out[token, hv, tile_v] = (state * query[None, :]).sum(-1).to(out.dtype)
            if place >= 0:
                target = place * place_stride + step * step_stride
                snapshots[target, hv, tile_v, :] = state.to(snapshots.dtype)
