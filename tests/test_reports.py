"""What the formats say; the machine-readable ones against what their readers demand."""

from __future__ import annotations

import io
import json
import pathlib
import re
import urllib.parse

import jsonschema
import pytest

from kdacheck.finding import Finding, Origin, Position
from kdacheck.report import FORMATS, Run, write

pytestmark = pytest.mark.usefixtures("project")

TEXT = """\
import torch
from fla.ops.kda import chunk_kda

def run(g, beta, cu):
    q = torch.randn(2, 128, 8, 64)
    return chunk_kda(q, q, q,
        g, beta, cu_seqlens=cu)
"""
FINDING = Finding(
    code="KDA001",
    name="unflattened-batch",
    message="`q` has batch size 2: 100% wrong,\nreally",
    remedy="flatten it",
    filename="a folder/model.py",
    location=Position(6, 22),
    end_location=Position(6, 23),
    callee="fla.ops.kda.chunk_kda",
    version="0.6.0",
    parameter="q",
    origins=(
        Origin("randn made it", "a folder/model.py", Position(5, 9), Position(5, 35)),
        Origin("it came from there", "other.py", Position(2, 1), Position(3, 4)),
    ),
    span=(6, 7),
)
BARE = Finding(
    code="KDA901",
    name="unreadable-file",
    message="cannot be read",
    remedy="",
    filename="../outside.py",
    location=Position(1, 1),
    end_location=Position(2, 1),
)


def report(form: str, *findings: Finding, colour: bool = False) -> str:
    stream = io.StringIO()
    write(form, findings, stream, Run(colour=colour))
    return stream.getvalue()


@pytest.fixture
def text(write) -> None:
    write("a folder/model.py", TEXT)
    write("other.py", "def f():\n    return (1,\n        2)\n")


@pytest.mark.usefixtures("text")
def test_full():
    assert report("full", FINDING) == (
        "KDA001 unflattened-batch: `q` has batch size 2: 100% wrong,\\nreally\n"
        " --> a folder/model.py:6:22\n"
        "  |\n"
        "4 | def run(g, beta, cu):\n"
        "5 |     q = torch.randn(2, 128, 8, 64)\n"
        "6 |     return chunk_kda(q, q, q,\n"
        "  |                      ^\n"
        "7 |         g, beta, cu_seqlens=cu)\n"
        "  |\n"
        "  = origin: randn made it\n"
        " --> a folder/model.py:5:9\n"
        "  |\n"
        "5 |     q = torch.randn(2, 128, 8, 64)\n"
        "  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  |\n"
        "  = origin: it came from there\n"
        " --> other.py:2:1\n"
        "  |\n"
        "2 |     return (1,\n"
        "  | ^^^^^^^^^^^^^^\n"
        "  |\n"
        "  = callee: fla.ops.kda.chunk_kda (0.6.0)\n"
        "  = help: flatten it\n\n"
    )


@pytest.mark.usefixtures("text")
def test_colour_changes_nothing_but_colour():
    for form in ("full", "concise"):
        plain, coloured = report(form, FINDING, BARE), report(form, FINDING, BARE, colour=True)
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_file_that_is_gone_is_still_named():
    assert report("full", BARE) == (
        "KDA901 unreadable-file: cannot be read\n --> ../outside.py:1:1\n\n"
    )


def frame_of(text: str, start: int, end: int) -> list[str]:
    pathlib.Path("x.py").write_bytes(text.encode())
    finding = Finding("C", "n", "m", "", "x.py", Position(1, start), Position(1, end))
    return [line[4:] for line in report("full", finding).splitlines() if line[2:3] == "|"]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [("\tf(\tab)\n", 5, 7), ("f('é', ab)\n", 8, 10), ("f('e\u0301', ab)\n", 9, 11)],
)
def test_the_caret_stands_under_its_argument(text, start, end):
    _, line, carets, *_ = frame_of(text, start, end)
    line = line.replace("\u0301", "")
    assert line[carets.index("^") :].startswith("ab")
    assert carets.strip() == "^^"


def test_the_caret_counts_wide_characters_twice():
    _, line, carets, *_ = frame_of("f('漢字', ab)\n", 9, 11)
    assert carets.index("^") == line.index("ab") + 2


def test_a_carriage_return_ends_a_line():
    assert frame_of("a = 1\r\nb = 2\r\n", 1, 2)[1:] == ["a = 1", "^", "b = 2", ""]


def test_concise_is_one_line():
    assert report("concise", FINDING) == (
        "a folder/model.py:6:22: KDA001 `q` has batch size 2: 100% wrong, really"
        " [unflattened-batch]\n"
    )


def test_json_has_the_shape_of_ruffs():
    first, second = json.loads(report("json", FINDING, BARE))
    assert first == {
        "code": "KDA001",
        "name": "unflattened-batch",
        "message": FINDING.message,
        "filename": str(pathlib.Path("a folder/model.py").absolute()),
        "location": {"row": 6, "column": 22},
        "end_location": {"row": 6, "column": 23},
        "url": "https://github.com/kdacheck/kdacheck/blob/main/docs/rules/unflattened-batch.md",
        "callee": "fla.ops.kda.chunk_kda",
        "version": "0.6.0",
        "parameter": "q",
        "remedy": "flatten it",
        "likely": False,
        "fix": None,
        "origins": [
            {
                "message": "randn made it",
                "filename": str(pathlib.Path("a folder/model.py").absolute()),
                "location": {"row": 5, "column": 9},
                "end_location": {"row": 5, "column": 35},
            },
            {
                "message": "it came from there",
                "filename": str(pathlib.Path("other.py").absolute()),
                "location": {"row": 2, "column": 1},
                "end_location": {"row": 3, "column": 4},
            },
        ],
    }
    assert second["callee"] is None
    assert second["origins"] == []
    assert json.loads(report("json")) == []


