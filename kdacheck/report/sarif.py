"""SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
from collections.abc import Sequence
from typing import Any, TextIO

from kdacheck.finding import Finding, Fix, Position
from kdacheck.report import Run, rule_url, shown
from kdacheck.version import PROJECT_URL, VERSION

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    used = sorted({finding.code for finding in findings})
    root = pathlib.Path.cwd().as_uri() + "/"
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "kdacheck",
                        "version": VERSION,
                        "informationUri": PROJECT_URL,
                        "rules": _rules(used),
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"uri": root}},
                "results": [_result(finding, used.index(finding.code)) for finding in findings],
            }
        ],
    }
    json.dump(log, stream, indent=2)
    stream.write("\n")


def _rules(codes: list[str]) -> list[dict[str, Any]]:
    if not codes:
        return []
    from kdacheck.rules import catalogue

    return [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.law},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.remedy},
            "helpUri": rule_url(rule.name),
            "defaultConfiguration": {"level": "error"},
        }
        for rule in catalogue()
        if rule.code in codes
    ]


def _result(finding: Finding, index: int) -> dict[str, Any]:
    text = finding.message
    if finding.remedy:
        text += f"\n\nHelp: {finding.remedy}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": "warning" if finding.likely else "error",
        "message": {"text": text},
        "locations": [_location(finding.filename, finding.location, finding.end_location)],
    }
    if finding.origins:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(origin.filename, origin.location, origin.end_location),
                "message": {"text": origin.message},
            }
            for number, origin in enumerate(finding.origins)
        ]
    facts: dict[str, Any] = {
        "callee": finding.callee,
        "version": finding.version,
        "parameter": finding.parameter,
    }
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.filename, finding.fix)]
    if finding.likely:
        facts["likely"] = True
    facts = {key: value for key, value in facts.items() if value is not None}
    if facts:
        result["properties"] = facts
    return result


def _fix(filename: str, fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(filename),
                "replacements": [
                    {
                        "deletedRegion": _region(edit.location, edit.end_location),
                        "insertedContent": {"text": edit.content},
                    }
                    for edit in fix.edits
                ],
            }
        ],
    }


def _location(filename: str, start: Position, end: Position) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": _artifact(filename),
            "region": _region(start, end),
        }
    }


def _artifact(filename: str) -> dict[str, str]:
    path = shown(filename)
    if os.path.isabs(path) or path.startswith(os.pardir + os.sep):
        return {"uri": pathlib.Path(os.path.abspath(path)).as_uri()}
    relative = urllib.parse.quote(path.replace(os.sep, "/").encode("utf-8", "surrogateescape"))
    return {"uri": relative, "uriBaseId": "SRCROOT"}


def _region(start: Position, end: Position) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }
