"""One kernel of a function gets the sequence boundaries and its sibling does not."""

import torch
from fla.modules.conv import causal_conv1d
from fla.ops.kda import chunk_kda
from fla.ops.kda.gate import fused_kda_gate


def project(x):
    return (t.unflatten(-1, (8, 64)) for t in x.chunk(3, dim=-1))


def the_recurrence_misses_them(x, w, g, beta, cu: torch.Tensor):
    x, _ = causal_conv1d(x, w, cu_seqlens=cu)
    x = x.unflatten(-1, (8, 64))
    # bad: KDA003
    return chunk_kda(x, x, x, g, beta)


def the_recurrence_misses_them_behind_a_projection(x, w, g, beta, cu: torch.Tensor):
    x, _ = causal_conv1d(x, w, cu_seqlens=cu)
    q, k, v = project(x)
    # later: KDA003
    return chunk_kda(q, k, v, g, beta)


def the_recurrence_gets_them(x, w, g, beta, cu: torch.Tensor):
    x, _ = causal_conv1d(x, w, cu_seqlens=cu)
    q, k, v = project(x)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def pointwise_gates_take_none(q, k, v, g, beta, A_log, dt_bias, cu: torch.Tensor):
    # ok
    g = fused_kda_gate(g, A_log, dt_bias)
    # ok
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)


def packed_through_a_context(x, w, g, beta, context, cu: torch.Tensor):
    x, _ = causal_conv1d(x, w, cu_seqlens=cu)
    q, k, v = project(x)
    # ok
    return chunk_kda(q, k, v, g, beta, cp_context=context)


def through_a_plan(wrapper, q, k, v, g, beta, cu):
    wrapper.plan(cu)
    # ok
    return wrapper.run(q, k, v, g, beta)


def the_dense_branch_has_none(q, k, v, g, beta, cu):
    # ok
    o = (
        chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
        if cu is not None
        else chunk_kda(q, k, v, g, beta)
    )
    return o
