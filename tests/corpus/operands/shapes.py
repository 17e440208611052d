"""Axes and sizes: heads before tokens, gates per channel, grouped values, and shapes that only look odd."""

import torch
import torch.nn.functional as F
from attn_gym.linear import gdn as gym_gdn
from einops import rearrange
from fla.ops.gated_delta_product import chunk_gated_delta_product
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from sglang.kernels.ops.attention.fla.kda import fused_recurrent_kda as triton_recurrent_kda


def heads_before_tokens(q, k, v, g, beta, D):
    q, k, v, g = (rearrange(t, "b t (h d) -> b h t d", d=D) for t in (q, k, v, g))
    # bad: KDA202
    return chunk_kda(q, k, v, g, beta)


def tokens_before_heads(q, k, v, g, beta, D):
    q, k, v, g = (rearrange(t, "b t (h d) -> b t h d", d=D) for t in (q, k, v, g))
    # ok
    return chunk_kda(q, k, v, g, beta)


def transposed_there_and_back(x, g, beta, D):
    x = rearrange(x, "b t (h d) -> b h t d", d=D)
    x = F.normalize(x, dim=-1).transpose(1, 2)
    # ok
    return chunk_kda(x, x, x, g, beta)


def another_library_is_head_first(q, k, v, g, beta):
    # ok
    return gym_gdn.chunk_gdn(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), g, beta)


def fewer_tokens_than_heads(k, v, g, beta):
    # ok
    return chunk_kda(torch.randn(1, 16, 32, 128), k, v, g, beta)


def a_gate_per_head(q, k, v, beta):
    # bad: KDA104
    return chunk_kda(q, k, v, F.logsigmoid(torch.rand(2, 64, 4)), beta)


def gates_by_key_heads():
    q, k, v = torch.randn(2, 64, 2, 128), torch.randn(2, 64, 2, 128), torch.randn(2, 64, 4, 128)
    # bad: KDA104
    return chunk_kda(q, k, v, torch.randn(2, 64, 2, 128), torch.rand(2, 64, 2))


def gates_by_value_heads():
    q, k, v = torch.randn(2, 64, 2, 128), torch.randn(2, 64, 2, 128), torch.randn(2, 64, 4, 128)
    # ok
    return chunk_kda(q, k, v, torch.randn(2, 64, 4, 128), torch.rand(2, 64, 4))


def this_one_goes_by_key_heads(q, k, v, g, beta, h0, T, H, K):
    # ok
    return triton_recurrent_kda(q, k, v, g.view(1, T, H, K), beta, initial_state=h0)


def a_beta_per_channel(q, k, v, g, beta, T, HV, V):
    # ok
    return fused_recurrent_kda(q, k, v, g, beta.view(1, T, HV, V))


def keys_of_another_length(v, g, beta):
    # bad: KDA203
    return chunk_kda(torch.randn(2, 64, 4, 64), torch.randn(2, 32, 4, 64), v, g, beta)


def the_batch_axis_is_missing(k, v, g, beta):
    # bad: KDA204
    return chunk_kda(torch.randn(64, 4, 64), k, v, g, beta)


def an_operator_that_does_without_its_gate(beta):
    q, k = torch.randn(2, 64, 4, 64), torch.randn(2, 128, 4, 64)
    # ok
    return chunk_gated_delta_product(q, k, k, g=None, beta=beta, num_householder=2)
