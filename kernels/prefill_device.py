"""The two Helion kernels of prefill. The mathematics is in `reference`; this is how it is laid out on the chip.

A chunk of C tokens of a packed sequence lives in workspace row ``offset // C + sequence + chunk``: rows of different
sequences never meet, their number depends on shapes only, and no table has to be built before the launch.

`chunk_operands` reads each q, k, v, g once. It splits the lower triangle of pairs (t, s) by halves: at level b the pairs with
t in the upper and s in the lower half of the same block of 2b tokens. Seen from the border between the halves both decays,
exp(G_t - G_border) and exp(G_border - G_s), are at most one, so a matrix product of two bounded factors is exact for any
decay; a level needs one exponential per token and channel. The running sums themselves are products with a matrix of zeros
and ones. The same halving inverts I + L: with T the inverse of its diagonal blocks and B the blocks of this level,
T - T B T inverts the blocks of twice the size.

`chunk_states` walks a sequence chunk by chunk with the state in registers and writes the outputs as it goes, so neither
states nor written values cross memory.
"""

from __future__ import annotations

import helion.language as hl
import torch

LOG2_E = 1.4426950408889634

# log2(1 + 2^x), and x where that is infinite. The library logarithm is a polynomial of 25 instructions; this one is right
# to 2^-22. Neither this nor the clamp is left to selects, which LLVM packs bit by bit.
SOFTPLUS = """{
.reg .f32 a, b;
ex2.approx.ftz.f32 a, $1;
add.f32 a, a, 0f3F800000;
lg2.approx.ftz.f32 a, a;
max.f32 b, $1, 0f41F00000;
min.f32 $0, a, b;
}"""
# At least -60000.
CLAMP = "max.f32 $0, $1, 0fC76A6000;"


def summing(size: int, device: torch.device) -> torch.Tensor:
    """Matrices of zeros and ones [levels + 2, size, size] that sum log decays over a chunk of ``size`` tokens.

    Row t of level b sums the tokens between t and the border between the halves of its block of 2b. The last two sum up to
    and including t, and after t.
    """
    row = torch.arange(size, device=device)[:, None]
    col = torch.arange(size, device=device)[None, :]
    tables = []
    for level in range(size.bit_length() - 1):
        near = row >> level == col >> level
        tables.append(near & torch.where((row >> level) % 2 == 1, col <= row, col > row))
    return torch.stack([*tables, col <= row, col > row]).to(torch.float16)


