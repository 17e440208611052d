"""Gate parameters that are ignored, travel with a flag, or lose precision; and other families of kernels."""

import flash_kda
import torch
from fla.ops.kda import chunk_kda
from mamba_ssm.ops.triton.selective_state_update import selective_state_update
from vllm.model_executor.layers.fla.ops.kda import chunk_kda_with_fused_gate


def together_with_their_flag(q, k, v, g, beta, A, bias, fuse):
    # ok
    return chunk_kda(
        q,
        k,
        v,
        g,
        beta,
        use_gate_in_kernel=fuse,
        A_log=A if fuse else None,
        dt_bias=bias.clone() if fuse else None,
    )


def without_the_flag(q, k, v, g, beta, A: torch.Tensor, bias: torch.Tensor):
    # bad: KDA105
    return chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=bias)


def with_the_flag_off(q, k, v, g, beta, A: torch.Tensor):
    # bad: KDA105
    return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=False, A_log=A)


def low_precision(q, k, v, g, beta, s, out, A: torch.Tensor, bias2d):
    # bad: KDA106
    flash_kda.fwd(q, k, v, g, beta, s, out, A.bfloat16(), bias2d, -5.0)


def full_precision(q, k, v, g, beta, s, out, A: torch.Tensor, bias2d):
    # ok
    flash_kda.fwd(q, k, v, g, beta, s, out, A.float(), bias2d, -5.0)


def mamba_wants_stride_zero(state, x, dt, A, B, C, bias, head_dim):
    # ok
    return selective_state_update(state, x, dt, A, B, C, dt_bias=bias[:, None].expand(-1, head_dim))


def plain_mathematics(x, bias, K):
    # ok
    return x + bias.view(1, 1, -1, K)


def under_another_name(q, k, v, raw_g, beta, A_log, bias):
    # ok
    return chunk_kda_with_fused_gate(q, k, v, raw_g, beta, A_log, g_bias=bias)
