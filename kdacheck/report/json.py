"""A list of objects in the shape of ruff's, with what a KDA finding knows besides."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, TextIO

from kdacheck.finding import Finding, Origin, Position
from kdacheck.report import rule_url


def write(findings: Sequence[Finding], stream: TextIO) -> None:
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
        "origins": [_origin(origin) for origin in finding.origins],
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
