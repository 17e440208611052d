"""The generated checker and the slow path give one verdict, over random calls of every contract."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from torch import Tensor

from kdacheck import contracts
from kdacheck.runtime import judge, levels, reading, typechecked
from kdacheck.runtime.guard import Guard
from tests.runtime import contracted
from tests.runtime.random_arguments import arguments, mutate, positional

CALLS = 3000

#: Rules that judge what an annotation alone says, unless a clause has a part in it.
ANNOTATIONS = frozenset(("KDA102", "KDA204", "KDA304", "KDA106"))


def guards() -> list[Guard]:
    catalogued = [Guard(reading.of_contract(contract)) for contract in contracts.catalogue()]
    decorated: list[Any] = [contracted.attend, contracted.step]
    return [*catalogued, *(function.__kdacheck_guard__() for function in decorated)]


def strange(guard: Guard, bound: judge.Bound) -> bool:
    """Whether a call has a flag that is no flag, or passes by position what moved: the checker asks back, at a cost only."""
    for name, value in bound.given.items():
        parameter = guard.signature.contract.by_name[name]
        if isinstance(parameter.default, bool) and not isinstance(value, (bool, type(None))):
            return True
        if isinstance(value, str) or (
            isinstance(value, Tensor) and not parameter.annotation.tensors
        ):
            return True
    return len(bound.positional) > guard.limit


@pytest.mark.parametrize("seed", [9, 10])
def test_the_checker_agrees_with_jaxtyping_beartype_and_the_rules(seed: int) -> None:
    rng, every = random.Random(seed), guards()
    seen: Counter[str] = Counter()
    for _ in range(CALLS // 2):
        guard = rng.choice([*every, *every[-2:] * 10])
        contract = guard.signature.contract
        given = arguments(rng, contract)
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            mutate(rng, given)
        args, keywords = positional(rng, contract, given)
        passes = guard.passes(args, keywords)
        bound = judge.bind(guard.signature, args, keywords)
        if bound.missing:
            assert not passes
            continue
        call = judge.call_of(guard.signature, bound, levels.META)
        broken = list(judge.by_rules(call))
        objection = typechecked.objection(guard.signature, call, bound)
        shown = contract.paths[0], contract.versions, _shown(bound.given), broken, objection
        if passes:
            assert not broken, shown
            assert objection is None, shown
        elif not broken and objection is None:
            assert strange(guard, bound), str(shown)
        if objection is not None:
            formal = contract.by_name[objection.parameter]
            value = bound.given[objection.parameter]
            assert broken or not (isinstance(value, Tensor) and formal.annotation.tensors), shown
        if ANNOTATIONS & {law.code for law in broken}:
            assert objection is not None, shown
        seen["right" if passes else "broken"] += 1
    assert min(seen.values()) > CALLS // 10


def _shown(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (tuple(value.shape), value.stride(), value.dtype, value.device.type)
        if isinstance(value, Tensor)
        else value
        for name, value in given.items()
    }


def test_the_checker_is_straight_line() -> None:
    for guard in guards():
        source = guard.check.source  # type: ignore[attr-defined]
        assert "for " not in source
        assert "while " not in source
