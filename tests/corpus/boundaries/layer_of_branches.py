"""A whole layer: the convolutions of one branch get the boundaries, through projections, maps and a cache helper."""

import torch.nn.functional as F
from einops import rearrange
from fla.layers.utils import get_layer_cache
from fla.modules import ShortConvolution
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from torch import nn


class Layer(nn.Module):
    def __init__(self, hidden_size: int, head_dim: int = 64, use_short_conv: bool = True):
        super().__init__()
        self.head_dim = head_dim
        self.use_short_conv = use_short_conv
        self.q_proj = nn.Linear(hidden_size, hidden_size)
        self.v_proj = nn.Linear(hidden_size, hidden_size)
        if use_short_conv:
            self.q_conv = ShortConvolution(hidden_size, 4)
            self.v_conv = ShortConvolution(hidden_size, 4)

    def forward(self, x, g, beta, mode, past=None, **kwargs):
        last = get_layer_cache(self, past)
        cu_seqlens = kwargs.get("cu_seqlens")
        if self.use_short_conv:
            # ok
            q, _ = self.q_conv(x=self.q_proj(x), cache=last, cu_seqlens=cu_seqlens)
            # ok
            v, _ = self.v_conv(x=self.v_proj(x), cache=last, cu_seqlens=cu_seqlens)
        else:
            q = F.silu(self.q_proj(x))
            v = F.silu(self.v_proj(x))
        q, v = (rearrange(y, "... (h d) -> ... h d", d=self.head_dim) for y in (q, v))
        if mode == "chunk":
            # bad: KDA003
            o, _ = chunk_kda(q, q, v, g, beta)
        else:
            # ok
            o, _ = fused_recurrent_kda(q, q, v, g, beta, cu_seqlens=cu_seqlens)
        return o

    def forward_rows(self, x, g, beta, **kwargs):
        # ok
        q, _ = self.q_conv(x=self.q_proj(x), cu_seqlens=kwargs.get("cu_seqlens"))
        q = rearrange(q, "1 (b t) (h d) -> b t h d", d=self.head_dim, b=g.shape[0])
        # ok
        return chunk_kda(q, q, q, g, beta)[0]
