"""A misspelled keyword: FLA takes any, so the boundaries are lost without a word."""

from fla.ops.kda import chunk_kda


def train(q, k, v, g, beta, cu_seqlens):
    return chunk_kda(q, k, v, g, beta, cu_seqlen=cu_seqlens)