def test_every_rule_has_the_page_its_url_names():
    from kdacheck.report import rule_url
    from kdacheck.rules import catalogue

    root = pathlib.Path(__file__).parents[1]
    for rule in catalogue():
        page = rule_url(rule.name).partition("/blob/main/")[2]
        assert (root / page).is_file(), f"{page}: run python -m kdacheck.docs"


def test_github_commands_are_escaped():
    lines = report("github", FINDING, BARE).splitlines()
    assert len(lines) == 2
    assert lines[0] == (
        "::error title=kdacheck (KDA001 unflattened-batch),file=a folder/model.py,"
        "line=6,endLine=6,col=22,endColumn=23::a folder/model.py:6:22: KDA001 "
        "`q` has batch size 2: 100%25 wrong,%0Areally%0Ahelp: flatten it"
    )
    assert "line=1,endLine=2::" in lines[1], "columns over several lines are refused"
    odd = Finding("C", "n", "m", "", "a,b:c%.py", Position(1, 1), Position(1, 2))
    assert "file=a%2Cb%3Ac%25.py," in report("github", odd)


# The parts of SARIF 2.1.0 that kdacheck writes, as the standard words them (sections 3.13 to 3.49).
TEXT_MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
POSITIVE = {"type": "integer", "minimum": 1}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "message": TEXT_MESSAGE,
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "uri": {"type": "string", "format": "uri-reference"},
                        "uriBaseId": {"type": "string"},
                    },
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["startLine"],
                    "properties": dict.fromkeys(
                        ("startLine", "startColumn", "endLine", "endColumn"), POSITIVE
                    ),
                },
            },
        },
    },
}
REGION = LOCATION["properties"]["physicalLocation"]["properties"]["region"]
FIX = {
    "type": "object",
    "additionalProperties": False,
    "required": ["artifactChanges"],
    "properties": {
        "description": TEXT_MESSAGE,
        "artifactChanges": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["artifactLocation", "replacements"],
                "properties": {
                    "artifactLocation": LOCATION["properties"]["physicalLocation"]["properties"][
                        "artifactLocation"
                    ],
                    "replacements": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["deletedRegion"],
                            "properties": {
                                "deletedRegion": REGION,
                                "insertedContent": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "properties": {"text": {"type": "string"}},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {
                        "type": "object",
                        "additionalProperties": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"uri": {"type": "string", "pattern": "^file:///.*/$"}},
                        },
                    },
                    "tool": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "additionalProperties": False,
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "informationUri": {"type": "string", "format": "uri"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "additionalProperties": False,
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": TEXT_MESSAGE,
                                                "fullDescription": TEXT_MESSAGE,
                                                "help": TEXT_MESSAGE,
                                                "helpUri": {"type": "string", "format": "uri"},
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "additionalProperties": False,
                                                    "properties": {"level": LEVEL},
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": LEVEL,
                                "message": TEXT_MESSAGE,
                                "locations": {"type": "array", "items": LOCATION},
                                "relatedLocations": {
                                    "type": "array",
                                    "uniqueItems": True,
                                    "items": LOCATION,
                                },
                                "fixes": {"type": "array", "items": FIX},
                                "properties": {"type": "object"},
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_sarif_is_valid():
    for findings in ((), (FINDING, BARE), (BARE, FINDING, FINDING)):
        jsonschema.validate(json.loads(report("sarif", *findings)), SARIF)


def test_sarif_says_what_was_found():
    (run,) = json.loads(report("sarif", BARE, FINDING))["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "kdacheck"
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    outside, result = run["results"]
    assert result["ruleId"] == "KDA001"
    assert "batch size 2" in result["message"]["text"]
    assert "flatten it" in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20folder/model.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 6, "startColumn": 22, "endLine": 6, "endColumn": 23}
    assert [origin["message"]["text"] for origin in result["relatedLocations"]] == [
        "randn made it",
        "it came from there",
    ]
    assert result["properties"]["callee"] == "fla.ops.kda.chunk_kda"
    uri = outside["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    path = urllib.parse.unquote(urllib.parse.urlsplit(uri).path)
    assert path == str(pathlib.Path("../outside.py").resolve())


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_writes_what_the_format_promises(kdacheck, write, wrong, form):
    write("model.py", wrong)
    ran = kdacheck("--output-format", form)
    assert ran.status == 1
    assert "KDA001" in ran.out
    assert "\nFound" not in ran.out or form in ("full", "concise")
    if form == "sarif":
        jsonschema.validate(json.loads(ran.out), SARIF)
    if form == "full":
        assert ran.out.count("-->") >= 2, "the argument, and the line that made it so"
        assert "= origin: " in ran.out
        assert "= help: " in ran.out
