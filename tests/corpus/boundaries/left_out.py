"""A call without boundaries, and a later one that shows that it needed them; and what only looks so."""

import torch
from einops import rearrange
from fla.modules import ShortConvolution
from fla.ops.kda import chunk_kda
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_conv = ShortConvolution(256, 4)
        self.k_conv = ShortConvolution(256, 4)

    def straight(self, x, k, v, g, beta, cu_seqlens=None):
        # bad: KDA003
        q, _ = self.q_conv(x)
        q = rearrange(q, "... (h d) -> ... h d", d=64)
        # ok
        return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)

    def beside_another(self, x, v, g, beta, short, cu_seqlens=None):
        if short:
            # bad: KDA003
            q, _ = self.q_conv(x=self.q_proj(x))
            # ok
            k, _ = self.k_conv(x=self.k_proj(x), cu_seqlens=cu_seqlens)
        else:
            q, k = F.silu(self.q_proj(x)), F.silu(self.k_proj(x))
        q, k = (rearrange(t, "... (h d) -> ... h d", d=64) for t in (q, k))
        # ok
        return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)

    def alike(self, x, cu_seqlens=None):
        # ok
        q, _ = self.q_conv(self.q_proj(x), cu_seqlens=cu_seqlens)
        # bad: KDA003
        k, _ = self.k_conv(self.k_proj(x))
        return q, k

    def of_other_tokens(self, x, y, cu_seqlens=None):
        # ok
        q, _ = self.q_conv(self.q_proj(x), cu_seqlens=cu_seqlens)
        # ok
        k, _ = self.k_conv(self.k_proj(y))
        return q, k

    def one_step_or_many(self, x, k, v, g, beta, step, cu_seqlens=None):
        if step:
            # ok
            q, _ = self.q_conv(x)
        else:
            # ok
            q, _ = self.q_conv(x, cu_seqlens=cu_seqlens)
        q = q.unflatten(-1, (4, 64))
        # ok
        return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)

    def none_where_it_is_none(self, x, k, v, g, beta, cu_seqlens=None):
        if cu_seqlens is None:
            # ok
            q, _ = self.q_conv(x)
            # ok
            return chunk_kda(q.unflatten(-1, (4, 64)), k, v, g, beta, cu_seqlens=cu_seqlens)
        return None

    def rows_until_here(self, x, k, v, g, beta, cu_seqlens=None):
        # ok
        q, _ = self.q_conv(x)
        q = q.reshape(1, -1, 4, 64)
        # ok
        return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)


def one_after_the_other(q, k, v, g, beta, lengths):
    cu = F.pad(lengths.cumsum(0), (1, 0))
    # bad: KDA003
    first = chunk_kda(q, k, v, g, beta)
    # ok
    return first, chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def one_or_the_other(q, k, v, g, beta, lengths, dense):
    cu = F.pad(lengths.cumsum(0), (1, 0))
    if dense:
        # ok
        return chunk_kda(q, k, v, g, beta)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def made_afterwards(q, k, v, g, beta, lengths):
    # ok
    first = chunk_kda(q, k, v, g, beta)
    cu = torch.cat((lengths.new_zeros(1), lengths.cumsum(0)))
    # ok
    return first, chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def takes_and_ignores(q, k, v, g, beta, cu_seqlens=None):
    # ok
    return chunk_kda(q, k, v, g, beta)
