"""Strides as torch computes them, for sizes that may be symbols.

torch decides by comparisons ("is this size 1?", "which stride is smaller?"). Where a comparison of symbols cannot be
decided, both answers are followed, and what every path agrees on is claimed. As in `is_dense`, sizes of unknown
value are taken to be at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kdacheck.facts import Dim, Poly, contiguous_strides, differs, equal, is_dense
from kdacheck.facts.dims import (
    Symbol,
    add,
    at_least,
    divide,
    multiply,
    of_symbol,
    product,
    substitute,
    symbol,
    symbols,
)
from kdacheck.source.torch_arguments import Shape, Strides
from kdacheck.source.torch_registry import GiveUpError

MAX_PATHS = 16

Result = TypeVar("Result")

#: Sizes, strides and density of one operand.
Operand = tuple[Shape, Strides, bool | None]


def _is_size(sym: Symbol) -> bool:
    """Whether a symbol is known not to be negative; it is taken to be at least 1 then."""
    low = min(sym.choices) if sym.choices else sym.low
    return low is not None and low >= 0


class Judge:
    """Answers questions about dims on one path; an undecided one is answered both ways, on different paths."""

    __slots__ = ("_least", "_pending", "_script", "_taken", "ones")

    def __init__(self, script: tuple[int, ...], pending: list[tuple[int, ...]]) -> None:
        self._script = script
        self._pending = pending
        self._taken: tuple[int, ...] = ()
        self._least: dict[Symbol, int] = {}
        #: Symbols that are 1 on this path.
        self.ones: set[Symbol] = set()

    def _choose(self, options: Sequence[int]) -> int:
        position = len(self._taken)
        if position < len(self._script):
            option = self._script[position]
        else:
            option = options[0]
            self._pending.extend((*self._taken, other) for other in options[1:])
        self._taken = (*self._taken, option)
        return option

    def reduce(self, dim: Dim) -> Dim:
        """`dim` with the symbols replaced that are 1 on this path."""
        if isinstance(dim, int) or not self.ones:
            return dim
        return substitute(dim, lambda sym: 1 if sym in self.ones else of_symbol(sym))

    def signs(self, dim: Dim) -> tuple[int, ...]:
        """The signs that `dim` may have."""
        if isinstance(dim, int):
            return ((dim > 0) - (dim < 0),)
        if all(coef > 0 for _, coef in dim.terms) and all(map(_is_size, symbols(dim))):
            return (1,)
        excess: dict[Symbol, Dim] = {}
        for sym in symbols(dim):
            low = min(sym.choices) if sym.choices else sym.low
            if low is None or low < 0:
                return (0,) if equal(dim, 0) else (-1, 1) if differs(dim, 0) else (-1, 0, 1)
            excess[sym] = add(of_symbol(sym), max(1, low, self._least.get(sym, 1)))
        shifted = substitute(dim, excess.__getitem__)
        terms = shifted.terms if isinstance(shifted, Poly) else (((), shifted),)
        constant = next((coef for mono, coef in terms if not mono), 0)
        rises = any(coef > 0 for mono, coef in terms if mono)
        falls = any(coef < 0 for mono, coef in terms if mono)
        possible = (
            (-1, falls or constant < 0),
            (0, (falls or constant <= 0) and (rises or constant >= 0) and not differs(dim, 0)),
            (1, rises or constant > 0),
        )
        return tuple(sign for sign, may_be in possible if may_be)

    def order(self, a: Dim, b: Dim) -> int:
        """-1, 0 or 1 as `a` is less than, equal to or greater than `b`."""
        options = self.signs(self.reduce(add(a, multiply(b, -1))))
        return options[0] if len(options) == 1 else self._choose(options)

    def same(self, a: Dim, b: Dim) -> bool:
        a, b = self.reduce(a), self.reduce(b)
        for x, y in ((a, b), (b, a)):
            quotient = divide(x, y) if not equal(y, 0) else None
            if isinstance(quotient, Poly) and all(
                sym.low is not None and sym.low >= 0 for sym in symbols(x) | symbols(y)
            ):
                return self.is_one(quotient)
        options = self.signs(add(a, multiply(b, -1)))
        if 0 not in options:
            return False
        return len(options) == 1 or self._choose((0, 1)) == 0

    def is_one(self, size: Dim) -> bool:
        """Whether a size is 1, a size being at least 1 where it is not known."""
        size = self.reduce(size)
        if isinstance(size, int):
            return size == 1
        if 0 not in self.signs(add(size, -1)):
            return False
        one = self._choose((0, 1)) == 1
        if len(size.terms) == 1:
            ((mono, coef),) = size.terms
            if one and coef == 1:
                self.ones.update(mono)
            elif not one and len(mono) == 1:
                self._least[mono[0]] = 2
        return one

    def is_dense(self, shape: Shape, steps: Sequence[Dim]) -> bool:
        if 0 in shape:
            return True
        expected: Dim = 1
        for size, step in zip(reversed(shape), reversed(steps), strict=True):
            if equal(step, expected):
                expected = multiply(expected, size)
            elif not self.is_one(size):
                if not self.same(step, expected):
                    return False
                expected = multiply(expected, size)
        return True


def explore(compute: Callable[[Judge], Result]) -> list[tuple[Judge, Result]] | None:
    """The results of `compute` on every path, the most general one first; None where there are too many."""
    pending: list[tuple[int, ...]] = [()]
    results: list[tuple[Judge, Result]] = []
    while pending:
        if len(results) + len(pending) > MAX_PATHS:
            return None
        judge = Judge(pending.pop(), pending)
        results.append((judge, compute(judge)))
    results.sort(key=lambda path: len(path[0].ones))
    return results


def agreed(results: Sequence[tuple[Judge, Sequence[Dim]]]) -> tuple[Dim | None, ...]:
    """Entry by entry, the dim that holds on every path, or None."""
    general = results[0][1]
    out: list[Dim | None] = []
    for index, dim in enumerate(general):
        sure = all(
            equal(judge.reduce(dim), judge.reduce(other[index])) for judge, other in results[1:]
        )
        out.append(dim if sure else None)
    return tuple(out)


def known_strides(shape: Shape, strides: Strides, dense: bool | None) -> tuple[Dim | None, ...]:
    """The strides, with those that density implies."""
    if strides is None:
        strides = (None,) * len(shape)
    if dense and None in strides and 0 not in shape:
        canonical = contiguous_strides(shape)
        return tuple(
            step if stride is None and at_least(size, 2) else stride
            for size, stride, step in zip(shape, strides, canonical, strict=True)
        )
    return strides


def is_canonical(shape: Shape, strides: Strides) -> bool:
    """Whether the strides are those of a newly made contiguous tensor, size-1 axes included."""
    return strides is not None and all(
        stride is not None and equal(stride, step)
        for stride, step in zip(strides, contiguous_strides(shape), strict=True)
    )


def _opaque(strides: Sequence[Dim | None]) -> tuple[list[Dim], frozenset[Symbol]]:
    """The strides with a symbol for each unknown one, and those symbols."""
    filled: list[Dim] = []
    hidden: set[Symbol] = set()
    for stride in strides:
        if stride is None:
            stride = symbol("stride", low=None)
            hidden |= symbols(stride)
        filled.append(stride)
    return filled, frozenset(hidden)


def _without(strides: tuple[Dim | None, ...], hidden: frozenset[Symbol]) -> tuple[Dim | None, ...]:
    return tuple(
        None if stride is None or symbols(stride) & hidden else stride for stride in strides
    )


def _view_strides(judge: Judge, old: Shape, steps: Sequence[Dim], new: Shape) -> list[Dim] | None:
    """The strides of a view of another shape, None where torch would have to copy."""
    result: list[Dim] = [1] * len(new)
    if not old:
        return result
    if 0 in old:
        return list(steps) if old == new else list(contiguous_strides(new))
    at = len(new) - 1
    base, size_old, size_new = steps[-1], 1, 1
    for axis in range(len(old) - 1, -1, -1):
        size_old = multiply(size_old, old[axis])
        # What is certain comes first: it needs no second path.
        if axis and (
            equal(steps[axis - 1], multiply(size_old, base))
            or judge.is_one(old[axis - 1])
            or judge.same(steps[axis - 1], multiply(size_old, base))
        ):
            continue
        while at >= 0 and _belongs(judge, size_new, size_old, new[at]):
            result[at] = multiply(size_new, base)
            size_new = multiply(size_new, new[at])
            at -= 1
        if not judge.same(size_new, size_old):
            return None
        if axis:
            base, size_old, size_new = steps[axis - 1], 1, 1
    return None if at != -1 else result


def _belongs(judge: Judge, taken: Dim, whole: Dim, size: Dim) -> bool:
    """Whether an axis of the view lies in a chunk of `whole` elements, of which `taken` are spoken for."""
    if judge.signs(judge.reduce(add(taken, multiply(whole, -1)))) == (-1,):
        return True
    if judge.same(taken, whole):
        return judge.is_one(size)
    return judge.is_one(size) or judge.order(taken, whole) < 0


def view(
    shape: Shape, strides: Strides, dense: bool | None, new: Shape, *, copies: bool
) -> tuple[Strides, bool | None]:
    """Strides and density of a view of another shape; with `copies`, of a `reshape`, which copies if it must.

    A view keeps the order of the elements in memory, hence density.
    """
    if is_canonical(shape, strides):
        return contiguous_strides(new), True
    steps = known_strides(shape, strides, dense)
    if not any(isinstance(size, Poly) for size in (*shape, *new)) or any(
        step is not None for step in steps
    ):
        filled, hidden = _opaque(steps)
        paths = explore(lambda judge: _view_strides(judge, shape, filled, new))
    else:
        paths, hidden = None, frozenset()
    if paths is None:
        return _after_unknown_view(new, dense, copies)
    views = [(judge, result) for judge, result in paths if result is not None]
    if not copies or dense:
        if not views:
            raise GiveUpError
        found = _without(agreed(views), hidden)
        return known_strides(new, found, dense), dense
    if not views:
        return contiguous_strides(new), True
    if len(views) == len(paths):
        return known_strides(new, _without(agreed(views), hidden), dense), dense
    either = [(judge, contiguous_strides(new) if r is None else r) for judge, r in paths]
    found = _without(agreed(either), hidden)
    return found, True if is_dense(new, found) else None


def _after_unknown_view(
    new: Shape, dense: bool | None, copies: bool
) -> tuple[Strides, bool | None]:
    if dense:
        return known_strides(new, None, True), True
    return None, None if copies else dense


def _is_non_overlapping_and_dense(judge: Judge, shape: Shape, steps: Sequence[Dim]) -> bool:
    if 0 in shape:
        return True
    rest = [axis for axis, size in enumerate(shape) if not judge.is_one(size)]
    step: Dim = 1
    while rest:
        found = next((axis for axis in rest if judge.same(steps[axis], step)), None)
        if found is None:
            return False
        rest.remove(found)
        step = multiply(step, shape[found])
    return True


def _insertion_sort(order: list[int], compare: Callable[[int, int], int]) -> None:
    """torch's sort of axes, which is not a sort: comparisons may be ambiguous."""
    for start in range(1, len(order)):
        at = start
        for before in range(start - 1, -1, -1):
            answer = compare(order[before], order[at])
            if answer > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif answer < 0:
                break


