"""Helion kernels of one decode step and of verification. The mathematics is in `reference`.

A decode step needs the state twice, against the key and against the query. Both are read off the old state at once::

    S' k = S (exp(g) k)        o = S (exp(g) q) + d (k . q)        d = beta (v - S' k)

so that the state crosses the registers in one pass. ReplaySSM keeps the last writes d_l with their keys and decays beside a
state S_0 that is rewritten only when the ring is full. Its state need not be rebuilt to be read: with W_l the decay since
write l and W_0 that since S_0::

    S k = S_0 (W_0 k) + sum_l d_l (W_l k_l . k)

one pass over S_0 again, and a few scalars.

Helion traces through a plain function: that may load and compute, but only a kernel's own body may loop or branch on what it
loaded, which is why the ReplaySSM bodies repeat the walk of the ring.
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


def _gate(
    a: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    row: int,
    hv: int,
    key: torch.Tensor,
    lower_bound: float,
    bounded: bool,
) -> torch.Tensor:
    """Log decay [K] of a row's token in a value head; ``key`` counts the channels of a head."""
    channel = hv * key.size(0) + key
    raw = hl.load(a, [row, channel]).float()
    raw = raw + hl.load(dt_bias, [channel]).float()
    return _log_decay(raw, hl.load(A_log, [hv]).float(), lower_bound, bounded)


