"""State pools: slots are not sequences, indices say whose is whose, and the padding has no slot."""

import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda
from sglang.kernels.ops.attention.helion.kda_replayssm import (
    helion_fused_recurrent_kda_replayssm_decode,
)


def slots_are_not_sequences(q, k, v, g, beta, idx, H, K, V):
    pool, cu = torch.zeros(64, H, V, K), torch.tensor([0, 8, 16])
    # ok
    return chunk_kda(q, k, v, g, beta, initial_state=pool, initial_state_indices=idx, cu_seqlens=cu)


def a_pool_without_indices(q, k, v, g, beta, pool: torch.Tensor):
    # bad: KDA404
    return chunk_kda(q, k, v, g, beta, initial_state=pool)


def the_padding_clamped_onto_a_live_slot(m, a, b, A, bias, pool, out):
    slots = torch.tensor([3, 5, -1, -1], dtype=torch.int32)
    # bad: KDA405
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=slots.clamp(min=0),
    )


def unknown_slots_clamped(m, a, b, A, bias, pool, out, slots):
    # ok
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=slots.clamp(min=0),
    )


def clamped_for_another_table(m, a, b, A, bias, pool, out, slots, accept_lens):
    lens = accept_lens.index_select(0, slots.clamp(min=0).long())
    # ok
    helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=slots,
    )
    return lens


def padding_sent_to_a_reserved_slot(m, a, b, A, bias, pool, out, slots):
    idx = torch.where(slots >= 0, slots, pool.shape[0] - 1)
    # ok
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def a_column_of_indices(m, a, b, A, bias, pool, out):
    table = torch.zeros(4, 8, dtype=torch.int32)
    # bad: KDA405
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=table[:, :1],
    )


def a_long_cursor(m, a, b, A, bias, pool, d, kc, gc, out, idx, B):
    # bad: KDA406
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        d_cache=d,
        k_cache=kc,
        g_cache=gc,
        out=out,
        ssm_state_indices=idx,
        write_pos=torch.zeros(B, dtype=torch.long),
    )


def an_int_cursor(m, a, b, A, bias, pool, d, kc, gc, out, idx, B):
    # ok
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        d_cache=d,
        k_cache=kc,
        g_cache=gc,
        out=out,
        ssm_state_indices=idx,
        write_pos=torch.zeros(B, dtype=torch.int32),
    )