def _dense_strides(judge: Judge, shape: Shape, steps: Sequence[Dim]) -> list[Dim]:
    """`at::infer_dense_strides`: without gaps, in the order of the given strides."""
    rank = len(shape)

    def compare(a: int, b: int) -> int:
        if judge.same(steps[a], 0) or judge.same(steps[b], 0):
            return 0
        return judge.order(steps[a], steps[b]) or (1 if judge.order(shape[a], shape[b]) > 0 else 0)

    order = list(range(rank - 1, -1, -1))
    _insertion_sort(order, compare)
    result: list[Dim] = [0] * rank
    step: Dim = 1
    for axis in order:
        result[axis] = step
        if shape[axis] != 0:
            step = multiply(step, shape[axis])
    return result


def _layouts(
    paths: list[tuple[Judge, list[Dim]]] | None, shape: Shape
) -> tuple[Strides, bool | None]:
    if paths is None:
        return None, None
    strides = agreed(paths)
    dense = is_dense(shape, strides)
    if dense is None:
        answers = {
            is_dense([judge.reduce(s) for s in shape], [judge.reduce(s) for s in steps])
            for judge, steps in paths
        }
        dense = answers.pop() if len(answers) == 1 else None
    return strides, dense


def preserved(shape: Shape, strides: Strides, dense: bool | None) -> tuple[Strides, bool | None]:
    """The layout of a copy in `torch.preserve_format`."""
    if dense:
        return strides, True
    if strides is None or None in strides:
        return None, None
    steps = [step for step in strides if step is not None]

    def compute(judge: Judge) -> list[Dim]:
        if _is_non_overlapping_and_dense(judge, shape, steps):
            return steps
        return _dense_strides(judge, shape, steps)

    return _layouts(explore(compute), shape)