def _directions(
    q: torch.Tensor, k: torch.Tensor, scale: float, normalize: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query and key as they meet the state, and their product."""
    if normalize:
        q = q * torch.rsqrt((q * q).sum(-1) + 1e-6)
        k = k * torch.rsqrt((k * k).sum(-1) + 1e-6)
    q = q * scale
    return q, k, (k * q).sum(-1)


def packed_decode(
    mixed: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    pool: torch.Tensor,
    slots: torch.Tensor,
    out: torch.Tensor,
    scale: float,
    lower_bound: float,
    normalize: hl.constexpr,
    bounded: hl.constexpr,
) -> None:
    """One token per row: out [B, 1, HV, V], and the state of its slot in place; a negative slot gives zeros."""
    HV = hl.specialize(pool.size(1))
    V = hl.specialize(pool.size(2))
    K = hl.specialize(pool.size(3))
    H = (hl.specialize(mixed.size(1)) - HV * V) // 2 // K
    # Strides are those of a model's layout: as constants they leave the argument list, and a launch is cheaper.
    hl.specialize((mixed.stride(), a.stride(), b.stride(), A_log.stride(), dt_bias.stride()))
    hl.specialize((pool.stride(), slots.stride(), out.stride()))
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([mixed.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        key = hl.arange(K)
        slot = slots[row].to(torch.int64)
        if slot >= 0:
            # Each tile of the state is asked for before the work on the one before it, the first before any.
            # The reshapes do nothing on the chip; the interpreter keeps an axis for slot.
            first = tile_span.begin + hl.arange(block_v)
            inside = (first < tile_span.end)[:, None]
            coming = hl.load(pool, [slot, hv, first, key], extra_mask=inside).reshape(block_v, K)
            q = hl.load(mixed, [row, h * K + key]).float()
            k = hl.load(mixed, [row, H * K + h * K + key]).float()
            decay = torch.exp(_gate(a, A_log, dt_bias, row, hv, key, lower_bound, bounded))
            beta = torch.sigmoid(b[row, hv].float())
            q, k, own = _directions(q, k, scale, normalize)
            faded_k = decay * k
            faded_q = decay * q
            for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                state = coming.float()
                v = hl.load(mixed, [row, 2 * H * K + hv * V + tile_v.index]).float()
                following = tile_v.end + hl.arange(block_v)
                inside = (following < tile_span.end)[:, None]
                coming = hl.load(pool, [slot, hv, following, key], extra_mask=inside)
                coming = coming.reshape(block_v, K)
                recalled = (state * faded_k[None, :]).sum(-1)
                read = (state * faded_q[None, :]).sum(-1)
                write = beta * (v - recalled)
                out[row, 0, hv, tile_v] = (read + write * own).to(out.dtype)
                state = state * decay[None, :] + write[:, None] * k[None, :]
                pool[slot, hv, tile_v, :] = state.to(pool.dtype)
        else:
            out[row, 0, hv, tile_span] = hl.zeros([tile_span], dtype=out.dtype)


def packed_decode_streamed(
    mixed: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    pool: torch.Tensor,
    slots: torch.Tensor,
    out: torch.Tensor,
    scale: float,
    lower_bound: float,
    normalize: hl.constexpr,
    bounded: hl.constexpr,
) -> None:
    """`packed_decode` whose tiles of the state pass through shared memory, several asked for ahead (``range_num_stages``)."""
    HV = hl.specialize(pool.size(1))
    V = hl.specialize(pool.size(2))
    K = hl.specialize(pool.size(3))
    H = (hl.specialize(mixed.size(1)) - HV * V) // 2 // K
    hl.specialize((mixed.stride(), a.stride(), b.stride(), A_log.stride(), dt_bias.stride()))
    hl.specialize((pool.stride(), slots.stride(), out.stride()))
    # Helion pipelines no loop over a name that it also assigns to; no tile is read after it is written.
    after = pool
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([mixed.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        key = hl.arange(K)
        slot = slots[row].to(torch.int64)
        q = hl.load(mixed, [row, h * K + key]).float()
        k = hl.load(mixed, [row, H * K + h * K + key]).float()
        decay = torch.exp(_gate(a, A_log, dt_bias, row, hv, key, lower_bound, bounded))
        beta = torch.sigmoid(b[row, hv].float())
        q, k, own = _directions(q, k, scale, normalize)
        faded_k = decay * k
        faded_q = decay * q
        if slot >= 0:
            for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                state = pool[slot, hv, tile_v, :].float()
                v = hl.load(mixed, [row, 2 * H * K + hv * V + tile_v.index]).float()
                recalled = (state * faded_k[None, :]).sum(-1)
                read = (state * faded_q[None, :]).sum(-1)
                write = beta * (v - recalled)
                hl.store(out, [row, 0, hv, tile_v], (read + write * own).to(out.dtype))
                state = state * decay[None, :] + write[:, None] * k[None, :]
                after[slot, hv, tile_v, :] = state.to(pool.dtype)
        else:
            hl.store(out, [row, 0, hv, tile_span], hl.zeros([tile_span], dtype=out.dtype))


def replayssm_decode(
    mixed: torch.Tensor,
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
    normalize: hl.constexpr,
    bounded: hl.constexpr,
    forced: hl.constexpr,
) -> None:
    """One token per row against a ring of past writes; a full ring, or force_flush, folds them into the state."""
    HV = hl.specialize(pool.size(1))
    V = hl.specialize(pool.size(2))
    K = hl.specialize(pool.size(3))
    L = hl.specialize(d_cache.size(2))
    ring = helion.next_power_of_2(L)
    H = hl.specialize(k_cache.size(1))
    hl.specialize((mixed.stride(), a.stride(), b.stride(), A_log.stride(), dt_bias.stride()))
    hl.specialize((pool.stride(), d_cache.stride(), k_cache.stride(), g_cache.stride()))
    hl.specialize((slots.stride(), write_pos.stride(), out.stride()))
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([mixed.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        key = hl.arange(K)
        past = hl.arange(ring)
        slot = slots[row].to(torch.int64)
        filled = write_pos[row].to(torch.int32)
        q = hl.load(mixed, [row, h * K + key]).float()
        k = hl.load(mixed, [row, H * K + h * K + key]).float()
        gate = _gate(a, A_log, dt_bias, row, hv, key, lower_bound, bounded)
        beta = torch.sigmoid(b[row, hv].float())
        q, k, own = _directions(q, k, scale, normalize)
        flush = filled == L - 1
        if forced:
            flush = flush | (force_flush[row] != 0)
        if slot >= 0:
            # Newest first: the decay since a write is summed as the loop goes back, and empty places cost nothing.
            since = gate
            met_k = hl.zeros([ring], dtype=torch.float32)
            met_q = hl.zeros([ring], dtype=torch.float32)
            for back in range(filled):
                at = filled - 1 - back
                aged = k_cache[slot, h, at, :].float() * torch.exp(since)
                met_k = torch.where(past == at, (aged * k).sum(-1), met_k)
                met_q = torch.where(past == at, (aged * q).sum(-1), met_q)
                since = since + g_cache[slot, hv, at, :].float()
            kept = torch.exp(since)
            held = (past < filled)[:, None]
            kept_k = kept * k
            kept_q = kept * q
            if flush == 0:
                if tile_span.begin == 0:
                    g_cache[slot, hv, filled, :] = gate
                    if hv % (HV // H) == 0:
                        k_cache[slot, h, filled, :] = k.to(k_cache.dtype)
            for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                state = pool[slot, hv, tile_v, :].float()
                # The reshape does nothing on the chip; the interpreter keeps an axis for slot.
                old_d = hl.load(d_cache, [slot, hv, past, tile_v.index], extra_mask=held)
                old_d = old_d.float().reshape(ring, tile_v.block_size)
                v = hl.load(mixed, [row, 2 * H * K + hv * V + tile_v.index]).float()
                recalled = (state * kept_k[None, :]).sum(-1) + (old_d * met_k[:, None]).sum(0)
                read = (state * kept_q[None, :]).sum(-1) + (old_d * met_q[:, None]).sum(0)
                write = beta * (v - recalled)
                out[row, 0, hv, tile_v] = (read + write * own).to(out.dtype)
                if flush:
                    state = state * kept[None, :] + write[:, None] * k[None, :]
                    left = gate
                    for again in range(filled):
                        place = filled - 1 - again
                        rank_one = k_cache[slot, h, place, :].float() * torch.exp(left)
                        old = d_cache[slot, hv, place, tile_v].float()
                        state = state + old[:, None] * rank_one[None, :]
                        left = left + g_cache[slot, hv, place, :].float()
                    pool[slot, hv, tile_v, :] = state.to(pool.dtype)
                else:
                    d_cache[slot, hv, filled, tile_v] = write.to(d_cache.dtype)
        else:
            out[row, 0, hv, tile_span] = hl.zeros([tile_span], dtype=out.dtype)


def replayssm_decode_apart(
    mixed: torch.Tensor,
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
    normalize: hl.constexpr,
    bounded: hl.constexpr,
    forced: hl.constexpr,
) -> None:
    """`replayssm_decode` with loops apart for a step that flushes and one that does not, whose registers then hold less."""
    HV = hl.specialize(pool.size(1))
    V = hl.specialize(pool.size(2))
    K = hl.specialize(pool.size(3))
    L = hl.specialize(d_cache.size(2))
    ring = helion.next_power_of_2(L)
    H = hl.specialize(k_cache.size(1))
    hl.specialize((mixed.stride(), a.stride(), b.stride(), A_log.stride(), dt_bias.stride()))
    hl.specialize((pool.stride(), d_cache.stride(), k_cache.stride(), g_cache.stride()))
    hl.specialize((slots.stride(), write_pos.stride(), out.stride()))
    span = hl.register_block_size(1, V)
    block_v = hl.register_block_size(1, V)
    for tile_b, tile_head, tile_span in hl.tile([mixed.size(0), HV, V], block_size=[1, 1, span]):
        row = tile_b.id
        hv = tile_head.id
        h = hv // (HV // H)
        key = hl.arange(K)
        past = hl.arange(ring)
        slot = slots[row].to(torch.int64)
        filled = write_pos[row].to(torch.int32)
        q = hl.load(mixed, [row, h * K + key]).float()
        k = hl.load(mixed, [row, H * K + h * K + key]).float()
        gate = _gate(a, A_log, dt_bias, row, hv, key, lower_bound, bounded)
        beta = torch.sigmoid(b[row, hv].float())
        q, k, own = _directions(q, k, scale, normalize)
        flush = filled == L - 1
        if forced:
            flush = flush | (force_flush[row] != 0)
        if slot >= 0:
            # Newest first: the decay since a write is summed as the loop goes back, and empty places cost nothing.
            since = gate
            met_k = hl.zeros([ring], dtype=torch.float32)
            met_q = hl.zeros([ring], dtype=torch.float32)
            for back in range(filled):
                at = filled - 1 - back
                aged = k_cache[slot, h, at, :].float() * torch.exp(since)
                met_k = torch.where(past == at, (aged * k).sum(-1), met_k)
                met_q = torch.where(past == at, (aged * q).sum(-1), met_q)
                since = since + g_cache[slot, hv, at, :].float()
            kept = torch.exp(since)
            held = (past < filled)[:, None]
            kept_k = kept * k
            kept_q = kept * q
            if flush == 0:
                if tile_span.begin == 0:
                    g_cache[slot, hv, filled, :] = gate
                    if hv % (HV // H) == 0:
                        k_cache[slot, h, filled, :] = k.to(k_cache.dtype)
                for tile_v in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                    state = pool[slot, hv, tile_v, :].float()
                    old_d = hl.load(d_cache, [slot, hv, past, tile_v.index], extra_mask=held)
                    old_d = old_d.float().reshape(ring, tile_v.block_size)
                    v = hl.load(mixed, [row, 2 * H * K + hv * V + tile_v.index]).float()
                    recalled = (state * kept_k[None, :]).sum(-1) + (old_d * met_k[:, None]).sum(0)
                    read = (state * kept_q[None, :]).sum(-1) + (old_d * met_q[:, None]).sum(0)
                    write = beta * (v - recalled)
                    out[row, 0, hv, tile_v] = (read + write * own).to(out.dtype)
                    d_cache[slot, hv, filled, tile_v] = write.to(d_cache.dtype)
            else:
                for tile_w in hl.tile(tile_span.begin, tile_span.end, block_size=block_v):
                    folded = pool[slot, hv, tile_w, :].float()
                    value = hl.load(mixed, [row, 2 * H * K + hv * V + tile_w.index]).float()
                    folded = folded * kept[None, :]
                    left = gate
                    for again in range(filled):
                        place = filled - 1 - again
                        rank_one = k_cache[slot, h, place, :].float() * torch.exp(left)
                        old = d_cache[slot, hv, place, tile_w].float()
                        folded = folded + old[:, None] * rank_one[None, :]
                        left = left + g_cache[slot, hv, place, :].float()
                    last = beta * (value - (folded * k[None, :]).sum(-1))
                    folded = folded + last[:, None] * k[None, :]
                    out[row, 0, hv, tile_w] = (folded * q[None, :]).sum(-1).to(out.dtype)
                    pool[slot, hv, tile_w, :] = folded.to(pool.dtype)
        else:
            out[row, 0, hv, tile_span] = hl.zeros([tile_span], dtype=out.dtype)


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
    hl.specialize(q.size(2))
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