def chunk_operands(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    A_log: torch.Tensor | None,
    dt_bias: torch.Tensor | None,
    offsets: torch.Tensor | None,
    sums: torch.Tensor,
    reading: torch.Tensor,
    recall: torch.Tensor,
    fresh: torch.Tensor,
    writing: torch.Tensor,
    scores: torch.Tensor,
    decay: torch.Tensor,
    scale: float,
    lower_bound: float,
    length: int,
    pair_dtype: hl.constexpr,
    packed: hl.constexpr,
    normalize: hl.constexpr,
    gated: hl.constexpr,
    bounded: hl.constexpr,
    raw_beta: hl.constexpr,
    exact_gate: hl.constexpr,
    levels: hl.constexpr,
    ptx: hl.constexpr,
) -> None:
    """Per chunk and value head, into the workspace; ``sums`` is `summing`; ``fresh`` may be wider than v.

    ``reading`` scale q exp(G), ``recall`` T beta k exp(G), ``fresh`` T beta v, ``writing`` k exp(G_C - G), ``scores`` P,
    ``decay`` exp(G_C). Rows past the end of a sequence become zeros.
    """
    rows = reading.size(0)
    H = hl.specialize(q.size(1))
    HV = hl.specialize(v.size(1))
    K = hl.specialize(q.size(2))
    V = hl.specialize(v.size(2))
    W = hl.specialize(fresh.size(2))
    C = hl.specialize(reading.size(2))
    G = C // 16
    # Strides are those of a model's layout: as constants they vanish into addresses and launch faster.
    hl.specialize((q.stride(), k.stride(), v.stride(), g.stride(), beta.stride(), sums.stride()))
    hl.specialize((reading.stride(), recall.stride(), fresh.stride(), writing.stride()))
    hl.specialize((scores.stride(), decay.stride()))
    if gated:
        _ = hl.specialize((A_log.stride(), dt_bias.stride()))
    if packed:
        N = offsets.size(0) - 1
    for tile_row, tile_head in hl.tile([rows, HV], block_size=[1, 1]):
        place = tile_row.id
        hv = tile_head.id
        h = hv // (HV // H)
        if packed:
            known = hl.zeros([256], dtype=torch.int32)
            for base in range(0, N, 256):
                candidate = base + hl.arange(256)
                first = hl.load(offsets, [candidate], extra_mask=candidate < N).to(torch.int32)
                first = (first >> levels) + candidate
                known = known + ((candidate < N) & (first <= place)).to(torch.int32)
            # Offsets that do not start at zero leave early rows to nobody: start then falls before begin.
            n = torch.clamp_min(known.sum().to(torch.int32) - 1, 0)
            begin = offsets[n].to(torch.int32)
            end = torch.clamp_max(offsets[n + 1].to(torch.int32), length)
            start = begin + ((place - n).to(torch.int32) - (begin >> levels)) * C
        else:
            chunks = (length + C - 1) // C
            n = place // chunks
            begin = n * length
            start = begin + (place - n * chunks) * C
            end = begin + length
        if (start < end) & (start >= begin):
            row = hl.arange(C)
            col = hl.arange(C)
            key = hl.arange(K)
            token = start + row
            live = token < end
            raw_q = hl.load(q, [token, h, key], extra_mask=live[:, None])
            raw_k = hl.load(k, [token, h, key], extra_mask=live[:, None])
            gate = hl.load(g, [token, hv, key], extra_mask=live[:, None]).float()
            strength = hl.load(beta, [token, hv], extra_mask=live).float()
            if raw_beta:
                strength = torch.where(live, torch.sigmoid(strength), 0.0)
            # Log decays in powers of two from here on.
            if gated:
                rate = torch.where(live, -torch.exp(A_log[hv].float()), 0.0)[:, None]
                bias = dt_bias[hv, key].float()
                if bounded:
                    gate = (lower_bound * LOG2_E) * torch.sigmoid(-rate * (gate + bias[None, :]))
                    gate = torch.where(live[:, None], gate, 0.0)
                else:
                    gate = gate * LOG2_E + (bias * LOG2_E)[None, :]
                    if ptx:
                        gate = rate * hl.inline_asm_elementwise(
                            SOFTPLUS, "=f,f", [gate], torch.float32, True, 1
                        )
                    else:
                        soft = torch.log2(1.0 + torch.exp2(gate))
                        gate = rate * torch.where(gate > 30.0, gate, soft)
            else:
                gate = gate * LOG2_E
            # A decay of 2^-60000 is zero all the same, and float16 holds its logarithm.
            if ptx:
                gate = hl.inline_asm_elementwise(CLAMP, "=f,f", [gate], torch.float32, True, 1)
            else:
                gate = torch.where(gate > -60000.0, gate, -60000.0)
            coarse = gate.to(torch.float16)
            gates = coarse.reshape([G, 16, K])
            if exact_gate:
                rest = (gate - coarse.float()).to(torch.float16)
                rests = rest.reshape([G, 16, K])

            # Blocks of 16 tokens, one a warp. A product with the unit matrix is how the tensor cores take a tile from
            # shared memory into the layout of their results, in float32.
            unit = hl.arange(16)
            near = unit[:, None] == unit[None, :]
            if exact_gate:
                queries = raw_q.float().reshape([G, 16, K])
                each = raw_k.float().reshape([G, 16, K])
            else:
                same = torch.where(near, 1.0, 0.0).to(q.dtype)[None, :, :].expand(G, 16, 16)
                queries = hl.dot(same, raw_q.reshape([G, 16, K]))
                each = hl.dot(same, raw_k.reshape([G, 16, K]))
            if normalize:
                size_q = torch.rsqrt((queries * queries).sum(-1) + 1e-6)
                size_k = torch.rsqrt((each * each).sum(-1) + 1e-6)
                queries = queries * (size_q * scale)[:, :, None]
                each = each * size_k[:, :, None]
            else:
                queries = queries * scale
            queries = queries.to(pair_dtype)
            each = each.to(pair_dtype)
            query = queries.reshape([C, K])
            keys = each.reshape([C, K])

            running = hl.dot(sums[levels, :, :], coarse)
            if exact_gate:
                running = hl.dot(sums[levels, :, :], rest, acc=running)
            grown = torch.exp2(running)
            # The last row is the decay of the chunk.
            whole = [place + 0 * row, hv, key]
            hl.store(decay, whole, grown, extra_mask=(row == C - 1)[:, None])
            reading[place, hv, :, :] = (query.float() * grown).to(reading.dtype)
            asked = (keys.float() * grown).to(pair_dtype)
            coming = hl.dot(sums[levels + 1, :, :], coarse)
            if exact_gate:
                coming = hl.dot(sums[levels + 1, :, :], rest, acc=coming)
            writing[place, hv, :, :] = (keys.float() * torch.exp2(coming)).to(writing.dtype)

            # Nothing is exchanged between warps. Both the inverse and its transpose are kept, so that every right
            # factor is the transpose of something a thread holds already. The strengths D come in at the start:
            # with T' = T D a level is T' - T' B T' for the bare products B.
            weight = strength.reshape([G, 16])
            inner = torch.where(near[None, :, :], hl.dot(queries, each.transpose(1, 2)), 0.0)
            lower = torch.where(near[None, :, :], weight[:, :, None], 0.0).to(pair_dtype)
            upper = lower
            for level in range(4):
                half = unit >> level
                odd = (half & 1) == 1
                border = torch.where(odd, half - 1, -1)
                below = half[None, :] == border[:, None]
                above = half[:, None] == border[None, :]
                ahead = unit[None, :] > unit[:, None]
                together = half[:, None] == half[None, :]
                steps = torch.where(together & (ahead != odd[:, None]), 1.0, 0.0).to(torch.float16)
                steps = steps[None, :, :].expand(G, 16, 16)
                exponent = hl.dot(steps, gates)
                if exact_gate:
                    exponent = hl.dot(steps, rests, acc=exponent)
                factor = torch.exp2(exponent).to(pair_dtype)
                seen = each * factor
                sought = queries * factor
                met = hl.dot(seen, seen.transpose(1, 2))
                found = hl.dot(sought, seen.transpose(1, 2))
                inner = inner + torch.where(below[None, :, :], found, 0.0)
                block = torch.where(below[None, :, :], met, 0.0)
                mirror = torch.where(above[None, :, :], met, 0.0)
                change = hl.dot(lower, mirror.to(pair_dtype).transpose(1, 2)).to(pair_dtype)
                turned = hl.dot(upper, block.to(pair_dtype).transpose(1, 2)).to(pair_dtype)
                step_lower = hl.dot(change, upper.transpose(1, 2)).to(pair_dtype)
                step_upper = hl.dot(turned, lower.transpose(1, 2)).to(pair_dtype)
                lower = lower - step_lower
                upper = upper - step_upper
            which = hl.arange(G)
            here = (which[:, None] == which[None, :])[:, None, :, None]
            score = torch.where(here, inner.to(scores.dtype)[:, :, None, :], 0.0).reshape([C, C])
            inverse = torch.where(here, lower[:, :, None, :], 0.0).reshape([C, C])
            # Every entry of either is written once, at its level, so half precision rounds it once.
            for level in range(4, levels):
                exponent = hl.dot(sums[level, :, :], coarse)
                if exact_gate:
                    exponent = hl.dot(sums[level, :, :], rest, acc=exponent)
                factor = torch.exp2(exponent).to(pair_dtype)
                seen = keys * factor
                sought = query * factor
                half = row >> level
                border = torch.where((half & 1) == 1, half - 1, -1)
                pair = (col >> level)[None, :] == border[:, None]
                block = torch.where(pair, hl.dot(seen, seen.T), 0.0)
                entries = torch.where(pair, hl.dot(sought, seen.T), 0.0)
                score = score + entries.to(scores.dtype)
                change = hl.dot(inverse, block.to(pair_dtype)).to(pair_dtype)
                inverse = inverse - hl.dot(change, inverse).to(pair_dtype)
            scores[place, hv, :, :] = score
            recall[place, hv, :, :] = hl.dot(inverse, asked).to(recall.dtype)
            column = hl.arange(W)
            stored = live[:, None] & (column < V)[None, :]
            value = hl.load(v, [token, hv, column], extra_mask=stored)
            learnt = hl.dot(inverse.to(fresh.dtype), value).to(fresh.dtype)
            fresh[place, hv, :, :] = learnt.T


