"""flashinfer: recurrent KDA, its decode kernels, and the gated delta rule without a batch axis."""

from __future__ import annotations

from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Dense,
    Elements,
    Gate,
    GateParameters,
    Indices,
    Multiple,
    Needs,
    Open,
    Packed,
    SameDevice,
    States,
    VFirst,
)
from kdacheck.contracts.table import tabulate

_OPERANDS = ("q", "k", "v", "g", "beta")

_RECURRENT: tuple[Clause, ...] = (
    Packed(_OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    States(("initial_state", "initial_state_source")),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Needs(("lower_bound",), ("use_gate_in_kernel",)),
    Needs(("initial_state_source",), ("initial_state_indices",)),
    Multiple("HV", "H"),
    Boundaries("cu_seqlens", _OPERANDS),
)

_AXES = {
    "q": 'Float[Tensor, "B T H K"]',
    "k": 'Float[Tensor, "B T H K"]',
    "v": 'Float[Tensor, "B T HV V"]',
    "g": 'Float[Tensor, "B T HV K"]',
    "beta": 'Float[Tensor, "B T HV"]',
    "A_log": 'Float32[Tensor, "..."]',
    "dt_bias": 'Float32[Tensor, "..."]',
    "initial_state": 'Float[Tensor, "_ HV V K"]',
    "initial_state_source": 'Float[Tensor, "_ HV V K"]',
    "cu_seqlens": 'Int[Tensor, "_"]',
    "ssm_state_indices": 'Int32[Tensor, "..."]',
    "num_accepted_tokens": 'Int[Tensor, "..."]',
    "initial_state_indices": 'Int32[Tensor, "_"]',
    "output": 'Float[Tensor, "..."]',
    "checkpoint_state_indices": 'Int[Tensor, "..."]',
}

_SHARED = (
    "q, k, v, g, beta, A_log=None, dt_bias=None, scale=None, initial_state=None, "
    "output_final_state=False, use_qk_l2norm_in_kernel=True, use_gate_in_kernel=False, "
    "lower_bound=None, cu_seqlens=None, ssm_state_indices=None, num_spec_tokens=None, "
    "num_accepted_tokens=None, output=None, initial_state_source=None, initial_state_indices=None, "
    "beta_is_logit=False"
)
_CHECKPOINTS = (
    "seq_order=None, prefill_workspace=None, state_checkpoints=None, checkpoint_cu_starts=None, "
    "checkpoint_every_n_tokens=0"
)
_FROZEN = "disable_state_update=False, correction_cache=None, kg_cache=None"

for versions, more, law in (
    (
        ">=0.7.0",
        f"{_CHECKPOINTS}, checkpoint_state_indices=None, *, {_FROZEN}, backend='auto'",
        (),
    ),
    (">=0.6.18,<0.7.0", _CHECKPOINTS, ()),
    ("<0.6.18", _CHECKPOINTS, (Open(),)),
):
    tabulate(
        f"recurrent_kda({_SHARED}, {more})",
        ("flashinfer.recurrent_kda", "flashinfer.kda.recurrent_kda"),
        (*_RECURRENT, *law),
        _AXES,
        package="flashinfer-python",
        versions=versions,
        doc="Decode and prefill behind one name; which route runs depends on shapes.",
    )

for versions, more, law in (
    (">=0.7.1", f"{_FROZEN}, backend=None", ()),
    (">=0.7.0,<0.7.1", f"{_FROZEN}, backend='cute-dsl'", ()),
    (">=0.6.18,<0.7.0", "backend='cute-dsl'", ()),
):
    tabulate(
        f"recurrent_kda({_SHARED}, *, {more})",
        ("flashinfer.kda_decode.recurrent_kda",),
        (*_RECURRENT, *law),
        _AXES,
        package="flashinfer-python",
        versions=versions,
        doc="Decode alone.",
    )

tabulate(
    "packed_kda_decode(mixed_qkv, raw_gate, raw_beta, A_log, dt_bias, state, state_indices, output=None)",
    ("flashinfer.packed_kda_decode", "flashinfer.kda_decode.packed_kda_decode"),
    (
        GateParameters(("A_log", "dt_bias")),
        Dense(("A_log", "dt_bias", "output", "state_indices")),
        Dense(("mixed_qkv", "raw_gate", "raw_beta"), trailing=1),
        Dense(("state",), trailing=3),
        States(("state",)),
        Indices(("state_indices",), pool="state"),
        SameDevice(),
    ),
    {
        "mixed_qkv": 'BFloat16[Tensor, "B 4608"]',
        "raw_gate": 'BFloat16[Tensor, "B 1536"]',
        "raw_beta": 'BFloat16[Tensor, "B 12"]',
        "A_log": 'Float32[Tensor, "12"]',
        "dt_bias": 'Float32[Tensor, "1536"]',
        "state": 'BFloat16[Tensor, "slots 12 128 128"]',
        "state_indices": 'Int32[Tensor, "B"]',
        "output": 'BFloat16[Tensor, "B 1 12 128"]',
    },
    package="flashinfer-python",
    versions=">=0.6.18",
    doc="One token per row of Kimi K3; a negative index is padding.",
)

_FUSED = (
    "x, weight, conv_state, raw_gate, raw_beta, A_log, dt_bias, state_indices, state, output_gate, "
    "norm_weight, lower_bound=-5.0, norm_eps=1e-5, output=None"
)

for versions, more in (
    (">=0.7.1", ", *, backend='cute-dsl', state_indices_mode=None"),
    (">=0.6.18,<0.7.1", ""),
):
    tabulate(
        f"fused_kda_decode({_FUSED}{more})",
        ("flashinfer.fused_kda_decode", "flashinfer.kda_decode.fused_kda_decode"),
        (
            GateParameters(("A_log", "dt_bias")),
            Elements("A_log", "H"),
            Elements("dt_bias", "H*128"),
            Dense(("A_log", "dt_bias", "raw_gate", "weight", "output", "state_indices")),
            Dense(("x",), trailing=1),
            Dense(("state",), trailing=3),
            States(("state",)),
            Indices(("state_indices",), live_zero=False, pool="state"),
            SameDevice(),
        ),
        {
            "x": 'BFloat16[Tensor, "B 3*H*128"]',
            "weight": 'Float32[Tensor, "3 4 H*128"]',
            "conv_state": 'BFloat16[Tensor, "slots 3*H*128 3"]',
            "raw_gate": 'BFloat16[Tensor, "1 B H 128"]',
            "raw_beta": 'BFloat16[Tensor, "1 B H"]',
            "A_log": 'Float32[Tensor, "..."]',
            "dt_bias": 'Float32[Tensor, "..."]',
            "state_indices": 'Int32[Tensor, "B"]',
            "state": 'Float32[Tensor, "slots H 128 128"] | BFloat16[Tensor, "slots H 128 128"]',
            "output": 'BFloat16[Tensor, "1 B H 128"]',
        },
        package="flashinfer-python",
        versions=versions,
        doc="Convolution, one step of KDA and the gated norm; slot 0 is reserved.",
    )

_TOKENS_FIRST = {
    "q": 'Float[Tensor, "T _ K"]',
    "k": 'Float[Tensor, "T _ K"]',
    "v": 'Float[Tensor, "T _ V"]',
    "initial_state": 'Float[Tensor, "_ _ V K"]',
    "cu_seqlens": 'Int[Tensor, "_"]',
}

_PREFILL = (
    "q, k, v, g=None, beta=None, scale=None, initial_state=None, output_final_state=False, "
    "cu_seqlens=None, use_qk_l2norm_in_kernel=False, output=None, output_state=None, "
    "state_checkpoints=None, checkpoint_cu_starts=None, checkpoint_every_n_tokens=0, use_cp='auto', "
    "state_indices=None"
)

for versions, more, law in (
    (
        ">=0.7.4",
        ", _cp_chunk_len=None, backend='auto', max_seqlen=None, *, gate_domain='linear', "
        "use_gate_in_kernel=False, A_log=None, dt_bias=None, beta_is_logit=False, cu_seqlens_cpu=None, "
        "output_state_indices=None, checkpoint_state_indices=None, prefix_lens=None",
        (),
    ),
    (">=0.7.2,<0.7.4", ", _cp_chunk_len=None, backend='auto', max_seqlen=None", ()),
    (">=0.7.0,<0.7.2", ", _cp_chunk_len=None, backend='auto'", (Open(),)),
    (">=0.6.18,<0.7.0", "", ()),
    ("<0.6.18", "", (Open(),)),
):
    tabulate(
        f"chunk_gated_delta_rule({_PREFILL}{more})",
        ("flashinfer.chunk_gated_delta_rule", "flashinfer.gdn_prefill.chunk_gated_delta_rule"),
        (
            States(("initial_state",)),
            VFirst(("initial_state",)),
            Boundaries("cu_seqlens", _OPERANDS),
            *law,
        ),
        _TOKENS_FIRST,
        package="flashinfer-python",
        versions=versions,
        doc="No batch axis: axis 0 is tokens.",
    )
