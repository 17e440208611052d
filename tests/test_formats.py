"""What the formats for other programs say, read the way those programs read them."""

from __future__ import annotations

import io
import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from kdacheck.finding import Edit, Finding, Fix, Origin, Position
from kdacheck.fixes import apply
from kdacheck.report import Run, write

pytestmark = pytest.mark.usefixtures("project")

FINDING = Finding(
    code="KDA001",
    name="unflattened-batch",
    message='`q` is [2, 4] and "wrong" & <odd>,\nreally',
    remedy="flatten it",
    filename="a folder/model.py",
    location=Position(2, 14),
    end_location=Position(2, 15),
    callee="fla.ops.kda.chunk_kda",
    version="0.6.0",
    parameter="q",
    origins=(Origin("randn made it", "other.py", Position(1, 1), Position(1, 5)),),
    span=(2, 3),
    fix=Fix(
        "safe",
        "Flatten it",
        (
            Edit("f(k)", Position(3, 1), Position(3, 2)),
            Edit("f(q)", Position(2, 14), Position(2, 15)),
        ),
    ),
)
LIKELY = Finding(
    code="KDA303",
    name="divided-cu-seqlens",
    message="divided\x00 by \udcff",
    remedy="",
    filename="a folder/model.py",
    location=Position(3, 1),
    end_location=Position(3, 2),
    likely=True,
)
TEXT = "import x\nchunk('é𐐀漢', q,\nk)\n"


def report(form: str, *findings: Finding, run: Run | None = None) -> str:
    stream = io.StringIO()
    write(form, findings, stream, run)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def text(write) -> None:
    write("a folder/model.py", TEXT)
    write("other.py", "torch\n")


# GitLab: "Code Quality report format" in its documentation; positions are those of the Code Climate specification.
POSITION = {
    "type": "object",
    "required": ["line", "column"],
    "additionalProperties": False,
    "properties": {
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
    },
}
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "positions"],
                "additionalProperties": False,
                "properties": {
                    # relative to the repository, and not as ./
                    "path": {"type": "string", "pattern": r"^(?!\.?/)"},
                    "positions": {
                        "type": "object",
                        "required": ["begin", "end"],
                        "additionalProperties": False,
                        "properties": {"begin": POSITION, "end": POSITION},
                    },
                },
            },
        },
    },
}


def issues(*findings: Finding) -> list[dict[str, Any]]:
    found = json.loads(report("gitlab", *findings))
    jsonschema.validate(found, GITLAB)
    return found


def test_gitlab():
    assert issues() == []
    first, second = issues(FINDING, LIKELY)
    assert first["location"]["path"] == "a folder/model.py"
    assert first["location"]["positions"]["begin"] == {"line": 2, "column": 14}
    assert first["check_name"] == "KDA001"
    assert "flatten it" in first["description"]
    assert (first["severity"], second["severity"]) == ("major", "minor")


def test_gitlab_knows_a_finding_again_where_it_was_moved(write):
    before = issues(FINDING)[0]["fingerprint"]
    write("a folder/model.py", f"# more\n\n{TEXT}")
    moved = replace(FINDING, location=Position(4, 14), span=(4, 5))
    assert issues(moved)[0]["fingerprint"] == before
    assert len({issue["fingerprint"] for issue in issues(FINDING, FINDING, LIKELY)}) == 3


def test_gitlab_paths_start_at_the_repository(monkeypatch):
    monkeypatch.setenv("CI_PROJECT_DIR", str(pathlib.Path.cwd()))
    monkeypatch.chdir("a folder")
    inside = Finding("KDA001", "n", "m", "", "model.py", Position(1, 1), Position(1, 2))
    assert issues(inside)[0]["location"]["path"] == "a folder/model.py"


# JUnit: what the schema of Jenkins' xunit plugin (junit-10.xsd) demands of the elements and attributes written here.
JUNIT = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"name", "tests", "failures", "errors", "skipped", "time", "package", "file"},
        {"testcase", "testsuite", "properties", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"name", "time", "classname", "group"},
        {"failure", "error", "skipped", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
}


def suites(*findings: Finding) -> ElementTree.Element:
    text = report("junit", *findings)
    assert text.isascii(), "it reads the same in every encoding"
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, allowed, children = JUNIT[element.tag]
        assert needed <= set(element.keys()) <= allowed
        assert {child.tag for child in element} <= children
        if element.get("tests"):
            assert int(element.get("tests", "")) == len(list(element.iter("testcase")))
            assert int(element.get("failures", "")) == len(list(element.iter("failure")))
    return root


