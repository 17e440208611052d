"""flashinfer: recurrent KDA, and a gated delta rule without a batch axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts.clauses import Boundaries, GateParameters, Needs, Packed, States
from kdacheck.contracts.declare import callee, clause

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

_OPERANDS = ("q", "k", "v", "g", "beta")


@callee(
    "flashinfer.recurrent_kda",
    "flashinfer.kda.recurrent_kda",
    package="flashinfer-python",
)
@clause(
    Packed(_OPERANDS, by="cu_seqlens"),
    GateParameters(("A_log", "dt_bias")),
    States(("initial_state", "initial_state_source")),
    Needs(("use_gate_in_kernel",), ("A_log",)),
    Boundaries("cu_seqlens", _OPERANDS),
)
def recurrent_kda(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "..."] | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = True,
    use_gate_in_kernel: bool = False,
    lower_bound: float | None = None,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    ssm_state_indices: Int[Tensor, "..."] | None = None,
    num_spec_tokens: int | None = None,
    num_accepted_tokens: Int[Tensor, "..."] | None = None,
    output: Float[Tensor, "..."] | None = None,
    initial_state_source: Float[Tensor, "..."] | None = None,
    initial_state_indices: Int[Tensor, "..."] | None = None,
    beta_is_logit: bool = False,
    seq_order: Any = None,
    prefill_workspace: Any = None,
    state_checkpoints: Any = None,
    checkpoint_cu_starts: Any = None,
    checkpoint_every_n_tokens: int = 0,
    checkpoint_state_indices: Any = None,
    *,
    backend: str = "auto",
):
    """Decode and prefill behind one name; which route runs depends on shapes."""


@callee(
    "flashinfer.chunk_gated_delta_rule",
    "flashinfer.gdn_prefill.chunk_gated_delta_rule",
    package="flashinfer-python",
)
@clause(States(("initial_state",)), Boundaries("cu_seqlens", _OPERANDS))
def chunk_gated_delta_rule(
    q: Float[Tensor, "T _ _"],
    k: Float[Tensor, "T _ _"],
    v: Float[Tensor, "T _ _"],
    g: Float[Tensor, "..."] | None = None,
    beta: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    initial_state: Float[Tensor, "..."] | None = None,
    output_final_state: bool = False,
    cu_seqlens: Int[Tensor, "_"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
):
    """No batch axis: axis 0 is tokens."""
