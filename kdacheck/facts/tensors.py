"""What is known of one tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kdacheck.facts.dims import (
    Dim,
    Poly,
    add,
    at_least,
    differs,
    equal,
    exactly,
    multiply,
    product,
    show,
)

#: Aspects that can have an origin, see `TensorFacts.origins`.
ASPECTS = ("shape", "layout", "dtype", "device", "values")


def contiguous_strides(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    """The strides of a dense tensor of this shape, in elements."""
    strides: list[Dim] = []
    step: Dim = 1
    for size in reversed(shape):
        strides.append(step)
        if size != 0:
            step = multiply(step, size)
    return tuple(reversed(strides))


def is_dense(shape: Sequence[Dim], strides: Sequence[Dim | None]) -> bool | None:
    """Whether a tensor is contiguous, as `Tensor.is_contiguous()` decides; None where that cannot be told.

    An axis of size 1 never matters, a tensor without elements is dense. Axes of unknown size are taken to have
    at least one element: a call on nothing is not what anybody writes.
    """
    if any(exactly(size) == 0 for size in shape):
        return True
    unsure = False
    step: Dim = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if exactly(size) == 1:
            continue
        if stride is None:
            unsure = True
        elif not equal(stride, step):
            if at_least(size, 2) and _certainly_other(stride, step):
                return False
            unsure = True
        step = multiply(step, size)
    return None if unsure else True


def _certainly_other(stride: Dim, step: Dim) -> bool:
    if differs(stride, step):
        return True
    # Sizes are at least 1 here, so a product with a factor above 1 is another number than the product without.
    gap = add(stride, multiply(step, -1))
    terms = gap.terms if isinstance(gap, Poly) else ()
    signs = {coef > 0 for _, coef in terms}
    positive = all(sym.low is None or sym.low >= 0 for mono, _ in terms for sym in mono)
    return len(signs) == 1 and positive


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """Facts about a tensor, each of them possibly unknown.

    shape: sizes, or None where not even the rank is known.
    partial: sizes of single axes (index from the front) where the rank is unknown.
    strides: in elements; an entry is None where that stride is unknown.
    dense: contiguous or not; None where unknown.
    dtypes: names of the possible dtypes (`"float32"`), or None.
    device: `"cpu"`, `"cuda"`, ..., or None.
    values: the integer contents of a small 1-D tensor.
    tags: provenance of the contents, such as `"cumsum"` or `"padded"`.
    origins: for an aspect of `ASPECTS`, where its present state was made; opaque to rules.
    handle: names the object while its rank is unknown, so that its sizes can become known later; 0 names none.
    """

    shape: tuple[Dim, ...] | None = None
    partial: Mapping[int, Dim] = field(default_factory=dict)
    strides: tuple[Dim | None, ...] | None = None
    dense: bool | None = None
    dtypes: frozenset[str] | None = None
    device: str | None = None
    values: tuple[int, ...] | None = None
    tags: frozenset[str] = frozenset()
    origins: Mapping[str, Any] = field(default_factory=dict)
    handle: int = 0

    @classmethod
    def of(
        cls,
        shape: Sequence[Dim] | None,
        strides: Sequence[Dim | None] | None = None,
        *,
        dense: bool | None = None,
        dtype: str | frozenset[str] | None = None,
        device: str | None = None,
        values: Sequence[int] | None = None,
        tags: frozenset[str] = frozenset(),
    ) -> TensorFacts:
        """Facts with what follows from them: strides of a dense shape, density of known strides."""
        sizes = None if shape is None else tuple(shape)
        steps = None if strides is None else tuple(strides)
        if sizes is not None:
            if dense and steps is None:
                steps = contiguous_strides(sizes)
            elif steps is not None and dense is None:
                dense = is_dense(sizes, steps)
        return cls(
            shape=sizes,
            strides=steps,
            dense=dense,
            dtypes=frozenset((dtype,)) if isinstance(dtype, str) else dtype,
            device=device,
            values=None if values is None else tuple(values),
            tags=tags,
        )

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def dtype(self) -> str | None:
        """The dtype, where there is only one."""
        return (
            next(iter(self.dtypes)) if self.dtypes is not None and len(self.dtypes) == 1 else None
        )

    def dim(self, axis: int) -> Dim | None:
        """The size of an axis, from the front or the back, or None."""
        if self.shape is None:
            return self.partial.get(axis)
        return self.shape[axis] if -len(self.shape) <= axis < len(self.shape) else None

    def stride(self, axis: int) -> Dim | None:
        if self.strides is None or not -len(self.strides) <= axis < len(self.strides):
            return None
        return self.strides[axis]

    @property
    def numel(self) -> Dim | None:
        return None if self.shape is None else product(self.shape)

    def dtype_outside(self, allowed: frozenset[str]) -> bool:
        """True where the dtype is certainly none of `allowed`."""
        return self.dtypes is not None and not self.dtypes & allowed

    def with_(self, **changes: Any) -> TensorFacts:
        return replace(self, **changes)

    def describe_shape(self) -> str:
        """`[1, T, 8, 64]`, or `[4, ...]` where only single axes are known."""
        if self.shape is not None:
            return "[" + ", ".join(show(size) for size in self.shape) + "]"
        if 0 in self.partial:
            return f"[{show(self.partial[0])}, ...]"
        return "[...]"
