"""What rules say of contracts that no library of the catalogue has, but that anybody may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts import Call
from kdacheck.contracts.clauses import Drift, Indices
from kdacheck.contracts.declare import clause, read
from kdacheck.facts import Fact
from kdacheck.rule import Violation
from kdacheck.rules import find

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


def test_indices_whose_number_no_argument_tells() -> None:
    @clause(Indices(("slots",)))
    def kernel(q: Float[Tensor, "B T K"], slots: Int[Tensor, "4"]): ...

    (found,) = told("KDA401", kernel, q=tensor(2, 8, 16), slots=tensor(3))
    assert found.message == "`slots` has 3 slot indices in [3], but there are 4 sequences"