def test_junit():
    root = suites(FINDING, LIKELY)
    (suite,) = root
    assert suite.get("name") == "a folder/model.py"
    first, second = root.iter("failure")
    assert first.get("message") == '`q` is [2, 4] and "wrong" & <odd>, really'
    assert first.text is not None
    assert "a folder/model.py:2:14: KDA001" in first.text
    assert "other.py:1:1: randn made it" in first.text
    assert "help: flatten it" in first.text
    assert second.get("message") == "(likely) divided\ufffd by \ufffd", "what XML cannot hold"


def test_junit_has_a_test_where_nothing_was_found():
    (case,) = suites().iter("testcase")
    assert list(case) == [], "readers take no test at all for a mistake"


# pylint: its own template {path}:{line}: [{msg_id}({symbol}), {obj}] {msg}, and the pattern by which Jenkins' analysis
# model takes such a line apart, which has everything up to the last "] " for the head.
PARSEABLE = re.compile(r"(?P<path>.+):(?P<line>\d+): \[(?P<id>\w+)\((?P<symbol>[\w-]+)\), \] (.+)")
JENKINS = re.compile(r"(.*):(\d+): \[(\D\d*).*\] (.*)")


def test_pylint():
    lines = report("pylint", FINDING, LIKELY).splitlines()
    assert len(lines) == 2
    parts = PARSEABLE.fullmatch(lines[0])
    assert parts
    assert parts.groups() == (
        "a folder/model.py",
        "2",
        "KDA001",
        "unflattened-batch",
        '`q` is (2, 4) and "wrong" & <odd>, really',
    )
    other = JENKINS.fullmatch(lines[0])
    assert other
    assert other.group(1, 2) == ("a folder/model.py", "2")
    assert other.group(4) == '`q` is (2, 4) and "wrong" & <odd>, really'
    assert "] (likely) divided" in lines[1]


# reviewdog: the messages of reviewdog.proto in their JSON form, as far as they are written here.
PLACE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["line", "column"],
    "properties": {
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
    },
}
RANGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["start"],
    "properties": {"start": PLACE, "end": PLACE},
}
NAMED = {"url": {"type": "string", "format": "uri"}}
SEVERITY = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
RDJSON = {
    "type": "object",
    "additionalProperties": False,
    "required": ["source", "diagnostics"],
    "properties": {
        "source": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": {"type": "string"}, **NAMED},
        },
        "severity": SEVERITY,
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["message", "location"],
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "location": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["path"],
                        "properties": {"path": {"type": "string"}, "range": RANGE},
                    },
                    "severity": SEVERITY,
                    "code": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["value"],
                        "properties": {"value": {"type": "string"}, **NAMED},
                    },
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["range", "text"],
                            "properties": {"range": RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}


def diagnostics(*findings: Finding, unsafe: bool = False) -> list[dict[str, Any]]:
    found = json.loads(report("rdjson", *findings, run=Run(unsafe=unsafe)))
    jsonschema.validate(found, RDJSON)
    return found["diagnostics"]


def test_rdjson():
    assert diagnostics() == []
    first, second = diagnostics(FINDING, LIKELY)
    assert first["location"]["path"] == "a folder/model.py"
    assert first["code"]["value"] == "KDA001"
    assert "other.py:1:1: randn made it" in first["message"]
    assert (first["severity"], second["severity"]) == ("ERROR", "WARNING")


def test_rdjson_columns_count_bytes():
    place = diagnostics(FINDING)[0]["location"]["range"]["start"]
    line = TEXT.splitlines()[place["line"] - 1].encode()
    assert line[place["column"] - 1 :].startswith(b"q,")


def test_rdjson_suggestions_do_what_the_fix_does():
    (suggestion,) = diagnostics(FINDING)[0]["suggestions"]
    starts = [0]
    for line in TEXT.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start, end = (
        starts[suggestion["range"][edge]["line"] - 1] + suggestion["range"][edge]["column"] - 1
        for edge in ("start", "end")
    )
    data = TEXT.encode()
    assert FINDING.fix
    done = data[:start] + suggestion["text"].encode() + data[end:]
    assert done.decode() == apply(TEXT, FINDING.fix.edits)


def test_rdjson_suggests_what_fix_would_apply_only():
    fix = Fix("unsafe", "Flatten it", (Edit("x", Position(2, 14), Position(2, 15)),))
    unsafe = Finding(**{**{name: getattr(FINDING, name) for name in Finding.__slots__}, "fix": fix})
    assert "suggestions" not in diagnostics(unsafe)[0]
    assert "suggestions" in diagnostics(unsafe, unsafe=True)[0]
