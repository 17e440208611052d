"""Where `dt_bias` and `A_log` come from: views that stay dense, copies, and callees that copy for themselves."""

import torch
from fla.ops.kda import chunk_kda
from sglang.kernels.ops.attention.fla.fused_recurrent import fused_recurrent_kda_packed_decode
from sglang.kernels.ops.attention.fla.kda import chunk_kda as triton_chunk_kda
from sglang.kernels.ops.attention.helion.kda_prefill import chunk_kda as helion_chunk_kda
from training.pools import POOL


def shards_of_a_flat_parameter(q, k, v, g, beta, bias, A, lo, hi, tp, rank):
    for shard in (bias[lo:hi], bias.narrow(0, lo, hi), bias.chunk(tp, 0)[rank]):
        # ok
        triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=shard, **POOL)


def one_of_a_stack(q, k, v, g, beta, layer: int):
    A, bias = torch.zeros(4, 8), torch.zeros(4, 1024)
    # ok
    return triton_chunk_kda(q, k, v, g, beta, A_log=A[layer], dt_bias=bias[layer], **POOL)


def expanded_then_copied(q, k, v, g, beta, A, K):
    h = torch.zeros(8)
    # ok
    return triton_chunk_kda(
        q, k, v, g, beta, A_log=A, dt_bias=h[:, None].expand(-1, 128).reshape(-1), **POOL
    )


def repeated(q, k, v, g, beta, A):
    # ok
    return triton_chunk_kda(
        q, k, v, g, beta, A_log=A, dt_bias=torch.zeros(8).repeat_interleave(128), **POOL
    )


def fla_copies(q, k, v, g, beta, A):
    bias = torch.zeros(128, 8).t()
    # ok
    return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, A_log=A, dt_bias=bias)


def helion_prefill_flattens(q, k, v, g, beta, A, pool, idx):
    bias = torch.zeros(128, 8).t()
    # ok
    return helion_chunk_kda(
        q, k, v, g, beta, A_log=A, dt_bias=bias, initial_state=pool, initial_state_indices=idx
    )


def a_column_of_a_wider_matrix(q, k, v, g, beta, A):
    bias = torch.zeros(1024, 2)[:, 0]
    # bad: KDA101
    return triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=bias, **POOL)


def a_column_of_an_unknown_matrix(q, k, v, g, beta, A, table):
    # ok
    return triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=table[:, 0], **POOL)


def every_second_entry(q, k, v, g, beta, A):
    bias = torch.zeros(2048)
    # bad: KDA101
    return triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=bias[::2], **POOL)


def one_value_for_all_channels(m, a, b, A, pool, out, idx):
    # bad: KDA101
    return fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=torch.zeros(1).expand(1024),
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def expanded_to_its_own_size(m, a, b, A, pool, out, idx):
    bias = torch.zeros(1024)
    # ok
    return fused_recurrent_kda_packed_decode(
        mixed_qkv=m,
        a=a,
        b=b,
        A_log=A,
        dt_bias=bias.expand(1024),
        scale=1.0,
        initial_state=pool,
        out=out,
        ssm_state_indices=idx,
    )


def transposed_then_made_dense(q, k, v, g, beta, A):
    bias = torch.zeros(128, 8).t().contiguous()
    # ok
    return triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=bias, **POOL)


def transposed_then_cloned(q, k, v, g, beta, A):
    bias = torch.zeros(128, 8).t().clone()
    # bad: KDA101
    return triton_chunk_kda(q, k, v, g, beta, A_log=A, dt_bias=bias, **POOL)
