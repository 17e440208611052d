"""Cutting padding off: on the token axis it cuts, on a batch axis of one it does nothing."""

import torch
from fla.ops.kda import chunk_kda


def on_the_batch_axis(q, k, v, g, beta, num_tokens: int, cu: torch.Tensor):
    g = g.unsqueeze(0)
    # bad: KDA002
    return chunk_kda(q, k, v, g[:num_tokens], beta, cu_seqlens=cu)


def on_the_batch_axis_before_the_call(q, k, v, g, beta, num_tokens: int, cu: torch.Tensor):
    g = g[None]
    # bad: KDA002
    g = g[:num_tokens]
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def on_the_token_axis(q, k, v, g, beta, num_tokens: int, cu: torch.Tensor):
    g = g.unsqueeze(0)
    # ok
    return chunk_kda(q, k, v, g[:, :num_tokens], beta, cu_seqlens=cu)


def before_the_batch_axis_exists(q, k, v, g, beta, num_tokens: int, cu: torch.Tensor):
    g = g[:num_tokens].unsqueeze(0)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def after_it_is_gone(q, k, v, g, beta, num_tokens: int, cu: torch.Tensor):
    beta = beta[0][:num_tokens][None]
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def by_an_axis_that_depends_on_the_rank(q, k, v, g, a, num_tokens: int, cu: torch.Tensor):
    a = a.narrow(0 if a.ndim == 2 else 1, 0, num_tokens)
    # ok
    return chunk_kda(q, k, v, g, a, cu_seqlens=cu)


def a_literal_one_asks_for_the_batch(q, k, v, g, beta, cu: torch.Tensor):
    q = q.unsqueeze(0)
    # ok
    return chunk_kda(q[:1], k, v, g, beta, cu_seqlens=cu)


def a_batch_that_may_be_larger(q, k, v, g, beta, n: int):
    # ok
    return chunk_kda(q[:n], k[:n], v[:n], g[:n], beta[:n])
