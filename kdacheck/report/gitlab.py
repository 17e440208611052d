"""A Code Quality report, which GitLab compares with that of the target branch and shows at a merge request."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from kdacheck.finding import Finding
from kdacheck.fingerprint import Fingerprints
from kdacheck.lines import Lines
from kdacheck.report import Run, one_line, portable


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    prints = Fingerprints(Lines(run.texts))
    seen: Counter[tuple[str, str]] = Counter()
    issues = []
    for finding in findings:
        path, known_by = _path(finding.filename), prints.of(finding)
        seen[path, known_by] += 1
        issues.append(_issue(finding, path, f"{path}\0{known_by}\0{seen[path, known_by]}"))
    json.dump(issues, stream, indent=2)
    stream.write("\n")


def _issue(finding: Finding, path: str, known_by: str) -> dict[str, Any]:
    start, end = finding.location, finding.end_location
    message = one_line(finding.message)
    if finding.remedy:
        message += f"; {one_line(finding.remedy)}"
    return {
        "description": f"{finding.code} {finding.name}: {message}",
        "check_name": finding.code,
        "fingerprint": hashlib.sha256(known_by.encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": "minor" if finding.likely else "major",
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": start.row, "column": start.column},
                "end": {"line": end.row, "column": end.column},
            },
        },
    }


def _path(filename: str) -> str:
    """Relative to the repository, which GitLab's runner names, else to the current folder."""
    top = os.environ.get("CI_PROJECT_DIR")
    if top:
        path = os.path.abspath(filename)
        below = os.path.join(os.path.abspath(top), "")
        if path.startswith(below):
            return path[len(below) :].replace(os.sep, "/")
    return portable(filename)
