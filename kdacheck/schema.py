"""The JSON schema of `[tool.kdacheck]`, by which editors complete and check it; made from `kdacheck.keys`."""

from __future__ import annotations

import json
from typing import Any

from kdacheck.keys import KEYS, known_rules
from kdacheck.version import PROJECT_URL

#: Where it lies in the repository.
PLACE = "docs/kdacheck.schema.json"


def schema() -> dict[str, Any]:
    """The schema of the table, which is also that of a file for `--config`."""
    properties = {}
    for key in KEYS.values():
        described = {"description": key.about, **key.kind.schema()}
        if key.default is not None:
            described["default"] = key.default
        properties[key.name] = described
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"{PROJECT_URL}/raw/main/{PLACE}",
        "title": "kdacheck",
        "description": "The table [tool.kdacheck] of a pyproject.toml, or a file for --config.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "definitions": {"rule": {"type": "string", "enum": _selectors()}},
    }


def _selectors() -> list[str]:
    """Everything that selects a rule: ALL, codes and their prefixes, names."""
    rules = known_rules()
    prefixes = {code[:length] for code in rules for length in range(1, len(code) + 1)}
    return ["ALL", *sorted(prefixes), *sorted(rules.values())]


def text() -> str:
    """The schema as it is written."""
    return json.dumps(schema(), indent=2) + "\n"
