"""A bias spread over the rows of the batch: three dimensions, and no memory of its own behind the first."""

from sglang.kernels.ops.attention.helion.kda_replayssm import (
    helion_fused_recurrent_kda_replayssm_decode,
)


def decode(layer, mixed_qkv, a, b, scale, pool, caches, out, slots, write_pos):
    d_cache, k_cache, g_cache = caches
    dt_bias = layer.dt_bias.unsqueeze(0).expand(4, -1, -1)
    return helion_fused_recurrent_kda_replayssm_decode(
        mixed_qkv,
        a,
        b,
        layer.A_log,
        dt_bias,
        scale,
        pool,
        d_cache,
        k_cache,
        g_cache,
        out,
        slots,
        write_pos,
    )
