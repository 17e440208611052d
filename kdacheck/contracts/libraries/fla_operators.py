"""FLA (`fla-core`): its other operators that take sequence boundaries, as a table.

Of these the catalogue knows which operands are packed, what is counted by the sequences, and the signature.
"""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Gate,
    OffsetsEnd,
    Packed,
    PerSequence,
    SameDevice,
    States,
    Swallows,
)
from kdacheck.contracts.table import tabulate

#: The release since which the signature is the same, whether `fla.ops` exports it too (`*`), the module under
#: `fla.ops`, the signature, and the keywords that are read from **kwargs or refused.
_OPERATORS = """\
0.6.0 * attn.parallel parallel_attn(q, k, v, g=None, scale=None, window_size=None,
    cu_seqlens=None, chunk_indices=None, *, sink_bias=None)
0.4.2 * comba.chunk chunk_comba(q, k, v, p, g, beta=None, scale=None, initial_state=None,
    output_final_state=False, use_qk_l2norm_in_kernel=False, cu_seqlens=None, cu_seqlens_cpu=None)
0.4.0 * comba.fused_recurrent fused_recurrent_comba(q, k, p, v, g, beta=None, scale=None,
    initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False, cu_seqlens=None)
0.6.0 * cyfa.chunk chunk_cyfa(q, k, v, g, delta, beta, readout, q_norm_weight, k_norm_weight,
    q_norm_eps, k_norm_eps, scale=None, initial_state=None, output_final_state=False,
    cu_seqlens=None, cu_seqlens_cpu=None, checkpoint_level=0)
0.6.0 * cyfa.fused_recurrent fused_recurrent_cyfa(q, k, v, g, delta, beta, readout, q_norm_weight,
    k_norm_weight, q_norm_eps, k_norm_eps, scale=None, initial_state=None,
    output_final_state=False, cu_seqlens=None)
0.4.0 - deltaformer.parallel deltaformer_attn(q, k, v, beta=None, attention_mask=None,
    cu_seqlens=None, C=BLOCK_SIZE_C)
0.6.0 * forgetting_attn.parallel parallel_forgetting_attn(q, k, v, g, scale=None,
    window_size=None, cu_seqlens=None)
0.6.0 - gated_delta_product.chunk chunk_gated_delta_product(q, k, v, g, beta, num_householder,
    scale=None, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
    cu_seqlens=None, cu_seqlens_cpu=None, cp_context=None)
0.5.0 - gated_delta_rule.gate gdn_gate_chunk_cumsum(g, A_log, chunk_size, scale=None,
    dt_bias=None, cu_seqlens=None, chunk_indices=None, output_dtype=torch.float)
0.5.2 - gated_oja_rule.chunk chunk_gated_oja_rule(q, k, v, gv, beta, scale=None,
    initial_state=None, output_final_state=False, use_q_l2norm=False, use_k_l2norm=False,
    cu_seqlens=None, cu_seqlens_cpu=None) reads:use_qk_l2norm_in_kernel,chunk_size
    refuses:head_first
0.4.2 - gated_oja_rule.fused_recurrent fused_recurrent_gated_oja_rule(q, k, v, gv=None, beta=None,
    scale=None, initial_state=None, output_final_state=False, use_q_l2norm=False,
    use_k_l2norm=False, cu_seqlens=None) reads:use_qk_l2norm_in_kernel
0.6.0 - gdn2.chunk chunk_gdn2(q, k, v, g, b, w, scale=None, initial_state=None,
    output_final_state=False, use_qk_l2norm_in_kernel=False, use_gate_in_kernel=False,
    cu_seqlens=None, cu_seqlens_cpu=None, safe_gate=False, lower_bound=None,
    disable_recompute=False, return_intermediate_states=False, state_v_first=False,
    cp_context=None) reads:A_log,dt_bias,chunk_size,transpose_state_layout
0.5.1 - gdn2.fused_recurrent fused_recurrent_gdn2(q, k, v, g, b, w, A_log=None, dt_bias=None,
    scale=None, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
    use_gate_in_kernel=False, lower_bound=None, state_v_first=False, cu_seqlens=None)
    reads:transpose_state_layout
0.6.0 * generalized_delta_rule.dplr.chunk chunk_dplr_delta_rule(q, k, v, a, b, gk, scale=None,
    initial_state=None, output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None,
    safe_gate=False, chunk_size=None, disable_recompute=False, cp_context=None, lower_bound=None)
    reads: refuses:head_first
0.4.0 * generalized_delta_rule.dplr.fused_recurrent fused_recurrent_dplr_delta_rule(q, k, v, a, b,
    gk, scale=None, initial_state=None, output_final_state=False, reverse=False, cu_seqlens=None)
0.5.2 * generalized_delta_rule.iplr.chunk chunk_iplr_delta_rule(q, k, v, a, b, scale=None,
    initial_state=None, output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None)
    reads:chunk_size refuses:head_first
0.4.0 * generalized_delta_rule.iplr.fused_recurrent fused_recurrent_iplr_delta_rule(q, k, v, a, b,
    scale=None, initial_state=None, output_final_state=False, cu_seqlens=None)
0.5.1 * gla.fused_recurrent fused_recurrent_gla(q, k, v, gk=None, gv=None, scale=None,
    initial_state=None, output_final_state=False, reverse=False, state_v_first=False,
    cu_seqlens=None) reads:transpose_state_layout
0.5.2 * gsa.chunk chunk_gsa(q, k, v, s, g=None, scale=None, initial_state=None,
    output_final_state=False, checkpoint_level=2, cu_seqlens=None, cu_seqlens_cpu=None)
    reads:chunk_size refuses:head_first
0.4.0 * gsa.fused_recurrent fused_recurrent_gsa(q, k, v, s, g=None, scale=None,
    initial_state=None, output_final_state=False, reverse=False, cu_seqlens=None)
0.4.0 * hgrn.fused_recurrent fused_recurrent_hgrn(x, g, initial_state=None,
    output_final_state=False, cu_seqlens=None)
0.6.0 - lightnet.chunk chunk_lightnet(q, k, v, scale=None, initial_state=None,
    output_final_state=False, state_v_first=False, cu_seqlens=None)
0.6.0 - lightnet.fused_recurrent fused_recurrent_lightnet(q, k, v, scale=None, initial_state=None,
    output_final_state=False, state_v_first=False, cu_seqlens=None)
0.5.2 * lightning_attn.chunk chunk_lightning_attn(q, k, v, layer_idx, num_layers, scale=None,
    initial_state=None, output_final_state=False, cu_seqlens=None) reads:chunk_size
    refuses:head_first
0.6.0 * lightning_attn.fused_recurrent fused_recurrent_lightning_attn(q, k, v, layer_idx,
    num_layers, scale=None, initial_state=None, output_final_state=False, reverse=False,
    cu_seqlens=None)
0.5.0 * linear_attn.chunk chunk_linear_attn(q, k, v, scale=None, initial_state=None,
    output_final_state=False, normalize=True, cu_seqlens=None)
0.4.0 * linear_attn.fused_chunk fused_chunk_linear_attn(q, k, v, scale=None, initial_state=None,
    output_final_state=False, normalize=True, cu_seqlens=None)
0.4.0 * linear_attn.fused_recurrent fused_recurrent_linear_attn(q, k, v, scale=None,
    initial_state=None, output_final_state=False, reverse=False, normalize=False, cu_seqlens=None)
0.6.0 * log_linear_attn.chunk chunk_log_linear_attn(q, k, v, g, level_scales, initial_state=None,
    output_final_state=False, cu_seqlens=None, scale=1.0)
0.4.2 * mesa_net.chunk chunk_mesa_net(q, k, v, g, beta, lamb, h_kk_init=None, h_kv_init=None,
    output_final_state=False, max_CG_iteration=30, use_qk_l2norm_in_kernel=False, cu_seqlens=None,
    cu_seqlens_cpu=None)
0.5.0 - moba.parallel parallel_moba(q, k, v, cu_seqlens, max_seqlen, chunk_size, topk)
0.4.0 * nsa.parallel parallel_nsa(q, k, v, g_cmp=None, g_slc=None, g_swa=None, block_indices=None,
    block_counts=16, block_size=64, window_size=0, scale=None, cu_seqlens=None)
0.6.0 * parallax.parallel parallel_parallax(q, r, k, v, scale=None, window_size=None,
    cu_seqlens=None)
0.4.0 * path_attn.parallel parallel_path_attn(q, k, v, w, beta, g=None, scale=None,
    cu_seqlens=None, use_cache=False)
0.6.0 * precond_gated_delta_rule.chunk chunk_precond_gated_delta_rule(q, k, v, g_atk, g, beta_atk,
    beta, scale=None, initial_state=None, initial_A_state=None, output_final_state=False,
    use_qk_l2norm_in_kernel=True, cu_seqlens=None, cu_seqlens_cpu=None, cp_context=None,
    transpose_state_layout=False, x=1.5, eps=1e-06, log_atk_scale=None)
0.6.0 * precond_gated_delta_rule.fused_recurrent fused_recurrent_precond_gated_delta_rule(q, k, v,
    g=None, gk=None, gv=None, beta=None, g_atk=None, beta_atk=None, scale=None,
    initial_state=None, initial_A_state=None, output_final_state=False,
    use_qk_l2norm_in_kernel=True, cu_seqlens=None, transpose_state_layout=False, x=1.5, eps=1e-06,
    log_atk_scale=None)
0.6.0 * precond_kda.chunk chunk_precond_kda(q, k, v, g, g_atk, beta_atk, beta, scale=None,
    initial_state=None, initial_A_state=None, output_final_state=False, use_gate_in_kernel=False,
    safe_gate=False, lower_bound=None, cu_seqlens=None, cu_seqlens_cpu=None, chunk_indices=None,
    cp_context=None, transpose_state_layout=False, x=1.5, eps=1e-06, log_atk_scale=None,
    solve_tril_precision=None, disable_recompute=False, return_intermediate_states=False)
    reads:A_log,dt_bias
0.6.0 * precond_kda.fused_recurrent fused_recurrent_precond_kda(q, k, v, g, g_atk, beta_atk, beta,
    A_log=None, dt_bias=None, scale=None, initial_state=None, initial_A_state=None,
    output_final_state=False, use_qk_l2norm_in_kernel=True, use_gate_in_kernel=False,
    lower_bound=None, cu_seqlens=None, transpose_state_layout=False, x=1.5, eps=1e-06,
    log_atk_scale=None) reads:
0.5.2 * retention.chunk chunk_retention(q, k, v, scale=None, initial_state=None,
    output_final_state=False, cu_seqlens=None) reads:chunk_size refuses:head_first
0.6.0 * retention.fused_chunk fused_chunk_retention(q, k, v, scale=None, initial_state=None,
    output_final_state=False, cu_seqlens=None)
0.5.1 * retention.fused_recurrent fused_recurrent_retention(q, k, v, scale=None,
    initial_state=None, output_final_state=False, reverse=False, state_v_first=False,
    cu_seqlens=None) reads:transpose_state_layout
0.6.0 * retention.parallel parallel_retention(q, k, v, scale=None, output_attentions=False,
    cu_seqlens=None)
0.5.2 * rwkv6.chunk chunk_rwkv6(r, k, v, w, u, scale=None, initial_state=None,
    output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None) reads:chunk_size
    refuses:head_first
0.6.0 * rwkv6.fused_recurrent fused_recurrent_rwkv6(r, k, v, w, u, scale=None, initial_state=None,
    output_final_state=False, reverse=False, cu_seqlens=None)
0.6.0 * rwkv7.chunk chunk_rwkv7(r, w, k, v, a, b, scale=1.0, initial_state=None,
    output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None, safe_gate=False,
    chunk_size=None, disable_recompute=False, cp_context=None, lower_bound=None)
0.6.0 * rwkv7.fused_recurrent fused_recurrent_rwkv7(r, w, k, v, a, b, scale=None,
    initial_state=None, output_final_state=True, cu_seqlens=None)
0.6.0 - rwkv7.fused_recurrent fused_mul_recurrent_rwkv7(r, w, k, v, kk, a, scale=1.0,
    initial_state=None, output_final_state=False, reverse=False, cu_seqlens=None)
0.4.0 * simple_gla.fused_chunk fused_chunk_simple_gla(q, k, v, g=None, g_gamma=None, scale=None,
    initial_state=None, output_final_state=False, cu_seqlens=None)
0.5.1 * simple_gla.fused_recurrent fused_recurrent_simple_gla(q, k, v, g=None, g_gamma=None,
    scale=None, initial_state=None, output_final_state=False, reverse=False, state_v_first=False,
    cu_seqlens=None) reads:transpose_state_layout
0.6.0 * simple_gla.parallel parallel_simple_gla(q, k, v, g=None, scale=None,
    output_attentions=False, cu_seqlens=None, cu_seqlens_cpu=None)
0.6.0 * stickbreaking_attn.parallel parallel_stickbreaking_attn(q, k, v, scale=None,
    attend_current=False, cu_seqlens=None)
0.6.0 - ttt.chunk chunk_ttt_linear(q, k, v, w, b, eta, scale=None, eps=1e-06, chunk_size=16,
    initial_state=None, initial_state_bias=None, output_final_state=False, cu_seqlens=None,
    cu_seqlens_cpu=None)
0.6.0 - ttt.fused_chunk fused_chunk_ttt_linear(q, k, v, w, b, eta, scale=None, eps=1e-06,
    chunk_size=16, initial_state=None, initial_state_bias=None, output_final_state=False,
    cu_seqlens=None)
0.6.0 - utils.cumsum chunk_global_cumsum(s, reverse=False, cu_seqlens=None, scale=None,
    output_dtype=torch.float) reads: refuses:head_first
0.6.0 - utils.pooling mean_pooling(x, chunk_size, cu_seqlens=None) reads: refuses:head_first
0.5.1 * wall_attn.parallel parallel_wall_attn(q, k, v, g, *, g_scalar=None, sink_bias=None,
    scale=None, window_size=None, cu_seqlens=None)
"""

