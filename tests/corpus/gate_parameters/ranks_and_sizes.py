"""The rank and the number of elements that each callee wants of the gate parameters."""

import flash_kda
import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from fla.ops.kda import chunk_kda
from sglang.kernels.ops.attention.fla.fused_recurrent import fused_recurrent_kda_packed_decode
from sglang.kernels.ops.attention.helion.kda_replayssm import (
    helion_fused_recurrent_kda_replayssm_decode,
)
from sglang.kernels.ops.attention.linear.fused_recurrent_linear_replayssm import (
    fused_recurrent_linear_replayssm_decode,
)


def two_axes_where_they_are_required(q, k, v, g, beta, s, out, A, bias, H: int):
    # ok
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias.reshape(H, -1).float().contiguous(), -5.0)


def one_axis_where_two_are_required(q, k, v, g, beta, s, out, A, H: int):
    # bad: KDA102
    flash_kda.fwd(q, k, v, g, beta, s, out, A, torch.rand(H * 128), -5.0)


def two_axes_where_one_is_required(m, a, b, A, bias: torch.Tensor, pool, out, idx, HV: int, K: int):
    # bad: KDA102
    fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias.view(HV, K),
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def either_for_the_helion_ring(
    m, a, b, A, bias: torch.Tensor, pool, d, kc, gc, out, idx, pos, HV: int, K: int
):
    for either in (bias.view(HV, K), bias.view(HV * K)):
        # ok
        helion_fused_recurrent_kda_replayssm_decode(
            m, a, b, A, either, 1.0, pool, d, kc, gc, out, idx, pos
        )


def one_axis_for_the_triton_ring(
    m, a, b, A, bias: torch.Tensor, pool, d, kc, gc, out, idx, pos, HV: int, K: int
):
    # bad: KDA102
    fused_recurrent_linear_replayssm_decode(
        m, a, b, A, bias.view(HV * K), 1.0, pool, d, kc, gc, out, idx, pos, is_kda=True
    )


def one_bias_per_head(q, k, v, beta, T):
    g = torch.randn(1, T, 8, 128)
    # bad: KDA103
    return chunk_kda(
        q, k, v, g, beta, use_gate_in_kernel=True, A_log=torch.zeros(8), dt_bias=torch.zeros(8)
    )


def one_bias_per_head_is_right_for_gdn(q, k, v, beta, T):
    g = torch.randn(1, T, 8)
    # ok
    return chunk_gated_delta_rule(
        q, k, v, g, beta, use_gate_in_kernel=True, A_log=torch.zeros(8), dt_bias=torch.zeros(8)
    )


def too_many_log_decays(q, k, v, beta, T):
    g = torch.randn(1, T, 8, 128)
    # bad: KDA103
    return chunk_kda(
        q, k, v, g, beta, use_gate_in_kernel=True, A_log=torch.zeros(16), dt_bias=torch.zeros(1024)
    )


def only_the_elements_count(q, k, v, g, beta, A, bias, H: int):
    # ok
    return chunk_kda(
        q, k, v, g, beta, use_gate_in_kernel=True, A_log=A.view(1, 1, H, 1), dt_bias=bias
    )


class Layer(torch.nn.Module):
    """Parameters made in the constructor, used in `forward`."""

    def __init__(self):
        super().__init__()
        self.A_log = torch.nn.Parameter(torch.zeros(8))
        self.dt_bias = torch.nn.Parameter(torch.zeros(8))

    def forward(self, q, k, v, beta):
        g = torch.randn(1, 64, 8, 128)
        # bad: KDA103
        return chunk_kda(
            q, k, v, g, beta, use_gate_in_kernel=True, A_log=self.A_log, dt_bias=self.dt_bias
        )