def chunk_states(
    reading: torch.Tensor,
    recall: torch.Tensor,
    fresh: torch.Tensor,
    writing: torch.Tensor,
    scores: torch.Tensor,
    decay: torch.Tensor,
    offsets: torch.Tensor | None,
    pool: torch.Tensor | None,
    slots: torch.Tensor | None,
    out: torch.Tensor,
    befores: torch.Tensor | None,
    tracked_state: torch.Tensor | None,
    tracked: torch.Tensor | None,
    sequences: int,
    length: int,
    packed: hl.constexpr,
    stateful: hl.constexpr,
    listed: hl.constexpr,
    track: hl.constexpr,
    every: hl.constexpr,
) -> None:
    """Per sequence, value head and tile of V: outputs, and the state back into its slot (none for a negative slot).

    ``length`` is the tokens of a packed row, or of each dense one; ``every`` is how many chunks of C tokens make one of 64,
    the unit of ``befores`` and ``tracked``.
    """
    HV = hl.specialize(reading.size(1))
    C = hl.specialize(reading.size(2))
    K = hl.specialize(reading.size(3))
    V = hl.specialize(out.size(2))
    hl.specialize((reading.stride(), recall.stride(), fresh.stride(), writing.stride()))
    hl.specialize((scores.stride(), decay.stride(), out.stride()))
    if stateful:
        _ = hl.specialize((pool.stride(), slots.stride()))
    block_v = hl.register_block_size(16, V)
    for tile_n, tile_head, tile_v in hl.tile([sequences, HV, V], block_size=[1, 1, block_v]):
        n = tile_n.id
        hv = tile_head.id
        if packed:
            begin = offsets[n].to(torch.int32)
            end = torch.clamp_max(offsets[n + 1].to(torch.int32), length)
            # Whatever offsets say, the decay asked for below is inside its tensor.
            base = torch.clamp_max(begin // C + n, reading.size(0))
        else:
            begin = n * length
            end = begin + length
            base = n * ((length + C - 1) // C)
        if stateful:
            slot = slots[n].to(torch.int64)
            held = pool[torch.clamp_min(slot, 0), hv, tile_v, :].float()
            state = torch.where(slot >= 0, held, 0.0)
        else:
            state = hl.zeros([tile_v, K], dtype=torch.float32)
        if listed:
            listed_at = hl.full([], 0, dtype=torch.int32)
            if not packed:
                listed_at = listed_at + n * ((length + 63) // 64)
            else:
                for past in range(n):
                    span = (offsets[past + 1] - offsets[past]).to(torch.int32)
                    listed_at = listed_at + (span + 63) // 64
        # The decay feeds no product and is not prefetched: ask for it a step ahead; there is a row more than chunks.
        fade = decay[base, hv, :]
        for chunk in range(0, (end - begin + C - 1) // C):
            place = base + chunk
            coming = decay[place + 1, hv, :]
            if listed:
                if chunk % every == 0:
                    befores[listed_at + chunk // every, hv, tile_v, :] = state.to(befores.dtype)
            if track:
                if chunk == tracked[n] * every:
                    tracked_state[n, hv, tile_v, :] = state
            written = fresh[place, hv, tile_v, :].float()
            narrow = state.to(recall.dtype)
            written = written - hl.dot(narrow, recall[place, hv, :, :].T)
            result = hl.dot(narrow, reading[place, hv, :, :].T)
            written = written.to(recall.dtype)
            state = hl.dot(written, writing[place, hv, :, :], acc=state * fade[None, :])
            fade = coming
            result = hl.dot(written, scores[place, hv, :, :].T, acc=result)
            token = begin + chunk * C + hl.arange(C)
            hl.store(
                out,
                [token, hv, tile_v.index],
                result.to(out.dtype).T,
                extra_mask=(token < end)[:, None],
            )
        if packed:
            # Tokens that no sequence claims read as zero.
            if n == sequences - 1:
                for chunk in range(0, (length - end + C - 1) // C):
                    token = end + chunk * C + hl.arange(C)
                    hl.store(
                        out,
                        [token, hv, tile_v.index],
                        hl.zeros([C, tile_v], dtype=out.dtype),
                        extra_mask=(token < length)[:, None],
                    )
        if stateful:
            if slot >= 0:
                pool[slot, hv, tile_v, :] = state.to(pool.dtype)
