"""reviewdog's diagnostic format, which many code hosts' reviews can be made from. Its columns count bytes of UTF-8."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, TextIO

from kdacheck.finding import Edit, Finding, Position
from kdacheck.lines import Lines
from kdacheck.report import Run, portable, rule_url
from kdacheck.version import PROJECT_URL


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    lines = Lines(run.texts)
    result = {
        "source": {"name": "kdacheck", "url": PROJECT_URL},
        "severity": "ERROR",
        "diagnostics": [_diagnostic(finding, lines, run.unsafe) for finding in findings],
    }
    json.dump(result, stream, indent=2)
    stream.write("\n")


def _diagnostic(finding: Finding, lines: Lines, unsafe: bool) -> dict[str, Any]:
    message = finding.message
    for origin in finding.origins:
        place = origin.location
        message += f"\n{portable(origin.filename)}:{place.row}:{place.column}: {origin.message}"
    if finding.remedy:
        message += f"\nhelp: {finding.remedy}"
    diagnostic: dict[str, Any] = {
        "message": message,
        "location": {
            "path": portable(finding.filename),
            "range": _range(lines, finding.filename, finding.location, finding.end_location),
        },
        "severity": "WARNING" if finding.likely else "ERROR",
        "code": {"value": finding.code, "url": rule_url(finding.name)},
    }
    if finding.fix is not None and finding.fix.is_on(unsafe):
        edit = _joined(finding.fix.edits, finding.filename, lines)
        if edit is not None:
            diagnostic["suggestions"] = [
                {
                    "range": _range(lines, finding.filename, edit.location, edit.end_location),
                    "text": edit.content,
                }
            ]
    return diagnostic


def _joined(edits: Sequence[Edit], filename: str, lines: Lines) -> Edit | None:
    """One edit that does what several do: each suggestion stands for itself. None where they overlap."""
    order = sorted(edits, key=lambda edit: (edit.location.row, edit.location.column))
    content = order[0].content
    for before, edit in itertools.pairwise(order):
        at, to = before.end_location, edit.location
        if (to.row, to.column) < (at.row, at.column):
            return None
        content += _between(lines, filename, at, to) + edit.content
    return Edit(content, order[0].location, order[-1].end_location)


def _between(lines: Lines, filename: str, start: Position, end: Position) -> str:
    rows = [lines.row(filename, row) for row in range(start.row, end.row + 1)]
    rows[-1] = rows[-1][: end.column - 1]
    rows[0] = rows[0][start.column - 1 :]
    return "\n".join(rows)


def _range(lines: Lines, filename: str, start: Position, end: Position) -> dict[str, Any]:
    return {"start": _position(lines, filename, start), "end": _position(lines, filename, end)}


def _position(lines: Lines, filename: str, position: Position) -> dict[str, int]:
    before = lines.row(filename, position.row)[: position.column - 1]
    wider = len(before.encode("utf-8", "surrogatepass")) - len(before)
    return {"line": position.row, "column": position.column + wider}
