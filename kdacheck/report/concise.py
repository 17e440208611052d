"""One line per finding: `path:row:column: CODE message [name]`, with [*] before the message where it can be fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from kdacheck.finding import Finding
from kdacheck.plain import plain
from kdacheck.report import Run, marks, one_line, shown
from kdacheck.report.style import Style


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    style = Style(run.colour)
    for finding in findings:
        place = finding.location
        beside = "".join(f"{mark} " for mark in marks(finding, run.unsafe))
        stream.write(
            f"{style.strong(plain(shown(finding.filename)))}:{place.row}:{place.column}: "
            f"{style.code(finding.code)} {style.help(beside)}{plain(one_line(finding.message))} [{finding.name}]\n"
        )
