"""A list of objects in the shape of ruff's, with what a KDA finding knows besides."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, TextIO

from kdacheck.finding import Finding, Fix, Origin, Position
from kdacheck.report import Run, rule_url


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    json.dump([_finding(finding) for finding in findings], stream, indent=2)
    stream.write("\n")


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": os.path.abspath(finding.filename),
        "location": _position(finding.location),
        "end_location": _position(finding.end_location),
        "url": rule_url(finding.name),
        "callee": finding.callee,
        "version": finding.version,
        "parameter": finding.parameter,
        "remedy": finding.remedy,
        "likely": finding.likely,
        "origins": [_origin(origin) for origin in finding.origins],
        "fix": None if finding.fix is None else _fix(finding.fix),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability,
        "message": fix.message,
        "edits": [
            {
                "content": edit.content,
                "location": _position(edit.location),
                "end_location": _position(edit.end_location),
            }
            for edit in fix.edits
        ],
    }


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "message": origin.message,
        "filename": os.path.abspath(origin.filename),
        "location": _position(origin.location),
        "end_location": _position(origin.end_location),
    }


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}
