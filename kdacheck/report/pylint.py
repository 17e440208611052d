"""One line per finding as `pylint --output-format=parseable` writes them, for programs that read those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from kdacheck.finding import Finding
from kdacheck.plain import plain
from kdacheck.report import Run, one_line, portable

# readers take what follows the line's last "] " for the message
_ROUND = str.maketrans("[]", "()")


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    for finding in findings:
        likely = "(likely) " if finding.likely else ""
        message = plain(one_line(finding.message)).translate(_ROUND)
        stream.write(
            f"{plain(portable(finding.filename))}:{finding.location.row}: "
            f"[{finding.code}({finding.name}), ] {likely}{message}\n"
        )
