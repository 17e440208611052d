"""The examples of the rules are what the rules say of them, read from source as a user's file would be."""

from __future__ import annotations

import pytest

from kdacheck.rules import catalogue
from kdacheck.source import analyse, examine, may_matter

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


LIKELY = [
    pytest.param(rule.code, text, id=f"{rule.code}-{number}")
    for rule in catalogue()
    for number, text in enumerate(rule.likely)
]


@pytest.mark.parametrize(("code", "text"), LIKELY)
def test_a_likely_example_is_found_and_marked_as_such(code: str, text: str) -> None:
    found = examine("example.py", text.encode(), {}).findings
    assert [(finding.code, finding.likely, finding.fix) for finding in found] == [
        (code, True, None)
    ]
    assert analyse("example.py", text.encode(), {}) == []


@pytest.mark.parametrize(("code", "kind", "text"), EXAMPLES)
def test_no_example_is_likely_to_be_wrong_in_another_way(code: str, kind: str, text: str) -> None:
    assert not [f for f in examine("example.py", text.encode(), {}).findings if f.likely]


def test_every_rule_shows_a_wrong_and_a_right_call() -> None:
    assert [rule.code for rule in catalogue() if not (rule.wrong and rule.right)] == []