_RANK_4 = frozenset(("q", "k", "v", "kk"))
_PACKED = _RANK_4 | frozenset(
    (
        *("a", "b", "beta", "beta_atk", "delta", "eta", "g", "g_atk", "g_cmp", "g_scalar", "g_slc"),
        *("g_swa", "gk", "gv", "level_scales", "p", "r", "s", "w", "x"),
    )
)
_GATES = frozenset(("beta", "g", "gk", "gv"))

#: Parameters that have a name of packed operands, and are parameters of the model.
_WHOLE = {
    "chunk_ttt_linear": frozenset(("w", "b")),
    "fused_chunk_ttt_linear": frozenset(("w", "b")),
    "chunk_precond_gated_delta_rule": frozenset(("x",)),
    "fused_recurrent_precond_gated_delta_rule": frozenset(("x",)),
    "chunk_precond_kda": frozenset(("x",)),
    "fused_recurrent_precond_kda": frozenset(("x",)),
}

#: Keys and values with more tokens than queries, or with other ones.
_OWN_TOKENS = frozenset(("chunk_gated_delta_product", "parallel_nsa"))

#: Callees whose state is a tuple or an object.
_STATE_OBJECTS = frozenset(
    (
        *("chunk_cyfa", "chunk_gsa", "chunk_lightnet", "chunk_log_linear_attn"),
        *("fused_recurrent_cyfa", "fused_recurrent_gsa", "fused_recurrent_lightnet"),
    )
)
_STATES = ("initial_state", "initial_A_state", "initial_state_bias", "h_kk_init", "h_kv_init")


