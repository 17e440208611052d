"""What contracted callees give back, in terms of what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kdacheck.contracts.model import Contract


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor of a result.

    same: the argument that is returned itself. like: the argument with its shape and dtype. text: an annotation, in
    dimensions of the call. dtype: where it is not that of `like`, a name such as "float32".
    flag: the parameter without which None stands in its place, or nothing where `dropped`.
    """

    same: str = ""
    like: str = ""
    text: str = ""
    dtype: str = ""
    flag: str = ""
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returns: a tuple of outputs (None for what is always None), or the only one of them."""

    outputs: tuple[Output | None, ...] = ()
    alone: bool = False


NOTHING = Result()

_OUT = Output(like="v")
_ROWS = Result((Output(same="out"), Output(same="initial_state")))
_PREFILL = Result(
    (
        _OUT,
        Output(
            text='Float[Tensor, "B chunks H V K"]', flag="output_intermediate_states", dropped=True
        ),
    )
)
_STATES = Output(text='Float[Tensor, "B chunks HV V K"]')
_CONVOLVED = Result(
    (
        Output(like="x"),
        Output(text='Float[Tensor, "N D W"]', dtype="like", flag="output_final_state"),
    )
)

#: (distribution, callee) -> result, where the parameters do not already tell, see `result_of`.
_TABLE: Mapping[tuple[str, str], Result] = {
    ("fla-core", "fused_kda_gate"): Result((Output(like="g", dtype="float32"),), alone=True),
    ("fla-core", "kda_gate_chunk_cumsum"): Result((Output(like="g", dtype="float32"),), alone=True),
    ("fla-core", "chunk_local_cumsum"): Result((Output(like="g", dtype="float32"),), alone=True),
    ("fla-core", "causal_conv1d"): _CONVOLVED,
    ("fla-core", "forward"): _CONVOLVED,
    ("fla-core", "token_shift"): Result((Output(like="x"),), alone=True),
    ("attn-gym", "bounded_gate_cumsum"): Result(
        (Output(like="raw_gate", dtype="float32"),), alone=True
    ),
    ("flash-kda", "fwd"): NOTHING,
    ("kdacheck", "chunk_kda"): Result(
        (
            _OUT,
            Output(
                text='Float[Tensor, "B chunk_rows HV V K"]',
                dtype="like",
                flag="output_intermediate_states",
                dropped=True,
            ),
        )
    ),
    ("sglang", "validate_packed_decode_inputs"): NOTHING,
    ("sglang", "chunk_kda"): _PREFILL,
    ("sglang", "fused_recurrent_kda"): Result((_OUT, Output(same="initial_state"))),
    ("sglang", "kda_gate_chunk_cumsum"): Result((Output(like="g", dtype="float32"),), alone=True),
    ("sglang", "helion_kda_verify"): Result((_OUT,), alone=True),
    ("sglang", "fused_sigmoid_gating_delta_rule_update"): Result((_OUT,), alone=True),
    ("sglang", "cutedsl_fused_sigmoid_gating_kda_update"): Result((_OUT,), alone=True),
    ("sglang", "chunk_gated_delta_rule"): Result((_OUT, None, _STATES)),
}


def result_of(contract: Contract) -> Result | None:
    """What a catalogued callee or a kernel of this package returns, None where that is not known."""
    path = contract.paths[0]
    package = "kdacheck" if path.startswith("kdacheck.kernels.") else contract.package
    known = _TABLE.get((package, path.rpartition(".")[2]))
    if known is not None or not package:
        return known
    names = contract.by_name
    if "mixed_qkv" in names and "out" in names and "initial_state" in names:
        return _ROWS
    if {"v", "output_final_state", "initial_state"} <= names.keys():
        state = Output(text=names["initial_state"].text, flag="output_final_state")
        return Result((_OUT, state))
    return None
