"""Keywords that reach the callee through dicts and stars, and those that it does not have."""

import torch
from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from fla.ops.kda.gate import fused_kda_gate
from training.inputs import options


def from_a_conditional_dict(k, v, g, beta, cu, bias, packed):
    q = torch.randn(2, 64, 4, 32)
    kw = dict(cu_seqlens=cu) if packed else {}
    kw["scale"] = None
    # ok
    return chunk_kda(q, k, v, g, beta, **kw, **{"use_qk_l2norm_in_kernel": True})


def from_a_dict(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    kw = {"scale": None}
    kw["cu_seqlens"] = torch.tensor([0, 64, 128])
    # bad: KDA001
    return chunk_kda(q, k, v, g, beta, **kw)


def taken_out_again(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    kw = {"cu_seqlens": torch.tensor([0, 64, 128])}
    kw.pop("cu_seqlens")
    # ok
    return chunk_kda(q, k, v, g, beta, **kw)


def from_an_unknown_dict(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    # ok
    return chunk_kda(q, k, v, g, beta, **options())


def behind_a_star_of_unknown_length(inputs, cu: torch.Tensor):
    # ok
    return chunk_kda(*inputs, cu_seqlens=cu)


def behind_a_star_of_known_length(v, g, beta, cu: torch.Tensor):
    inputs = (torch.randn(2, 64, 4, 32), torch.randn(2, 64, 4, 32))
    # bad: KDA001
    return chunk_kda(*inputs, v, g, beta, cu_seqlens=cu)


def a_typo_is_swallowed(q, k, v, g, beta, bias):
    # bad: KDA501
    return chunk_kda(q, k, v, g, beta, dtbias=bias)


def a_pool_keyword_of_another_library(q, k, v, g, beta, idx):
    # bad: KDA501
    return fused_recurrent_kda(q, k, v, g, beta, ssm_state_indices=idx)


def a_gate_called_as_it_was(g, A, head_dim, bias):
    # bad: KDA501
    return fused_kda_gate(g, A, head_dim, g_bias=bias)


def a_position_that_became_another_parameter(q, k, v, g, beta):
    # bad: KDA502
    return fused_recurrent_kda(q, k, v, g, beta, 0.125)


def beta_lands_on_the_channel_gate(q, k, v, g):
    beta = torch.rand(2, 64, 4)
    # bad: KDA502
    return fused_recurrent_gated_delta_rule(q, k, v, g, beta)


def a_flag_without_its_companion(q, k, v, g, beta, A):
    # bad: KDA503
    return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, A_log=A, safe_gate=True)


def a_flag_with_its_companion(q, k, v, g, beta, A):
    # ok
    return chunk_kda(
        q, k, v, g, beta, use_gate_in_kernel=True, A_log=A, safe_gate=True, lower_bound=-5.0
    )
