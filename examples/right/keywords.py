"""The boundaries under the name that the kernel reads."""

from fla.ops.kda import chunk_kda


def train(q, k, v, g, beta, cu_seqlens):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)
