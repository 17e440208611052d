"""Ways to make a packed batch of one: by a pattern, by an axis, by name, by a helper. All are right."""

import torch
from einops import rearrange
from fla.ops.kda import chunk_kda
from training.collectives import all_gather
from training.padding import unpad


def by_the_literal_in_a_pattern(q, k, v, g, beta, D, cu: torch.Tensor):
    q, k, v = (rearrange(t, "n (h d) -> 1 n h d", d=D) for t in (q, k, v))
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def by_a_lambda_over_all_of_them(q, k, v, g, beta, cu: torch.Tensor):
    q, k, v, g, beta = map(lambda t: rearrange(t, "b t ... -> 1 (b t) ..."), (q, k, v, g, beta))
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def before_a_pattern_that_keeps_it(x, v, g, beta, D, cu: torch.Tensor):
    x = x.unsqueeze(0)
    q = rearrange(x, "b t (h d) -> b t h d", d=D)
    # ok
    return chunk_kda(q, q, v, g, beta, cu_seqlens=cu)


def as_views_of_one_projection(qkv, g, beta, H, D, cu: torch.Tensor):
    q, k, v = (t.unflatten(-1, (H, D)).unsqueeze(0) for t in qkv.split([H * D] * 3, dim=-1))
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def rows_become_tokens(q, k, v, g, beta, B, H, K):
    cu = torch.arange(B + 1)
    # ok
    return chunk_kda(
        q.view(1, B, H, K), k.view(1, B, H, K), v.view(1, B, H, K), g, beta, cu_seqlens=cu
    )


def by_reshaping_with_the_sizes_at_hand(g, beta, H, K, T, cu: torch.Tensor):
    q = torch.randn(4, T, H, K)
    B, T = q.shape[:2]
    q = q.reshape(1, B * T, *q.shape[2:])
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)


def by_flattening_in_place_of_the_rows(g, beta, cu: torch.Tensor):
    q = torch.randn(4, 128, 8, 64)
    q = q.flatten(0, 1).unsqueeze(0)
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)


def in_a_helper_on_one_branch(q, k, v, g, beta, mask):
    cu = None
    if mask is not None:
        q, indices, cu = unpad(q, mask)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def gathered_without_the_axis(q, k, v, g, beta, cu: torch.Tensor):
    q = torch.cat(all_gather(q.squeeze(0)), dim=0).unsqueeze(0)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def pack(t):
    return t.reshape(1, -1, *t.shape[2:])


def by_a_helper_of_this_file(cu: torch.Tensor):
    q, g, beta = torch.randn(4, 32, 2, 16), torch.randn(4, 32, 2, 16), torch.rand(4, 32, 2)
    q, g, beta = pack(q), pack(g), pack(beta)
    # ok
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)