def _is_channels_last(judge: Judge, shape: Shape, steps: Sequence[Dim]) -> bool:
    """`is_contiguous(memory_format=torch.channels_last)`."""
    if len(shape) != 4:
        return False
    order = (0, 2, 3, 1)
    return judge.is_dense(tuple(shape[axis] for axis in order), [steps[axis] for axis in order])


def _permuted_contiguous(shape: Shape, order: Sequence[int]) -> list[Dim]:
    steps: list[Dim] = [0] * len(shape)
    for axis, step in zip(order, contiguous_strides([shape[axis] for axis in order]), strict=True):
        steps[axis] = step
    return steps


def _iterator_strides(
    judge: Judge, out: Shape, operands: Sequence[tuple[Shape, Sequence[Dim]]], fast: bool
) -> list[Dim]:
    """The strides that TensorIterator gives a result it allocates."""
    rank = len(out)
    if fast:
        if all(judge.is_dense(shape, steps) for shape, steps in operands):
            return list(contiguous_strides(out))
        if all(_is_channels_last(judge, shape, steps) for shape, steps in operands):
            return _permuted_contiguous(out, (0, 2, 3, 1))
        first = operands[0][1]
        if all(
            _is_non_overlapping_and_dense(judge, shape, steps)
            and all(judge.same(a, b) for a, b in zip(steps, first, strict=True))
            for shape, steps in operands
        ):
            return list(first)
    if rank < 2:
        return [1] * rank
    aligned: list[list[Dim]] = []
    for shape, steps in operands:
        pad = rank - len(shape)
        row: list[Dim] = [0] * pad
        for size, step, full in zip(shape, steps, out[pad:], strict=True):
            broadcast = not equal(size, full) and judge.is_one(size) and not judge.is_one(full)
            row.append(0 if broadcast else step)
        aligned.append(row)

    def compare(a: int, b: int) -> int:
        for row in aligned:
            if judge.same(row[a], 0) or judge.same(row[b], 0):
                continue
            order = judge.order(row[a], row[b])
            if order:
                return order
            if judge.order(out[a], out[b]) > 0:
                return 1
        return 0

    order = list(range(rank - 1, -1, -1))
    _insertion_sort(order, compare)
    if order == list(range(rank - 1, -1, -1)):
        return list(contiguous_strides(out))
    result: list[Dim] = [0] * rank
    step: Dim = 1
    for axis in order:
        result[axis] = step
        step = multiply(step, out[axis])
    return result


