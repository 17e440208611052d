"""Operands that are views: fine where the callee copies or honours strides, misread where it walks raw pointers."""

import flash_kda
import torch
from fla.modules.conv import causal_conv1d
from fla.ops.kda import chunk_kda
from sglang.kernels.ops.attention.fla.fused_recurrent import fused_recurrent_kda_packed_decode
from sglang.kernels.ops.attention.fla.kda import chunk_kda as triton_chunk_kda
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda as helion_chunk_kda


def fla_copies_split_views(qkv, g, beta, H, D, cu: torch.Tensor):
    # ok
    return chunk_kda(
        *(t.unflatten(-1, (H, D)).unsqueeze(0) for t in qkv.split(H * D, -1)),
        g,
        beta,
        cu_seqlens=cu,
    )


def triton_prefill_does_not(g, beta, pool, idx):
    q, k, v = (
        t.unflatten(-1, (8, 128)).unsqueeze(0) for t in torch.randn(64, 3072).split(1024, -1)
    )
    # bad: KDA201
    return triton_chunk_kda(q, k, v, g, beta, initial_state=pool, initial_state_indices=idx)


def triton_prefill_copies_what_it_normalises(v, g, beta, pool, idx):
    q, k, _ = (
        t.unflatten(-1, (8, 128)).unsqueeze(0) for t in torch.randn(64, 3072).split(1024, -1)
    )
    # ok
    return triton_chunk_kda(
        q,
        k,
        v,
        g,
        beta,
        initial_state=pool,
        initial_state_indices=idx,
        use_qk_l2norm_in_kernel=True,
    )


def one_token_is_dense(g, beta, pool, idx):
    q, k, v = (t.unflatten(-1, (8, 128)).unsqueeze(0) for t in torch.randn(1, 3072).split(1024, -1))
    # ok
    return triton_chunk_kda(q, k, v, g, beta, initial_state=pool, initial_state_indices=idx)


def the_convolution_takes_strides(y, w, cu: torch.Tensor):
    # ok
    return causal_conv1d(x=y.transpose(1, 2), weight=w, cu_seqlens=cu)


def reshape_returned_a_view(m, A, bias, pool, out, idx):
    b, a = torch.randn(32, 16, 2).split([1, 1], dim=-1)
    # bad: KDA201
    fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a.reshape(32, 16),
        b=b.reshape(32, 16),
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def reshape_may_have_copied(m, ba, A, bias, pool, out, idx, S, Hk, r):
    b, a = ba.split([r, r], dim=-1)
    # ok
    fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a.reshape(S, Hk * r),
        b=b.reshape(S, Hk * r),
        A_log=A,
        dt_bias=bias,
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def a_clone_keeps_a_permuted_layout(k, v, g, beta, s, out, A, bias2d):
    q = torch.randn(1, 8, 64, 128, dtype=torch.bfloat16).transpose(1, 2).clone()
    # bad: KDA201
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0)


def contiguous_does_not(k, v, g, beta, s, out, A, bias2d):
    q = torch.randn(1, 8, 64, 128, dtype=torch.bfloat16).transpose(1, 2).contiguous()
    # ok
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0)


def past_an_axis_of_one(k, v, g, beta, s, out, A, bias2d):
    q = torch.zeros(64, 1, 8, 128, dtype=torch.bfloat16).transpose(0, 1)
    # ok
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias2d, -5.0)


def a_pool_with_a_wider_pitch(m, a, b, A, bias, envelope, out, idx):
    pool = envelope.as_strided((16, 8, 128, 128), (200_000, 128 * 128, 128, 1))
    # ok
    fused_recurrent_kda_packed_decode(
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


def the_output_is_written_over_a_clone(q, k, v, g, beta, pool, idx):
    # ok
    return helion_chunk_kda(q, k, v.clone(), g, beta, initial_state=pool, initial_state_indices=idx)
