"""FlashQLA: the gated delta rule with FLA's packed contract."""

from __future__ import annotations

from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Gate,
    Multiple,
    OffsetsEnd,
    OneOf,
    Packed,
    PerSequence,
    SameDtype,
    States,
    VFirst,
)
from kdacheck.contracts.table import tabulate

_OPERANDS = ("q", "k", "v", "g", "beta")
_HALF = 'Float16[Tensor, "{0}"] | BFloat16[Tensor, "{0}"]'

_AXES = {
    "q": _HALF.format("B T H K"),
    "k": _HALF.format("B T H K"),
    "v": _HALF.format("B T HV V"),
    "g": 'Float[Tensor, "B T HV"]',
    "beta": 'Float[Tensor, "B T HV"]',
    "initial_state": 'Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"]',
    "cu_seqlens": 'Int[Tensor, "N+1"]',
}

_LAWS: tuple[Clause, ...] = (
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    SameDtype(("q", "k", "v")),
    States(("initial_state",)),
    VFirst(("initial_state",), flag="state_v_first"),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    Multiple("HV", "H"),
    OneOf("head_first", (False,)),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
)

_SIGNATURE = (
    "chunk_gated_delta_rule(q, k, v, g, beta, scale=None, initial_state=None, "
    "output_final_state=False, use_qk_l2norm_in_kernel=False, cu_seqlens=None, head_first=False, "
    "state_v_first=False, auto_cp={0}, enable_fwd_cp_cache={0}{1})"
)
_PATHS = (
    "flash_qla.chunk_gated_delta_rule",
    "flash_qla.ops.chunk_gated_delta_rule",
    "flash_qla.ops.gated_delta_rule.chunk_gated_delta_rule",
    "flash_qla.ops.gated_delta_rule.chunk.chunk_gated_delta_rule",
)

for versions, parallel, more, instead in (
    (">=0.1.3", "True", ", cp_context=None, force_intra_cp=False", ("cp_context",)),
    (">=0.1.2,<0.1.3", "True", "", ()),
    (">=0.1.1,<0.1.2", "False", "", ()),
):
    tabulate(
        _SIGNATURE.format(parallel, more),
        _PATHS,
        (*_LAWS, Boundaries("cu_seqlens", _OPERANDS, instead=instead)),
        _AXES,
        package="flash-qla",
        versions=versions,
    )
