"""The KDA of Helion's examples after 1.4.0, whose own has no offsets; read at pytorch/helion ef091f41.

Neither the wheels nor the source archives hold the examples: they are copied into projects, so the signature stays open.
"""

from __future__ import annotations

from kdacheck.contracts.clauses import (
    Boundaries,
    Needs,
    OffsetsEnd,
    OneOf,
    Open,
    Packed,
    PerSequence,
    ReadOnlyWith,
    States,
    StrictOffsets,
    VFirst,
)
from kdacheck.contracts.table import tabulate

_OPERANDS = ("q", "k", "v", "g", "beta")

tabulate(
    "helion_chunk_kda(q, k, v, g=None, beta=None, *, C=64, scale=1.0, initial_state=None, "
    "return_final_state=False, use_qk_l2norm_in_kernel=False, use_gate_in_kernel=False, "
    "use_beta_sigmoid_in_kernel=False, A_log=None, dt_bias=None, lower_bound=None, "
    "cu_seqlens=None, state_v_first=False)",
    (
        "examples.linear.linear_attention_engine.helion_chunk_kda",
        "linear_attention_engine.helion_chunk_kda",
    ),
    (
        Open(),
        Packed(_OPERANDS, by="cu_seqlens"),
        OneOf("C", (32, 64)),
        ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
        Needs(("use_gate_in_kernel",), ("A_log",)),
        States(("initial_state",)),
        VFirst(("initial_state",), flag="state_v_first"),
        PerSequence("initial_state", by="cu_seqlens"),
        Boundaries("cu_seqlens", _OPERANDS),
        OffsetsEnd("cu_seqlens", tokens_of="q"),
        StrictOffsets("cu_seqlens"),
    ),
    {
        "q": 'Float[Tensor, "B _ _ K"]',
        "k": 'Float[Tensor, "B _ _ K"]',
        "v": 'Float[Tensor, "B _ _ _"]',
        "g": 'Float[Tensor, "B _ _ K"]',
        "beta": 'Float[Tensor, "B _ _"]',
        "A_log": 'Float[Tensor, "..."]',
        "dt_bias": 'Float[Tensor, "..."]',
        "initial_state": 'Float[Tensor, "N _ _ _"]',
        "cu_seqlens": 'Int[Tensor, "N+1"]',
    },
    package="helion",
    versions=">=1.5.0",
    doc="Dense is head-first, packed is token-major.",
)
