"""Claims of facts about values, compared with the values themselves."""

from __future__ import annotations

import builtins
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from kdacheck.facts import Dim, Integer, Literal, Number, TensorFacts, Unknown
from kdacheck.facts.dims import Symbol, symbols
from kdacheck.source.values import (
    AnyOf,
    Code,
    Device,
    DType,
    External,
    Items,
    Repeated,
    Table,
    Value,
)


class Mismatch(AssertionError):  # noqa: N818
    """A claim that torch contradicts."""


@dataclass
class Assignment:
    """What the symbols of a program stand for."""

    values: dict[Symbol, int] = field(default_factory=dict)
    empty: bool = False

    def copy(self) -> Assignment:
        return Assignment(dict(self.values), self.empty)

    def bind(self, sym: Symbol, value: int) -> None:
        self.values[sym] = value
        if value == 0:
            self.empty = True
        if sym.choices is not None and value not in sym.choices:
            raise Mismatch(f"{sym} is {value}")
        if (sym.low is not None and value < sym.low) or (sym.high is not None and value > sym.high):
            raise Mismatch(f"{sym} is {value}")

    def check(self, dim: Dim, actual: int, what: str) -> None:
        """`dim` must be `actual`; a symbol seen for the first time is bound."""
        if isinstance(dim, int):
            if dim != actual:
                raise Mismatch(f"{what}: claimed {dim}, is {actual}")
            return
        self.empty = self.empty or actual == 0
        fresh = [sym for sym in symbols(dim) if sym not in self.values]
        total, slope = 0, 0
        for mono, coef in dim.terms:
            known = math.prod(self.values[sym] for sym in mono if sym in self.values)
            unbound = [sym for sym in mono if sym not in self.values]
            if len(unbound) > 1:
                return
            if unbound:
                slope += coef * known
            else:
                total += coef * known
        if not fresh:
            if total != actual:
                raise Mismatch(f"{what}: claimed {total}, is {actual}")
        elif len(fresh) == 1 and slope:
            if (actual - total) % slope:
                raise Mismatch(f"{what}: claimed {total} + {slope} * n, is {actual}")
            self.bind(fresh[0], (actual - total) // slope)


@dataclass
class Claims:
    """How much was claimed of how much there was to say."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, aspect: str, claimed: bool) -> None:
        self.counts[aspect + " all"] += 1
        self.counts[aspect] += claimed

    def rate(self, aspect: str) -> float:
        return self.counts[aspect] / max(1, self.counts[aspect + " all"])


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass(frozen=True)
class Thing:
    """A claim about an object of a class of the program: its class, and attributes by name."""

    cls: str
    exact: bool
    attributes: Mapping[str, Any]


def check(claim: Value | Thing | None, actual: Any, at: Assignment, claims: Claims) -> None:
    """Compare what was claimed with what there is. Raises Mismatch."""
    match claim:
        case AnyOf(values):
            _check_any(values, actual, at)
        case Unknown(not_none=True) if actual is None:
            raise Mismatch("claimed not to be None")
        case Thing():
            _check_thing(claim, actual, at, claims)
        case _ if isinstance(actual, torch.Tensor):
            _check_tensor(claim, actual, at, claims)
        case TensorFacts(shape=None) if isinstance(actual, tuple | list):
            pass  # what is sliced is taken for a tensor, and may be a list
        case TensorFacts():
            raise Mismatch(f"claimed a tensor, is {_shown(actual)}")
        case Items():
            _check_items(claim, actual, at, claims)
        case Repeated(element):
            _refuse_plain(claim, actual)
            for item in actual if isinstance(actual, tuple | list) else ():
                check(element, item, at.copy(), claims)
        case Table():
            _check_table(claim, actual, at, claims)
        case Literal(value):
            if at.empty and isinstance(actual, bool):
                return
            same = value == actual or (value != value and actual != actual)
            if not same or type(value) is not type(actual):
                raise Mismatch(f"claimed {value!r}, is {_shown(actual)}")
        case Integer(dim):
            if not isinstance(actual, int):
                raise Mismatch(f"claimed an int, is {_shown(actual)}")
            at.check(dim, actual, "int")
        case Number():
            if not isinstance(actual, int | float):
                raise Mismatch(f"claimed a number, is {_shown(actual)}")
        case DType(name):
            if name not in (None, dtype_name(actual)):
                raise Mismatch(f"claimed {name}, is {actual}")
        case Device(name):
            if name not in (None, getattr(actual, "type", actual)):
                raise Mismatch(f"claimed {name}, is {actual}")
        case Code():
            if not callable(actual):
                raise Mismatch(f"claimed a callable, is {_shown(actual)}")
        case External(path):
            _check_external(path, actual)
        case _:
            pass


def _check_any(values: Sequence[Value], actual: Any, at: Assignment) -> None:
    errors: list[str] = []
    for value in values:
        try:
            check(value, actual, at.copy(), Claims())
        except Mismatch as error:
            errors.append(str(error))
        else:
            return
    raise Mismatch("; ".join(errors))


def _refuse_plain(claim: Value, actual: Any) -> None:
    """A sequence is claimed: views of dicts, iterators and the like will do, plain values will not."""
    if actual is None or isinstance(actual, torch.Tensor | dict | int | float | str):
        raise Mismatch(f"claimed a sequence, is {_shown(actual)}")


def _shown(value: Any) -> str:
    return repr(value) if not isinstance(value, torch.Tensor) else f"a tensor {list(value.shape)}"


def _check_items(claim: Items, actual: Any, at: Assignment, claims: Claims) -> None:
    _refuse_plain(claim, actual)
    if not isinstance(actual, tuple | list):
        return
    if at.empty and all(isinstance(item, int) for item in actual):
        return
    if len(claim.items) != len(actual):
        raise Mismatch(f"{len(claim.items)} items claimed, there are {len(actual)}")
    for one, other in zip(claim.items, actual, strict=True):
        check(one, other, at, claims)


def _check_table(claim: Table, actual: Any, at: Assignment, claims: Claims) -> None:
    if not isinstance(actual, dict):
        raise Mismatch(f"claimed a dict, is {_shown(actual)}")
    for key, value in claim.entries.items():
        if key not in actual:
            raise Mismatch(f"claimed key {key!r}, there are {list(actual)}")
        check(value, actual[key], at, claims)
    for key, value in claim.maybe.items():
        if key in actual:
            check(value, actual[key], at, claims)
    more = actual.keys() - claim.entries.keys() - claim.maybe.keys()
    if more and not claim.open:
        raise Mismatch(f"no keys but {list(claim.entries)} claimed, there are {more}")


def _check_thing(claim: Thing, actual: Any, at: Assignment, claims: Claims) -> None:
    names = [cls.__name__ for cls in type(actual).__mro__]
    if claim.cls not in names or (claim.exact and names[0] != claim.cls):
        raise Mismatch(f"claimed a {claim.cls}, is a {names[0]}")
    held = actual._asdict() if hasattr(actual, "_asdict") else vars(actual)
    for name, value in claim.attributes.items():
        if name in held:
            try:
                check(value, held[name], at, claims)
            except Mismatch as error:
                raise Mismatch(f"attribute {name}: {error}") from None


def _check_external(path: str, actual: Any) -> None:
    first, _, rest = path.partition(".")
    target: Any = {"torch": torch, "builtins": builtins}.get(first)
    for part in rest.split(".") if rest else ():
        target = getattr(target, part, None)
    if target is not None and actual is not target:
        raise Mismatch(f"claimed {path}, is {_shown(actual)}")


def _check_tensor(
    claim: Value | None, actual: torch.Tensor, at: Assignment, claims: Claims
) -> None:
    facts = claim if isinstance(claim, TensorFacts) else TensorFacts()
    if claim is not None and not isinstance(claim, TensorFacts | Unknown | AnyOf):
        raise Mismatch(f"claimed {type(claim).__name__}, is a tensor")
    sizes = tuple(actual.shape)
    claims.add("result", isinstance(claim, TensorFacts))
    if facts.shape is not None:
        if len(facts.shape) != len(sizes):
            raise Mismatch(f"rank: claimed {facts.describe_shape()}, is {list(sizes)}")
        for axis, (size, real) in enumerate(zip(facts.shape, sizes, strict=True)):
            at.check(size, real, f"size of axis {axis}")
    for axis, size in facts.partial.items():
        if axis >= len(sizes) and not isinstance(size, int):
            continue  # a symbol says that somebody asked for the axis, on whichever path
        if axis >= len(sizes):
            raise Mismatch(f"axis {axis} claimed, the rank is {len(sizes)}")
        at.check(size, sizes[axis], f"size of axis {axis}")
    for axis in range(len(sizes)):
        size = facts.dim(axis)
        claims.add("size", size is not None and _is_settled(size, at))
    if facts.dtypes is not None and dtype_name(actual.dtype) not in facts.dtypes:
        raise Mismatch(f"dtype: claimed {set(facts.dtypes)}, is {actual.dtype}")
    claims.add("dtype", facts.dtype is not None)
    if facts.device is not None and facts.device != actual.device.type:
        raise Mismatch(f"device: claimed {facts.device}, is {actual.device}")
    claims.add("device", facts.device is not None)
    if facts.values is not None and list(facts.values) != actual.reshape(-1).tolist():
        raise Mismatch(f"values: claimed {facts.values}, are {actual.tolist()}")
    if at.empty:
        return
    if facts.dense is not None and facts.dense != actual.is_contiguous():
        raise Mismatch(f"dense: claimed {facts.dense}; {list(sizes)} {actual.stride()}")
    claims.add("dense", facts.dense is not None)
    for axis, (stride, real) in enumerate(
        zip(facts.strides or (None,) * len(sizes), actual.stride(), strict=True)
    ):
        claims.add("stride", stride is not None)
        if stride is not None:
            at.check(stride, real, f"stride of axis {axis}")


def _is_settled(dim: Dim, at: Assignment) -> bool:
    return isinstance(dim, int) or all(sym in at.values for sym in symbols(dim))
