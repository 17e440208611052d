"""Rows that are no mistake: no offsets, offsets that travel with the layout, kernels whose rows are the batch."""

import flashinfer
import torch
from attn_gym.linear import kda as gym
from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule
from fla.ops.kda import chunk_kda
from sglang.kernels.ops.attention.cutedsl_kda import cutedsl_fused_sigmoid_gating_kda_update
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode
from sglang.kernels.ops.attention.linear.kda_blackwell import chunk_kda_cutedsl
from vllm.models.kimi_k3.nvidia.ops.third_party.kda import fused_recurrent_kda_packed_decode


def training(k, v, g, beta, T, H, K):
    # ok
    return chunk_kda(torch.randn(4, T, H, K), k, v, g, beta, cu_seqlens=None)


def without_the_keyword(k, v, g, beta, T, H, K):
    # ok
    return chunk_kda(torch.randn(4, T, H, K), k, v, g, beta)


def the_flag_picks_both(q, k, v, g, beta, cu, packed):
    q = q.flatten(0, 1)[None] if packed else q
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu if packed else None)


def decode_rows(mixed_qkv, a, b, A, bias, pool, idx, HV, V):
    out = mixed_qkv.new_empty(64, 1, HV, V)
    # ok
    return helion_fused_recurrent_kda_packed_decode(
        mixed_qkv=mixed_qkv,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def the_shape_decides(A_log, dt_bias, q, k, v, a, b, pool, idx, H, K, cu: torch.Tensor):
    # ok
    return cutedsl_fused_sigmoid_gating_kda_update(
        A_log, dt_bias, q.view(8, 1, H, K), k, v, a, b, pool, idx, cu_seqlens=cu
    )


def tokens_are_axis_zero(k, v, g, beta, H, cu: torch.Tensor):
    # ok
    return flashinfer.chunk_gated_delta_rule(torch.empty(64, H, 128), k, v, g, beta, cu_seqlens=cu)


def the_batch_removed_for_a_kernel_of_three_axes(q, k, v, g, beta, pool, cu: torch.Tensor):
    # ok
    o, s = chunk_kda_cutedsl(q[0], k[0], v[0], g[0], beta[0], pool, cu)
    return o.unsqueeze(0), s


def one_row_without_offsets(mixed_qkv, raw_g, raw_beta, A_log, dt_bias, pool, idx, B, H, K):
    # ok
    return fused_recurrent_kda_packed_decode(
        mixed_qkv, raw_g.view(1, B, H, K), raw_beta.view(1, B, H), A_log, dt_bias, -5.0, pool, idx
    )


def repeated_keys(q, k, v, g, beta, n, cu):
    # ok
    return fused_recurrent_gated_delta_rule(
        q, k, v, g, beta=beta, cu_seqlens=cu * n if cu is not None else None
    )


def dense_batches_of_another_library(k, v, g, beta):
    # ok
    return gym.chunk_kda(torch.randn(4, 64, 8, 128), k, v, g, beta)
