"""Sizes: arithmetic over symbols, compared with arithmetic over the numbers they stand for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest

from kdacheck.facts import Dim, TensorFacts, bounds, differs, equal, exactly, is_dense, show
from kdacheck.facts.dims import (
    add,
    at_least,
    divide,
    floor_divide,
    multiply,
    of_symbol,
    possible_values,
    product,
    serial,
    substitute,
    symbol,
    symbols,
)

A, B = symbol("a", 1, 3), symbol("b", choices={2, 5})
(SA,), (SB,) = symbols(A), symbols(B)


def value(dim: Dim, a: int, b: int) -> int:
    found = substitute(dim, lambda sym: a if sym == SA else b)
    assert isinstance(found, int)
    return found


def polynomials(seed: int) -> Dim:
    rng = random.Random(seed)
    dim: Dim = rng.choice((A, B, 2))
    for _ in range(rng.randint(1, 3)):
        other: Dim = rng.choice((A, B, 1, 2, -1))
        dim = rng.choice((add, multiply))(dim, other)
    return dim


CASES = list(itertools.product((1, 2, 3), (2, 5)))


@pytest.mark.parametrize("seed", range(60))
def test_arithmetic_is_that_of_the_numbers(seed: int) -> None:
    one, two = polynomials(seed), polynomials(seed + 1000)
    for a, b in CASES:
        x, y = value(one, a, b), value(two, a, b)
        assert value(add(one, two), a, b) == x + y
        assert value(multiply(one, two), a, b) == x * y
        assert value(product([one, two, 3]), a, b) == 3 * x * y
        exact = divide(one, two)
        if exact is not None and y:
            assert value(exact, a, b) * y == x
        floor = floor_divide(one, two)
        if floor is not None and y:
            assert value(floor, a, b) == x // y
    numbers = {value(one, a, b) for a, b in CASES}
    low, high = bounds(one)
    assert low is not None
    assert high is not None
    assert low <= min(numbers)
    assert high >= max(numbers)
    assert at_least(one, low)
    assert not at_least(one, max(numbers) + 1)
    others = {value(two, a, b) for a, b in CASES}
    pairs = {value(one, a, b) - value(two, a, b) for a, b in CASES}
    assert not (equal(one, two) and pairs != {0})
    assert not (differs(one, two) and 0 in pairs)
    assert numbers
    assert others


def test_what_is_certain() -> None:
    assert equal(add(A, B), add(B, A))
    assert equal(multiply(A, 2), add(A, A))
    assert not equal(A, B)
    assert not differs(A, B)
    assert differs(A, 4)
    assert differs(B, 3)
    assert not differs(B, 5)
    assert differs(A, add(A, 1))
    assert not differs(symbol("n"), 0)
    assert differs(symbol("n"), -1)
    assert not differs(symbol("n", None), -1)
    assert differs(symbol("n", -5, -1), 0)
    assert not differs(symbol("n", -5, 0), 0)
    assert exactly(A) is None
    assert exactly(3) == 3
    assert exactly(None) is None


def test_ranges() -> None:
    assert bounds(A) == (1, 3)
    assert bounds(B) == (2, 5)
    assert bounds(multiply(A, -2)) == (-6, -2)
    assert bounds(multiply(A, B)) == (2, 15)
    assert bounds(symbol("n")) == (0, None)
    assert bounds(multiply(symbol("n"), A)) == (0, None)
    assert bounds(multiply(symbol("n"), symbol("m"))) == (0, None)
    assert bounds(multiply(symbol("n", None), A)) == (None, None)
    assert bounds(multiply(symbol("n", None, 5), symbol("m"))) == (None, None)
    assert bounds(multiply(symbol("n", 1, 5), symbol("m", None, 2))) == (None, None)
    assert bounds(multiply(symbol("n", -2, 1), symbol("m", -3, 1))) == (-3, 6)
    assert bounds(7) == (7, 7)


def test_quotients() -> None:
    assert divide(6, 3) == 2
    assert divide(7, 3) is None
    assert divide(7, 0) is None
    assert divide(multiply(A, 6), 3) == multiply(A, 2)
    assert divide(multiply(A, 5), 3) is None
    assert divide(multiply(multiply(A, B), 4), multiply(A, 2)) == multiply(B, 2)
    assert divide(multiply(A, 3), multiply(A, 2)) is None
    assert divide(A, B) is None
    assert divide(add(A, B), add(A, B)) == 1
    assert divide(add(A, 1), add(A, B)) is None
    assert floor_divide(-7, 2) == -4
    assert floor_divide(7, 0) is None
    assert floor_divide(A, 2) is None
    assert floor_divide(multiply(A, 4), 2) == multiply(A, 2)


def test_a_product_of_too_many_is_just_some_number() -> None:
    power = product([A] * 40)
    assert bounds(power) == (1, 3**40)
    assert not equal(multiply(power, power), multiply(power, power))
    assert bounds(multiply(power, power)) == (None, None)
    assert equal(multiply(power, product([A] * 24)), product([A] * 64))
    few, many = (add_up(symbol("x") for _ in range(count)) for count in (32, 33))
    assert equal(multiply(few, few), multiply(few, few))
    assert bounds(multiply(few, many)) == (None, None)
    assert multiply(0, product([A] * 64)) == 0


def add_up(dims: Iterable[Dim]) -> Dim:
    total: Dim = 0
    for dim in dims:
        total = add(total, dim)
    return total


def test_a_serial_number_parts_earlier_symbols_from_later_ones() -> None:
    (before,) = symbols(symbol("n"))
    number = serial()
    (after,) = symbols(symbol("n"))
    assert before.uid < number < after.uid


def test_choices() -> None:
    assert symbol("c", choices={4}) == 4
    assert of_symbol(SA) == A
    assert possible_values(B) == {2, 5}
    assert possible_values(add(B, 1)) == {3, 6}
    assert possible_values(3) == {3}
    assert possible_values(A) is None
    many = product(symbol("x", choices=set(range(20))) for _ in range(2))
    assert possible_values(many) is None


def test_how_many_choices_are_tried() -> None:
    sixteen = [symbol("x", choices=set(range(16))) for _ in range(2)]
    found = possible_values(product(sixteen))
    assert found is not None
    assert max(found) == 15 * 15
    assert possible_values(multiply(product(sixteen), B)) is None


def test_operators() -> None:
    for a, b in CASES:
        assert value(A + B, a, b) == a + b  # type: ignore[operator]
        assert value(1 + A, a, b) == 1 + a  # type: ignore[operator]
        assert value(A - B, a, b) == a - b  # type: ignore[operator]
        assert value(1 - A, a, b) == 1 - a  # type: ignore[operator]
        assert value(2 * A, a, b) == 2 * a  # type: ignore[operator]
        assert value(A * B, a, b) == a * b  # type: ignore[operator]
        assert value(-A, a, b) == -a  # type: ignore[operator]


def test_strides_by_axis() -> None:
    facts = TensorFacts.of((2, 3), (3, 1))
    assert [facts.stride(axis) for axis in (-3, -2, -1, 0, 1, 2)] == [None, 3, 1, 3, 1, None]
    assert TensorFacts(shape=(2,)).stride(0) is None


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (7, "7"),
        (B, "2 or 5"),
        (A, "a"),
        (multiply(A, 2), "2*a"),
        (add(A, 1), "a+1"),
        (add(multiply(A, -1), 1), "-a+1"),
        (add(multiply(A, A), multiply(A, -3)), "a*a-3*a"),
        (symbol("c", choices={1, 2, 3, 4, 5}), "c"),
        (symbol("c", choices={1, 2, 3, 4}), "1 or 2 or 3 or 4"),
    ],
)
def test_words(dim: Dim, text: str) -> None:
    assert show(dim) == text


def test_density() -> None:
    n, several = symbol("n"), symbol("s", low=2)
    assert is_dense((2, 3), (3, 1)) is True
    assert is_dense((2, 3), (1, 2)) is False
    assert is_dense((1, 3), (99, 1)) is True
    assert is_dense((0, 3), (7, 7)) is True
    assert is_dense((2, 3), (None, 1)) is None
    assert is_dense((1, 3), (None, 1)) is True
    assert is_dense((n, 3), (3, 1)) is True
    assert is_dense((n, 3), (4, 1)) is None
    assert is_dense((several, 3), (4, 1)) is False
    assert is_dense((2, n), (n, 1)) is True
    assert is_dense((2, n), (multiply(n, 2), 1)) is False
    assert is_dense((2, n), (symbol("s", None), 1)) is None
    assert is_dense((2, n), (n + symbol("s", -5, 5), 1)) is None
    assert is_dense((2, 3), (0, 1)) is False
    assert is_dense((2, 3), (n, 1)) is None


def test_what_follows_from_a_shape() -> None:
    n = symbol("n")
    facts = TensorFacts.of((2, n, 4), dense=True, dtype="float32")
    assert facts.strides == (multiply(n, 4), 4, 1)
    assert facts.rank == 3
    assert facts.dim(-1) == 4
    assert facts.dim(0) == 2
    assert facts.dim(3) is None
    assert facts.dim(-4) is None
    assert facts.dtype == "float32"
    assert facts.dtypes == {"float32"}
    assert TensorFacts.of((2, 0, 3), dense=True).strides == (3, 3, 1)
    assert TensorFacts.of((2, 3)).strides is None
    assert TensorFacts.of((1, 3), (99, 1), dense=True).strides == (99, 1)
    assert TensorFacts.of((2, 3), (3, 1)).dense is True
    assert TensorFacts.of((2, 3), (0, 1)).dense is False
    unknown = TensorFacts(partial={1: 5}, dtypes=frozenset(("int32", "int64")))
    assert unknown.rank is None
    assert unknown.dim(1) == 5
    assert unknown.dim(0) is None
    assert unknown.dim(-1) is None
    assert unknown.dtype is None
