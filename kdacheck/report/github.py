"""Workflow commands, which GitHub Actions shows at the line of a pull request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from kdacheck.finding import Finding
from kdacheck.plain import plain
from kdacheck.report import Run, shown


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    for finding in findings:
        start, end = finding.location, finding.end_location
        path = shown(finding.filename).replace(os.sep, "/")
        properties = [
            f"title={_property(f'kdacheck ({finding.code} {finding.name})')}",
            f"file={_property(path)}",
            f"line={start.row}",
            f"endLine={end.row}",
        ]
        if end.row == start.row:  # columns over several lines are refused
            properties += [f"col={start.column}", f"endColumn={end.column}"]
        likely = "(likely) " if finding.likely else ""
        message = f"{path}:{start.row}:{start.column}: {finding.code} {likely}{finding.message}"
        if finding.remedy:
            message += f"\nhelp: {finding.remedy}"
        level = "warning" if finding.likely else "error"
        stream.write(f"::{level} {','.join(properties)}::{_data(message)}\n")


def _data(text: str) -> str:
    return plain(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
