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

_LAWS: tuple[Clause, ...] = (
    Gate(("g", "beta")),
    GateParameters(("a_log", "dt_bias")),
    States(("initial_state",)),
    VFirst(("initial_state",)),
    Indices(("state_indices",), pool="initial_state"),
    Needs(("a_log",), ("safe_gate",)),
    Needs(("dt_bias",), ("safe_gate",)),
    Needs(("allow_neg_eigval",), ("use_beta_sigmoid_in_kernel",)),
    Needs(("state_indices",), ("initial_state",)),
    Needs(("overwrite_initial_state",), ("initial_state",)),
    Boundaries("cu_seqlens", _OPERANDS),
    SameDevice(),
)

_PATHS = ("cudnn.linear_attention.ops", "cudnn.linear_attention")
_SINCE = ">=1.32.0"


def _paths(module: str, name: str) -> tuple[str, ...]:
    return (f"cudnn.linear_attention.ops.{module}.{name}", *(f"{base}.{name}" for base in _PATHS))


tabulate(
    "kimi_delta_attention(q, k, v, g, beta, cu_seqlens, scale=None, initial_state=None, "
    "output_final_state=False, use_qk_l2norm_in_kernel=False, batch_invariant=False, "
    "use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, safe_gate=False, "
    "gate_lower_bound=None, gate_domain='log', a_log=None, dt_bias=None, "
    "checkpoint_every_n_tokens=0, checkpoint_dtype=None, plan_name=None, "
    "overwrite_initial_state=False, state_indices=None)",
    _paths("kda", "kimi_delta_attention"),
    _LAWS,
    _AXES,
    package="nvidia-cudnn-frontend",
    versions=_SINCE,
    doc="Offsets are required; gate, beta and states go by the larger of the head counts.",
)

tabulate(
    "gated_delta_net(q, k, v, g, beta, cu_seqlens, scale=None, initial_state=None, "
    "output_final_state=False, use_qk_l2norm_in_kernel=False, batch_invariant=False, "
    "use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, safe_gate=False, gate_domain='log', "
    "a_log=None, dt_bias=None, checkpoint_every_n_tokens=0, checkpoint_dtype=None, plan_name=None, "
    "overwrite_initial_state=False, state_indices=None)",
    _paths("gdn", "gated_delta_net"),
    (Boundaries("cu_seqlens", _OPERANDS), States(("initial_state",)), VFirst(("initial_state",))),
    {key: _AXES[key] for key in ("q", "k", "v", "cu_seqlens", "initial_state", "state_indices")},
    package="nvidia-cudnn-frontend",
    versions=_SINCE,
)
