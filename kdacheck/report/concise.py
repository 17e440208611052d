"""One line per finding: `path:row:column: CODE message [name]`, with [*] before the message where it can be fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from kdacheck.finding import Finding
from kdacheck.report import marks, shown
from kdacheck.report.style import Style


def write(
    findings: Sequence[Finding],
    stream: TextIO,
    colour: bool,
    texts: Mapping[str, bytes],
    unsafe: bool = False,
) -> None:
    style = Style(colour)
    for finding in findings:
        place = finding.location
        beside = "".join(f"{mark} " for mark in marks(finding, unsafe))
        stream.write(
            f"{style.strong(shown(finding.filename))}:{place.row}:{place.column}: "
            f"{style.code(finding.code)} {style.help(beside)}{one_line(finding.message)} [{finding.name}]\n"
        )


def one_line(text: str) -> str:
    return " ".join(text.split())
