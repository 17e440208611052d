"""The schema of the settings: it says yes and no where the command does."""

from __future__ import annotations

import json
import pathlib
import re
import tomllib
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdacheck import schema
from kdacheck.contracts.versions import NEWEST
from kdacheck.keys import KEYS, ConfigError, check_table, known_rules

ROOT = pathlib.Path(__file__).parents[1]
WRITTEN = json.loads((ROOT / schema.PLACE).read_text("utf-8"))
VALIDATOR = jsonschema.Draft7Validator(WRITTEN)


def test_the_schema_is_one():
    jsonschema.Draft7Validator.check_schema(WRITTEN)
    assert schema.text() == (ROOT / schema.PLACE).read_text("utf-8"), "run python -m kdacheck.docs"


def agreed(table: dict[str, Any]) -> bool:
    """Whether both take a table."""
    try:
        check_table("kda.toml", "", table)
        taken = True
    except ConfigError:
        taken = False
    assert VALIDATOR.is_valid(table) is taken, table
    return taken


RULES = known_rules()
WORDS = st.one_of(
    st.sampled_from(["ALL", *RULES, *RULES.values()]),
    st.sampled_from(sorted(RULES)).flatmap(lambda c: st.integers(0, 8).map(lambda n: c[:n])),
    st.text(alphabet="AKD019-all*", max_size=8),
)
RELEASES = st.one_of(
    st.from_regex(r"[0-9]+(\.[0-9]+)*((rc|\.post|\+cu)[0-9]+)?", fullmatch=True),
    st.text(alphabet="0169.+-ar>=٣ ", max_size=8),
)
TOML = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.dates().map(str),
    WORDS,
    st.lists(st.one_of(WORDS, st.integers()), max_size=3),
    st.dictionaries(WORDS, st.one_of(WORDS, st.lists(WORDS, max_size=2)), max_size=2),
    st.dictionaries(st.sampled_from([*NEWEST, "numpy"]), RELEASES, max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS, "selects", "fix"]), TOML, max_size=3))
def test_the_schema_and_the_command_agree(table):
    agreed(table)


@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "select": st.lists(WORDS, max_size=3),
            "extend-select": st.lists(WORDS, max_size=3),
            "per-file-ignores": st.dictionaries(st.text(max_size=5), st.lists(WORDS, max_size=2)),
            "exclude": st.lists(st.text(max_size=5), max_size=2),
            "likely": st.booleans(),
            "baseline": st.text(max_size=3),
            "versions": st.dictionaries(st.sampled_from(list(NEWEST)), RELEASES, max_size=2),
        },
    )
)
def test_they_agree_on_values_of_the_right_kind(table):
    agreed(table)


def test_the_examples_of_the_guide_are_good():
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    tables = [
        tomllib.loads(example)["tool"]["kdacheck"]
        for example in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        if "[tool.kdacheck" in example
    ]
    assert tables
    assert all(map(agreed, tables))
    for key in KEYS:
        assert any(key in table for table in tables) or f"`{key}`" in text, key


@pytest.mark.parametrize(
    "table",
    [
        {"selects": []},
        {"select": "KDA001"},
        {"select": ["KDA777"]},
        {"ignore": [1]},
        {"likely": "yes"},
        {"baseline": ""},
        {"extend": []},
        {"versions": {"numpy": "1.0"}},
        {"versions": {"sglang": ">=0.5"}},
        {"per-file-ignores": {"*.py": "KDA001"}},
    ],
)
def test_an_editor_tells_what_is_wrong(table):
    assert not agreed(table)


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.default is not None])
def test_defaults_are_values(key):
    assert agreed({key.name: key.default})
    assert WRITTEN["properties"][key.name]["default"] == key.default