def elementwise(
    out: Shape,
    operands: Sequence[Operand],
    converted: Sequence[bool | None],
    *,
    cpu: bool,
    numbers: bool | None,
) -> tuple[Strides, bool | None]:
    """The layout of the result of an elementwise operation.

    converted: whether an operand is brought to another dtype first. On a CPU that makes a copy, whose layout counts.
    numbers: whether operands without dimensions take part beside tensors with some, which rules out a shortcut.
    """
    variants = [list(operands)]
    if any(change is not False for change in converted):
        copies = []
        for (shape, strides, dense), change in zip(operands, converted, strict=True):
            copy = preserved(shape, strides, dense) if change is not False else (strides, dense)
            if copy != (strides, dense) and change is None and len(operands) > 1:
                return None, None
            copies.append((shape, *copy))
        if copies != variants[0]:
            certain = cpu and None not in converted
            variants = [copies] if certain else [*variants, copies]
    return _both([_elementwise(out, variant, numbers) for variant in variants])


def _both(layouts: Sequence[tuple[Strides, bool | None]]) -> tuple[Strides, bool | None]:
    """What two layouts have in common."""
    if len(layouts) == 1:
        return layouts[0]
    (a, dense_a), (b, dense_b) = layouts
    strides = None
    if a is not None and b is not None:
        strides = tuple(
            x if x is not None and y is not None and equal(x, y) else None
            for x, y in zip(a, b, strict=True)
        )
    return strides, dense_a if dense_a == dense_b else None


