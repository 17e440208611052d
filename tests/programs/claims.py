"""Claims of facts about values, compared with the values themselves."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import Symbol, symbols
from kdacheck.source.values import AnyOf, DType, Items, Value


class Mismatch(AssertionError):  # noqa: N818
    """A claim that torch contradicts."""


@dataclass
class Assignment:
    """What the symbols of a program stand for."""

    values: dict[Symbol, int] = field(default_factory=dict)
    empty: bool = False

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


def check(claim: Value | None, actual: Any, at: Assignment, claims: Claims) -> None:
    """Compare what was claimed with what torch computed."""
    if isinstance(actual, torch.Tensor):
        _check_tensor(claim, actual, at, claims)
    elif isinstance(actual, tuple | list):
        if isinstance(claim, Items):
            if at.empty and all(isinstance(item, int) for item in actual):
                return
            if len(claim.items) != len(actual):
                raise Mismatch(f"{len(claim.items)} items claimed, there are {len(actual)}")
            for one, other in zip(claim.items, actual, strict=True):
                check(one, other, at, claims)
    elif isinstance(claim, Literal) and not (at.empty and isinstance(actual, bool)):
        if claim.value != actual or type(claim.value) is not type(actual):
            raise Mismatch(f"claimed {claim.value!r}, is {actual!r}")
    elif isinstance(claim, Integer):
        at.check(claim.dim, actual, "int")
    elif isinstance(claim, DType) and claim.name not in (None, dtype_name(actual)):
        raise Mismatch(f"claimed {claim.name}, is {actual}")


def _check_tensor(
    claim: Value | None, actual: torch.Tensor, at: Assignment, claims: Claims
) -> None:
    facts = claim if isinstance(claim, TensorFacts) else TensorFacts()
    if claim is not None and not isinstance(claim, TensorFacts | Unknown | AnyOf):
        raise Mismatch(f"claimed {claim}, is a tensor")
    sizes = tuple(actual.shape)
    claims.add("result", isinstance(claim, TensorFacts))
    if facts.shape is not None:
        if len(facts.shape) != len(sizes):
            raise Mismatch(f"rank: claimed {facts.describe_shape()}, is {list(sizes)}")
        for axis, (size, real) in enumerate(zip(facts.shape, sizes, strict=True)):
            at.check(size, real, f"size of axis {axis}")
    for axis, size in facts.partial.items():
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
