"""Dimensions: an int, or a polynomial over symbols that are only partly known.

Every question has three answers, so there are two predicates, `equal` and `differs`; "cannot tell" is neither.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_serial = itertools.count(1)

#: More combinations of finite choices than this are not enumerated.
MAX_COMBINATIONS = 256

#: Products of more terms, or of more symbols, are just some number.
MAX_TERMS, MAX_DEGREE = 1024, 64


@dataclass(frozen=True, slots=True)
class Symbol:
    """An integer known only by name, by bounds, or as one of a few choices. Identity is `uid`."""

    name: str = field(compare=False)
    low: int | None = field(default=0, compare=False)
    high: int | None = field(default=None, compare=False)
    choices: frozenset[int] | None = field(default=None, compare=False)
    uid: int = field(default_factory=lambda: next(_serial))


Monomial = tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of products of symbols with integer coefficients; never a plain constant."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return add(self, multiply(other, -1))

    def __rsub__(self, other: Dim) -> Dim:
        return add(other, multiply(self, -1))

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return multiply(self, -1)


Dim = int | Poly


def symbol(
    name: str,
    low: int | None = 0,
    high: int | None = None,
    choices: Iterable[int] | None = None,
) -> Dim:
    """A fresh unknown integer; a single choice is that integer."""
    known = None if choices is None else frozenset(choices)
    if known is not None and len(known) == 1:
        return next(iter(known))
    return Poly((((Symbol(name, low, high, known),), 1),))


def serial() -> int:
    """A number above the `uid` of every symbol so far, and below that of every later one."""
    return next(_serial)


def of_symbol(sym: Symbol) -> Poly:
    return Poly((((sym,), 1),))


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    return dim.terms if isinstance(dim, Poly) else (((), dim),) if dim else ()


def _build(terms: dict[Monomial, int]) -> Dim:
    kept = {mono: coef for mono, coef in terms.items() if coef}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Poly(tuple(sorted(kept.items(), key=lambda item: [s.uid for s in item[0]])))


def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0 or b == 0:
        return b if a == 0 else a
    out = dict(_terms(a))
    for mono, coef in _terms(b):
        out[mono] = out.get(mono, 0) + coef
    return _build(out)


def multiply(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if a == 1 else a
    if len(_terms(a)) * len(_terms(b)) > MAX_TERMS or _degree(a) + _degree(b) > MAX_DEGREE:
        return symbol("product", low=None)
    out: dict[Monomial, int] = {}
    for (left, x), (right, y) in itertools.product(_terms(a), _terms(b)):
        mono = tuple(sorted(left + right, key=lambda s: s.uid))
        out[mono] = out.get(mono, 0) + x * y
    return _build(out)


def _degree(dim: Dim) -> int:
    return max((len(mono) for mono, _ in _terms(dim)), default=0)


def product(dims: Iterable[Dim]) -> Dim:
    result: Dim = 1
    for dim in dims:
        result = multiply(result, dim)
    return result


def divide(a: Dim, b: Dim) -> Dim | None:
    """`a / b` where it is exact (every symbol of `b` taken as non-zero), else None."""
    if isinstance(b, int):
        if b == 0:
            return None
        if isinstance(a, int):
            return a // b if a % b == 0 else None
        if all(coef % b == 0 for _, coef in a.terms):
            return _build({mono: coef // b for mono, coef in a.terms})
        return None
    if len(b.terms) != 1:
        if isinstance(a, Poly) and a.terms == b.terms:
            return 1
        return None
    (divisor, scale), quotient = b.terms[0], {}
    for mono, coef in _terms(a):
        if coef % scale:
            return None
        rest = list(mono)
        for sym in divisor:
            if sym not in rest:
                return None
            rest.remove(sym)
        quotient[tuple(rest)] = coef // scale
    return _build(quotient)


def floor_divide(a: Dim, b: Dim) -> Dim | None:
    """`a // b` for ints of any sign and for exact polynomial quotients, else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b else None
    return divide(a, b)


def symbols(dim: Dim) -> set[Symbol]:
    return {sym for mono, _ in _terms(dim) for sym in mono}


def substitute(dim: Dim, replace: Callable[[Symbol], Dim]) -> Dim:
    """`dim` with every symbol replaced."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for mono, coef in dim.terms:
        part: Dim = coef
        for sym in mono:
            part = multiply(part, replace(sym))
        total = add(total, part)
    return total


def possible_values(dim: Dim) -> frozenset[int] | None:
    """All values `dim` can take where every symbol has a few choices, else None."""
    if isinstance(dim, int):
        return frozenset((dim,))
    names = sorted(symbols(dim), key=lambda s: s.uid)
    count = 1
    for sym in names:
        if sym.choices is None:
            return None
        count *= max(1, len(sym.choices))
        if count > MAX_COMBINATIONS:
            return None
    values = set()
    for picks in itertools.product(*(sorted(s.choices or ()) for s in names)):
        at: Mapping[Symbol, int] = dict(zip(names, picks, strict=True))
        value = substitute(dim, at.__getitem__)
        assert isinstance(value, int)
        values.add(value)
    return frozenset(values)


def _range(sym: Symbol) -> tuple[int | None, int | None]:
    if sym.choices:
        return min(sym.choices), max(sym.choices)
    return sym.low, sym.high


def _multiply_ranges(
    a: tuple[int | None, int | None], b: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        high = None if a[1] is None or b[1] is None else a[1] * b[1]
        return a[0] * b[0], high
    if None in a or None in b:
        return None, None
    corners = [x * y for x in a for y in b if x is not None and y is not None]
    return min(corners), max(corners)


def bounds(dim: Dim) -> tuple[int | None, int | None]:
    """The least and greatest value `dim` can take; None where unbounded."""
    if isinstance(dim, int):
        return dim, dim
    low: int | None = 0
    high: int | None = 0
    for mono, coef in dim.terms:
        part: tuple[int | None, int | None] = (1, 1)
        for sym in mono:
            part = _multiply_ranges(part, _range(sym))
        lo, hi = part if coef > 0 else (part[1], part[0])
        low = None if low is None or lo is None else low + coef * lo
        high = None if high is None or hi is None else high + coef * hi
    return low, high


def equal(a: Dim, b: Dim) -> bool:
    """True where `a` and `b` are certainly the same number."""
    return add(a, multiply(b, -1)) == 0


def differs(a: Dim, b: Dim) -> bool:
    """True where `a` and `b` are certainly different numbers."""
    gap = add(a, multiply(b, -1))
    if isinstance(gap, int):
        return gap != 0
    low, high = bounds(gap)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return True
    values = possible_values(gap)
    return values is not None and 0 not in values


def exactly(dim: Dim | None) -> int | None:
    """`dim` as a plain int where it is one."""
    return dim if isinstance(dim, int) else None


def at_least(dim: Dim, limit: int) -> bool:
    """True where `dim` is certainly `limit` or more."""
    low = bounds(dim)[0]
    return low is not None and low >= limit


def show(dim: Dim) -> str:
    """`dim` as a reader would write it: `B*T`, `n+1`, `2 or 4`."""
    if isinstance(dim, int):
        return str(dim)
    values = possible_values(dim)
    if values is not None and len(values) <= 4:
        return " or ".join(map(str, sorted(values)))
    parts = []
    for mono, coef in sorted(dim.terms, key=lambda item: -len(item[0])):
        names = "*".join(sym.name for sym in mono)
        text = "*".join(filter(None, ("" if names and abs(coef) == 1 else str(abs(coef)), names)))
        parts.append(("-" if coef < 0 else "+" if parts else "") + text)
    return "".join(parts)
