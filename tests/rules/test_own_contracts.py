"""What rules say of contracts that no library of the catalogue has, but that anybody may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts import Call
from kdacheck.contracts.clauses import Drift, Exclusive, Indices, PerSequence
from kdacheck.contracts.declare import clause, read
from kdacheck.facts import Fact
from kdacheck.rule import Violation
from kdacheck.rules import find
from kdacheck.rules._reach import applies

from .conftest import fact, tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


def told(code: str, kernel: Any, **values: Any) -> list[Violation]:
    contract = read(kernel, (), "", "")
    facts: dict[str, Fact] = {name: fact(value) for name, value in values.items()}
    names = [parameter.name for parameter in contract.parameters]
    call = Call(contract, facts, positional={name: names.index(name) for name in facts})
    rule = find(code)
    assert rule is not None
    assert rule.check is not None
    return list(rule.check(call))


def test_a_number_where_a_number_or_a_tensor_is_taken_has_not_drifted() -> None:
    @clause(Drift(1, "scale", "beta", "other libraries"), Drift(2, "bias", "scale", "version 1"))
    def kernel(
        q: Float[Tensor, "T K"],
        scale: Float[Tensor, "1"] | float | None = None,
        bias: Float[Tensor, "K"] | None = None,
    ): ...

    q = tensor(8, 16)
    assert told("KDA502", kernel, q=q, scale=0.5) == []
    assert told("KDA502", kernel, q=q, scale=tensor(1)) == []
    (found,) = told("KDA502", kernel, q=q, scale=None, bias=0.5)
    assert found.message == "position 2 is `bias` here, but `scale` in version 1"


def test_what_was_meant_for_another_parameter_is_told_once() -> None:
    @clause(Drift(1, "bias", "scale", "version 1"))
    def kernel(q: Float[Tensor, "T K"], bias: Float[Tensor, "K"] | None = None): ...

    assert len(told("KDA502", kernel, q=tensor(8, 16), bias=0.5)) == 1
    assert told("KDA205", kernel, q=tensor(8, 16), bias=0.5) == []


def test_an_axis_that_no_other_argument_measures_cannot_disagree() -> None:
    def alone(x: Float[Tensor, "T K"]): ...
    def same(x: Float[Tensor, "T K"], y: Float[Tensor, "T"]): ...
    def computed(x: Float[Tensor, "T K"], y: Float[Tensor, "2*K"]): ...

    assert not applies("KDA203", read(alone, (), "", ""))
    assert applies("KDA203", read(same, (), "", ""))
    assert applies("KDA203", read(computed, (), "", ""))


def test_an_argument_that_disagrees_with_itself() -> None:
    def square(x: Float[Tensor, "K K"]): ...

    (found,) = told("KDA203", square, x=tensor(4, 5))
    assert found.message == "`x` is [4, 5]: axis 1 is 5, but must be 4, the key channels (K)"


def test_where_arguments_exclude_each_other() -> None:
    def kernel(
        q: Float[Tensor, "B T K"],
        one: Float[Tensor, "K"] | None = None,
        other: Float[Tensor, "K"] | None = None,
        cu: Int[Tensor, "N+1"] | None = None,
    ): ...

    packed = PerSequence("q", by="cu")
    assert applies("KDA503", read(clause(Exclusive(("one", "other")), packed)(kernel), (), "", ""))


def test_indices_whose_number_no_argument_tells() -> None:
    @clause(Indices(("slots",)))
    def kernel(q: Float[Tensor, "B T K"], slots: Int[Tensor, "4"]): ...

    @clause(Indices(("slots",)))
    def single(q: Float[Tensor, "B T K"], slots: Int[Tensor, "1"]): ...

    (found,) = told("KDA401", single, q=tensor(2, 8, 16), slots=tensor(3))
    assert found.message == "`slots` has 3 slot indices in [3], but there is 1 sequence"
    (found,) = told("KDA401", kernel, q=tensor(2, 8, 16), slots=tensor(3))
    assert found.message == "`slots` has 3 slot indices in [3], but there are 4 sequences"
