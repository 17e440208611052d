"""The linter and the runtime say the same of the same call."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import pytest

import kdacheck
from kdacheck import rules
from kdacheck.rule import Rule

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = 500


@pytest.fixture(scope="module")
def agreement() -> Any:
    """The benchmark, as a module."""
    path = ROOT / "benchmarks" / "agreement.py"
    spec = importlib.util.spec_from_file_location("agreement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["agreement"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_random_programs(agreement: Any) -> None:
    tally = agreement.compare(seed=3, count=PROGRAMS)
    assert tally.flagged > PROGRAMS // 4
    assert tally.raising > PROGRAMS // 4
    assert tally.sound == 1.0, tally.false_alarms[0]
    assert tally.complete >= 0.97, tally.missed[0]


def examples(kind: str) -> list[Any]:
    return [
        pytest.param(rule, text, id=f"{rule.code}-{index}")
        for rule in rules.catalogue()
        if rule.check is not None and rule.runtime != "-"
        for index, text in enumerate(getattr(rule, kind))
    ]


def run(text: str, level: str) -> tuple[str, ...]:
    """The codes with which an example raises, called with what its parameters stand for."""
    from tests.runtime.examples import call_example

    with kdacheck.dry(), kdacheck.checking(level):  # type: ignore[arg-type]
        return call_example(text)


@pytest.mark.parametrize(("rule", "text"), examples("wrong"))
def test_wrong_examples_raise_their_code(rule: Rule, text: str) -> None:
    level = "values" if "values" in rule.runtime else "meta"
    assert rule.code in run(text, level)


@pytest.mark.parametrize(("rule", "text"), examples("right"))
def test_right_examples_pass(rule: Rule, text: str) -> None:
    assert run(text, "values") == ()