def _lines(table: str) -> Iterator[str]:
    line = ""
    for part in table.splitlines():
        if part.startswith(" "):
            line = f"{line} {part.strip()}"
        else:
            if line:
                yield line
            line = part
    yield line


def _declare(row: str) -> None:
    since, exported, module, rest = row.split(" ", 3)
    signature, _, keywords = rest.partition(")")
    name, _, inside = signature.partition("(")
    given = [part.partition("=")[0] for part in inside.split(", ")]
    operands = tuple(p for p in given if p in _PACKED and p not in _WHOLE.get(name, ()))
    first = "s" if name == "chunk_global_cumsum" else operands[0]
    tokens = "_" if name in _OWN_TOKENS else "T"
    # where a gate has no default, some of these operators do without it all the same
    axes = dict.fromkeys(operands, f'Float[Tensor, "B {tokens} ..."] | None')
    axes |= {p: f'Float[Tensor, "B {tokens} _ _"]' for p in operands if p in _RANK_4}
    axes |= {"cu_seqlens": 'Int[Tensor, "N+1"]', "cu_seqlens_cpu": 'Int[Tensor, "N+1"]'}
    states = tuple(p for p in given if p in _STATES and name not in _STATE_OBJECTS)
    axes |= dict.fromkeys(states, 'Float[Tensor, "N ..."]')
    instead = ("cp_context",) if "cp_context" in given else ()
    laws: list[Clause] = [
        Packed(operands, by="cu_seqlens"),
        Boundaries("cu_seqlens", operands, instead=instead),
        SameDevice(but=("cu_seqlens_cpu",) if "cu_seqlens_cpu" in given else ()),
    ]
    if gates := tuple(p for p in operands if p in _GATES):
        laws.append(Gate(gates))
    if states:
        laws += [States(states), PerSequence(states[0], by="cu_seqlens", dense="B")]
    if tokens == "T":
        laws.append(OffsetsEnd("cu_seqlens", tokens_of=first))
    read: dict[str, tuple[str, ...]] = {}
    for part in keywords.split():
        kind, _, names = part.partition(":")
        read[kind] = tuple(filter(None, names.split(",")))
    if "reads" in read:
        laws.append(Swallows(read["reads"], read.get("refuses", ())))
    family, *_ = module.split(".")
    paths = [f"fla.ops.{family}.{name}", f"fla.ops.{module}.{name}"]
    if exported == "*":
        paths.append(f"fla.ops.{name}")
    if family == "gated_delta_rule":
        paths = paths[1:]
    tabulate(f"{signature})", paths, tuple(laws), axes, package="fla-core", versions=f">={since}")


for _row in _lines(_OPERATORS):
    _declare(_row)
