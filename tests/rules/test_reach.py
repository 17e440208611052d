"""Which callees a rule can be broken at: every callee that one of its examples breaks, and none that lacks the parameter."""

from __future__ import annotations

import pytest

from kdacheck.contracts import choose
from kdacheck.rules import catalogue
from kdacheck.rules._reach import applies

from .test_verdicts import CONV, FLA, FLASH, HELION, PACKED, REPLAY, STRICT, TRITON, WRONG


def reached(path: str) -> set[str]:
    chosen = choose(path, {})
    assert chosen is not None
    return {rule.code for rule in catalogue() if applies(rule.code, chosen[0])}


@pytest.mark.parametrize(("path", "codes"), sorted({(case[0], tuple(case[-1])) for case in WRONG}))
def test_what_a_call_breaks_can_be_broken_there(path: str, codes: tuple[str, ...]) -> None:
    assert set(codes) <= reached(path)


def test_a_state_goes_back_to_its_pool_where_only_a_flag_tells_its_order() -> None:
    assert "KDA403" in reached(STRICT)


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        (CONV, {"KDA101", "KDA102", "KDA103", "KDA403", "KDA404", "KDA406", "KDA503"}),
        (FLA, {"KDA106", "KDA201", "KDA404", "KDA406"}),
        (FLASH, {"KDA404", "KDA406"}),
        (HELION, {"KDA101", "KDA406"}),
        (PACKED, {"KDA001", "KDA003", "KDA301", "KDA302", "KDA305", "KDA406"}),
        (REPLAY, {"KDA001", "KDA301", "KDA305"}),
        (TRITON, {"KDA406"}),
    ],
)
def test_what_a_callee_has_no_parameters_for(path: str, codes: set[str]) -> None:
    assert not codes & reached(path)
