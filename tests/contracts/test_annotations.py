"""Reading jaxtyping annotations from their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdacheck.contracts.annotations import evaluate, parse, parse_axes
from kdacheck.facts import equal
from kdacheck.facts.dims import Dim, add, multiply, symbol


def test_axes() -> None:
    assert parse_axes("B T H K").names == ("B", "T", "H", "K")
    assert parse_axes("B T H K").rank == 4
    assert parse_axes("").rank == 0
    assert parse_axes("... H K").rank is None
    assert parse_axes("... H K").variadic == 0
    assert parse_axes("B *rest K").variadic == 1
    assert parse_axes("#B _T ?x *#rest").names == ("_", "_", "_", "...")
    assert parse_axes("rows=4 *batch").names == ("4", "*batch")
    assert str(parse_axes("HV*K")) == "[HV*K]"


def test_dtype_families() -> None:
    assert parse('Float32[Tensor, "N"]').dtypes == {"float32"}
    assert parse('BFloat16[Tensor, "N"] | Float32[Tensor, "N"]').dtypes == {"bfloat16", "float32"}
    assert "int64" in (parse('Int[Tensor, "N"]').dtypes or ())
    assert parse('Shaped[Tensor, "N"]').dtypes is None
    assert parse('Float32[Tensor, "N"] | Tensor').dtypes is None


@pytest.mark.parametrize(
    ("text", "ranks", "optional"),
    [
        ('Float[Tensor, "B T HV*K"]', {3}, False),
        ('Float[Tensor, "HV*K"] | Float[Tensor, "HV K"] | None', {1, 2}, True),
        ('Optional[Float[torch.Tensor, "B T"]]', {2}, True),
        ('typing.Union[jaxtyping.Float[Tensor, "B"], None]', {1}, True),
        ('Annotated[Float[Tensor, "B T"], "note"]', {2}, False),
        ("'Float[Tensor, \"B T\"] | None'", {2}, True),
        ('Float[Tensor, "..."]', None, False),
        ("Tensor", None, False),
        ("torch.LongTensor | None", None, True),
    ],
)
def test_forms(text: str, ranks: set[int] | None, optional: bool) -> None:
    annotation = parse(text)
    assert annotation.ranks == ranks
    assert annotation.optional is optional
    assert not annotation.others


@pytest.mark.parametrize(
    "text", ["Any", "float", "Callable[[int], str]", "not python at all", "3", "Float[Tensor]"]
)
def test_what_says_nothing_of_tensors(text: str) -> None:
    annotation = parse(text)
    assert annotation.others
    assert annotation.tensors == ()
    assert annotation.dtypes is None
    assert annotation.ranks is None


def test_evaluate() -> None:
    n: Dim = symbol("n")
    bound: dict[str, Dim] = {"H": 2, "K": 64, "N": n}
    assert evaluate("H*K", bound) == 128
    assert evaluate("7", bound) == 7
    assert evaluate("K//H", bound) == 32
    assert evaluate("K-H", bound) == 62
    assert evaluate("{H}", bound) == 2
    wanted = evaluate("N+1", bound)
    assert wanted is not None
    assert equal(wanted, add(n, 1))
    for text in ("Q*K", "H @ K", "H(", "'H'", "K%H", "K//Q"):
        assert evaluate(text, bound) is None


@given(st.dictionaries(st.sampled_from(("A", "B", "C")), st.integers(0, 9), min_size=3))
def test_evaluate_agrees_with_python(bound: dict[str, int]) -> None:
    for text in ("A*B+C", "A+B*C", "A-B", "(A+B)*C"):
        assert evaluate(text, dict(bound)) == eval(text, {}, dict(bound))


@given(st.integers(0, 9), st.integers(0, 9))
def test_products_of_symbols(left: int, right: int) -> None:
    a = symbol("a")
    product = evaluate("A*B", {"A": multiply(a, left), "B": right})
    assert product is not None
    assert equal(product, multiply(a, left * right))
