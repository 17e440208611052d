"""What a test of a tensor proves of it: its type, dtype, layout or shape.

Each function gives the states in which the test holds and in which it fails, None for one that cannot be. `key` is the
place that holds the tensor, and is changed in those states alone: what a test proves holds nowhere else.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.facts import TensorFacts, Unknown
from kdacheck.facts.tensors import contiguous_strides
from kdacheck.source.annotations import is_annotation
from kdacheck.source.state import State, opaque
from kdacheck.source.values import DType, Items, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

Split = tuple[State | None, State | None]

#: Functions that return only where their first argument is of the type given by the second, or claim that it is.
ASSERTING_TYPES = frozenset(
    (
        *("beartype.door.die_if_unbearable", "typeguard.check_type"),
        *("typing.assert_type", "typing_extensions.assert_type"),
    )
)

#: Functions that return only where their first argument is true.
ASSERTING = frozenset(
    f"torch.{name}"
    for name in ("_assert", "_check", "_check_is_size", "_check_type", "_check_value")
)


def split_type(
    interp: Interpreter, key: Hashable, value: Value, kind: cst.BaseExpression, state: State
) -> Split | None:
    """`isinstance(x, Float[Tensor, "B T"])`; None for a type that says nothing of tensors."""
    if not is_annotation(interp.evaluate(kind, state)):
        return None
    yes, no = state.copy(), state.copy()
    known = state.resolve(value)
    if isinstance(known, Unknown) or (isinstance(known, TensorFacts) and known.shape is None):
        # an object of its own: sizes are learnt of an object wherever it is
        found = interp.from_annotation(kind, opaque(True), yes)
        if isinstance(known, TensorFacts) and isinstance(found, TensorFacts):
            found = replace(
                found,
                dtypes=found.dtypes or known.dtypes,
                device=known.device,
                tags=found.tags | known.tags,
            )
        _note(interp, key, value, found, yes)
    return yes, no


def split_layout(interp: Interpreter, key: Hashable, value: Value, state: State) -> Split | None:
    """`x.is_contiguous()`."""
    facts = interp.tensor_of(state.resolve(value), state)
    if facts is None:
        return None
    if facts.dense is not None:
        return (state, None) if facts.dense else (None, state)
    yes, no = state.copy(), state.copy()
    strides = facts.strides
    if strides is None and facts.shape is not None:
        strides = contiguous_strides(facts.shape)
    _note(interp, key, value, replace(facts, dense=True, strides=strides), yes)
    _note(interp, key, value, replace(facts, dense=False), no)
    return yes, no


def split_dtype(
    interp: Interpreter, key: Hashable, value: Value, kinds: Value, state: State
) -> Split | None:
    """`x.dtype == torch.float32`, `x.dtype in (torch.float16, torch.bfloat16)`."""
    members = kinds.items if isinstance(kinds, Items) else (kinds,)
    names = frozenset(kind.name for kind in members if isinstance(kind, DType) and kind.name)
    facts = interp.tensor_of(state.resolve(value), state)
    if facts is None or len(names) != len(members):
        return None
    yes: State | None = state.copy()
    no: State | None = state.copy()
    agreed = names if facts.dtypes is None else facts.dtypes & names
    if yes is not None and agreed:
        _note(interp, key, value, replace(facts, dtypes=agreed), yes)
    if facts.dtypes is not None:
        others = facts.dtypes - names
        if no is not None and others:
            _note(interp, key, value, replace(facts, dtypes=others), no)
        no = no if others else None
    return (yes if agreed else None), no


def _note(interp: Interpreter, key: Hashable, old: Value, new: Value, state: State) -> None:
    """Let every name of an object have what is now known of it: it is one object still."""
    for name, held in state.names.items():
        if held is old:
            state.names[name] = new
    interp.write_place(key, new, state)
