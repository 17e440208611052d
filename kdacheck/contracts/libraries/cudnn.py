"""The cuDNN frontend: linear attention on tokens, heads and channels, without a batch axis."""

from __future__ import annotations

from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Gate,
    GateParameters,
    Indices,
    Needs,
    SameDevice,
    States,
    VFirst,
)
from kdacheck.contracts.table import tabulate

_OPERANDS = ("q", "k", "v", "g", "beta")

_AXES = {
    "q": 'Float[Tensor, "T H K"]',
    "k": 'Float[Tensor, "T _ K"]',
    "v": 'Float[Tensor, "T HV V"]',
    "g": 'Float[Tensor, "T HO K"]',
    "beta": 'Float[Tensor, "T HO"]',
    "cu_seqlens": 'Int32[Tensor, "_"] | Int64[Tensor, "_"]',
    "initial_state": 'Float[Tensor, "_ HO V K"]',
    "state_indices": 'Int32[Tensor, "_"]',
    "a_log": 'Float[Tensor, "HO"]',
    "dt_bias": 'Float[Tensor, "HO K"]',
}
_FLOAT32 = {
    "g": 'Float32[Tensor, "T HO K"]',
    "initial_state": 'Float32[Tensor, "_ HO V K"]',
    "a_log": 'Float32[Tensor, "HO"]',
    "dt_bias": 'Float32[Tensor, "HO K"]',
}
_K_FIRST = {
    "g": 'Float32[Tensor, "T HO K"]',
    "beta": 'Float32[Tensor, "T HO"]',
    "cu_seqlens": 'Int[Tensor, "_"]',
    "initial_state": 'Float32[Tensor, "_ HO K V"]',
}

_FIRST: tuple[Clause, ...] = (
    Gate(("g", "beta")),
    States(("initial_state",)),
    Boundaries("cu_seqlens", _OPERANDS),
)
_GATED: tuple[Clause, ...] = (
    *_FIRST,
    GateParameters(("a_log", "dt_bias")),
    VFirst(("initial_state",)),
    Needs(("a_log",), ("safe_gate",)),
    Needs(("dt_bias",), ("safe_gate",)),
    SameDevice(),
)
_BOTH_PARAMETERS: tuple[Clause, ...] = (
    Needs(("safe_gate",), ("a_log",)),
    Needs(("safe_gate",), ("dt_bias",)),
)
_NEGATIVE: tuple[Clause, ...] = (Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),)
_POOL: tuple[Clause, ...] = (
    Indices(("state_indices",), pool="initial_state"),
    Needs(("state_indices",), ("initial_state",)),
    Needs(("overwrite_initial_state",), ("initial_state",)),
)

_PATHS = ("cudnn.linear_attention.ops", "cudnn.linear_attention")

_SHARED = (
    "q, k, v, g, beta, cu_seqlens, scale=None, initial_state=None, output_final_state=False, "
    "use_qk_l2norm_in_kernel=False"
)
_SIGMOID = "batch_invariant=False, use_beta_sigmoid_in_kernel=False"
_TAIL = "checkpoint_every_n_tokens=0, plan_name=None"
_TAIL_TYPED = "checkpoint_every_n_tokens=0, checkpoint_dtype=None, plan_name=None"
_STATES = "overwrite_initial_state=False, state_indices=None"

#: Releases, the parameters after the shared ones (the braces hold what the gate of KDA takes more), laws and axes.
_RELEASES: tuple[tuple[str, str, tuple[Clause, ...], dict[str, str]], ...] = (
    (
        ">=1.32.0",
        f", {_SIGMOID}, allow_neg_eigval=False, safe_gate=False, {{}}gate_domain='log', "
        f"a_log=None, dt_bias=None, {_TAIL_TYPED}, {_STATES}",
        (*_GATED, *_NEGATIVE, *_POOL),
        {},
    ),
    (
        ">=1.30.0,<1.32.0",
        f", {_SIGMOID}, allow_neg_eigval=False, safe_gate=False, {{}}gate_domain='log', "
        f"a_log=None, dt_bias=None, {_TAIL}, {_STATES}",
        (*_GATED, *_NEGATIVE, *_POOL),
        {},
    ),
    (
        ">=1.29.0,<1.30.0",
        f", {_SIGMOID}, allow_neg_eigval=False, safe_gate=False, {{}}gate_domain='log', "
        f"a_log=None, dt_bias=None, {_TAIL}",
        (*_GATED, *_NEGATIVE),
        {},
    ),
    (
        ">=1.28.0,<1.29.0",
        f", {_SIGMOID}, safe_gate=False, {{}}a_log=None, dt_bias=None, {_TAIL}",
        (*_GATED, *_BOTH_PARAMETERS),
        _FLOAT32,
    ),
    (">=1.27.0,<1.28.0", "", _FIRST, _K_FIRST),
)

#: What is said of the gated delta rule, whose gate has no channels.
_PLAIN = ("q", "k", "v", "cu_seqlens", "initial_state", "state_indices")


def _paths(module: str, name: str) -> tuple[str, ...]:
    return (f"cudnn.linear_attention.ops.{module}.{name}", *(f"{base}.{name}" for base in _PATHS))


for versions, more, laws, axes in _RELEASES:
    tabulate(
        f"kimi_delta_attention({_SHARED}{more.format('gate_lower_bound=None, ')})",
        _paths("kda", "kimi_delta_attention"),
        laws,
        _AXES | axes,
        package="nvidia-cudnn-frontend",
        versions=versions,
        doc="Offsets are required; gate, beta and states go by the larger of the head counts.",
    )
    tabulate(
        f"gated_delta_net({_SHARED}{more.format('')})",
        _paths("gdn", "gated_delta_net"),
        tuple(law for law in laws if isinstance(law, (Boundaries, States, VFirst))),
        {name: text for name, text in (_AXES | axes).items() if name in _PLAIN},
        package="nvidia-cudnn-frontend",
        versions=versions,
    )
