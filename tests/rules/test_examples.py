"""The examples of the rules are what the rules say of them, read from source as a user's file would be."""

from __future__ import annotations

import pytest

from kdacheck.rules import catalogue
from kdacheck.source import analyse, may_matter

#: Rules about files and comments, which are judged where files are read.
OF_THE_TOOL = ("KDA900", "KDA901")

EXAMPLES = [
    pytest.param(rule.code, kind, text, id=f"{rule.code}-{kind}-{number}")
    for rule in catalogue()
    if rule.code not in OF_THE_TOOL
    for kind in ("wrong", "right")
    for number, text in enumerate(getattr(rule, kind))
]


@pytest.mark.parametrize(("code", "kind", "text"), EXAMPLES)
def test_an_example_is_judged_as_the_rule_says(code: str, kind: str, text: str) -> None:
    assert may_matter(text.encode())
    found = analyse("example.py", text.encode(), {})
    expected = {code} if kind == "wrong" else set()
    assert {finding.code for finding in found} == expected, [finding.message for finding in found]


def test_every_rule_shows_a_wrong_and_a_right_call() -> None:
    assert [rule.code for rule in catalogue() if not (rule.wrong and rule.right)] == []