def _elementwise(
    out: Shape, operands: Sequence[Operand], numbers: bool | None
) -> tuple[Strides, bool | None]:
    if any(not operand[0] for operand in operands) and out:
        numbers = True
    operands = [operand for operand in operands if operand[0]] or list(operands[:1])
    alike = all(len(shape) == len(out) and all(map(equal, shape, out)) for shape, _, _ in operands)
    canonical = contiguous_strides(out)
    if all(is_canonical(shape, strides) for shape, strides, _ in operands):
        return canonical, True
    all_dense = alike and all(dense for _, _, dense in operands)
    if all_dense and (numbers is False or all(at_least(size, 2) for size in out)):
        return canonical, True
    known: list[tuple[Shape, Sequence[Dim]]] = []
    for shape, strides, dense in operands:
        steps = known_strides(shape, strides, dense)
        if None in steps:
            return (known_strides(out, None, True), True) if all_dense else (None, None)
        known.append((shape, [step for step in steps if step is not None]))
    maybe_alike = all(len(shape) == len(out) for shape, _, _ in operands) and not any(
        differs(a, b) for shape, _, _ in operands for a, b in zip(shape, out, strict=True)
    )
    # The shortcut for operands of one shape keeps their layout.
    ways = [True] if alike and numbers is False else [False]
    if (maybe_alike and numbers is not True and not alike) or (alike and numbers is None):
        ways = [False, True]
    paths: list[tuple[Judge, list[Dim]]] = []
    for fast in ways:
        found = explore(lambda judge, fast=fast: _iterator_strides(judge, out, known, fast=fast))
        if found is None:
            return (known_strides(out, None, True), True) if all_dense else (None, None)
        paths += found
    paths.sort(key=lambda path: len(path[0].ones))
    strides, dense = _layouts(paths, out)
    return strides, True if all_dense else dense


def broadcast_size(a: Dim, b: Dim) -> Dim:
    if a == 1 or equal(a, b):
        return b
    if b == 1:
        return a
    for size, other in ((a, b), (b, a)):
        if size == 0 or at_least(size, 2):
            if differs(size, other) and not isinstance(other, Poly):
                raise GiveUpError
            return size
    return symbol("?")


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape; raises where there is certainly none."""
    result: list[Dim] = []
    for axis in range(1, max(map(len, shapes), default=0) + 1):
        size: Dim = 1
        for shape in shapes:
            if axis <= len(shape):
                size = broadcast_size(size, shape[-axis])
        result.append(size)
    return tuple(reversed(result))


def numel_differs(a: Shape, b: Shape) -> bool:
    return differs(product(a), product(b))
