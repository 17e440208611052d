"""aiter: chunked KDA in Triton, since 0.1.20; read at tag v0.1.20.post1 and at ROCm/aiter e4048607.

The released wheels are older and have no KDA, so nothing checks this entry, and its signature stays open.
"""

from __future__ import annotations

from kdacheck.contracts.clauses import (
    AtMost,
    Boundaries,
    Elements,
    Gate,
    GateParameters,
    Multiple,
    Needs,
    OffsetsEnd,
    OneOf,
    Open,
    Packed,
    PerSequence,
    ReadOnlyWith,
    States,
    VFirst,
    Within,
)
from kdacheck.contracts.table import tabulate

_OPERANDS = ("q", "k", "v", "g", "beta")

tabulate(
    "chunk_kimi_delta_attn(q, k, v, g, beta, A_log=None, dt_bias=None, scale=None, "
    "initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False, "
    "use_gate_in_kernel=False, use_beta_sigmoid_in_kernel=False, safe_gate=False, lower_bound=None, "
    "state_v_first=False, disable_recompute=False, chunk_size=None, cu_seqlens=None)",
    (
        "aiter.ops.triton.kimi_delta_attn.chunk_kimi_delta_attn",
        "aiter.ops.triton.kimi_delta_attn.chunk_delta_attn.chunk_kimi_delta_attn",
    ),
    (
        Open(),
        Packed(_OPERANDS, by="cu_seqlens"),
        Gate(("g", "beta")),
        GateParameters(("A_log", "dt_bias")),
        Elements("A_log", "HV"),
        Elements("dt_bias", "HV*K"),
        ReadOnlyWith("use_gate_in_kernel", ("A_log", "dt_bias")),
        Needs(("use_gate_in_kernel",), ("A_log",)),
        Needs(("use_gate_in_kernel", "safe_gate"), ("lower_bound",)),
        Within("lower_bound", -5, 0, flags=("use_gate_in_kernel", "safe_gate")),
        States(("initial_state",)),
        VFirst(("initial_state",), flag="state_v_first"),
        PerSequence("initial_state", by="cu_seqlens"),
        OneOf("chunk_size", (32, 64)),
        AtMost("K", 256),
        Multiple("HV", "H"),
        Boundaries("cu_seqlens", _OPERANDS),
        OffsetsEnd("cu_seqlens", tokens_of="q"),
    ),
    {
        "q": 'Float[Tensor, "B T H K"]',
        "k": 'Float[Tensor, "B T H K"]',
        "v": 'Float[Tensor, "B T HV V"]',
        "g": 'Float[Tensor, "B T HV K"]',
        "beta": 'Float[Tensor, "B T HV"]',
        "A_log": 'Float[Tensor, "..."]',
        "dt_bias": 'Float[Tensor, "..."]',
        "initial_state": 'Float[Tensor, "N HV K V"] | Float[Tensor, "N HV V K"]',
        "cu_seqlens": 'Int[Tensor, "N+1"]',
    },
    package="amd-aiter",
    versions=">=0.1.20",
)
