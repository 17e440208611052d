"""Findings with the code they speak of: a frame for the argument, a frame for where its property came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from kdacheck.finding import Finding, Position
from kdacheck.lines import Lines
from kdacheck.plain import plain, plain_row
from kdacheck.report import Run, marks, shown
from kdacheck.report.style import Style

CONTEXT = 2
Paint = Callable[[str], str]


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    frames = Frames(Style(run.colour), run.texts)
    for finding in findings:
        for line in _block(finding, frames, run.unsafe):
            stream.write(line + "\n")
        stream.write("\n")


def _block(finding: Finding, frames: Frames, unsafe: bool) -> list[str]:
    style = frames.style
    beside = "".join(f"{style.help(mark)} " for mark in marks(finding, unsafe))
    lines = [
        f"{style.code(finding.code)} {beside}{style.strong(finding.name)}: {plain(finding.message)}"
    ]
    width = len(
        str(
            max(
                place.row + 1
                for place in (finding.location, *(origin.location for origin in finding.origins))
            )
        )
    )
    edge = " " * width
    lines += frames.frame(
        finding.filename, finding.location, finding.end_location, width, CONTEXT, style.culprit
    )
    for origin in finding.origins:
        lines.append(f"{edge} {style.faint('=')} {style.source('origin')}: {plain(origin.message)}")
        lines += frames.frame(
            origin.filename, origin.location, origin.end_location, width, 0, style.source
        )
    if finding.callee is not None:
        release = f" ({finding.version})" if finding.version else ""
        lines.append(
            f"{edge} {style.faint('=')} {style.strong('callee')}: {plain(finding.callee)}{release}"
        )
    if finding.remedy:
        lines.append(f"{edge} {style.faint('=')} {style.help('help')}: {plain(finding.remedy)}")
    return lines


class Frames:
    """Cuts frames out of source files, each read once."""

    def __init__(self, style: Style, texts: Mapping[str, bytes]) -> None:
        self.style = style
        self._lines = Lines(texts)

    def frame(
        self, filename: str, start: Position, end: Position, width: int, context: int, paint: Paint
    ) -> list[str]:
        style = self.style
        edge = " " * width
        bar = style.faint("|")
        frame = [
            f"{edge}{style.faint('-->')} {plain(shown(filename))}:{start.row}:{start.column}",
        ]
        source = self._lines.of(filename)
        if start.row > len(source):
            return frame
        frame.append(f"{edge} {bar}")
        first = max(1, start.row - context)
        last = min(len(source), start.row + context)
        for row in range(first, last + 1):
            text = source[row - 1]
            gutter = style.faint(f"{row:>{width}}")
            frame.append(f"{gutter} {bar} {plain_row(text)}".rstrip())
            if row == start.row:
                stop = end.column if end.row == start.row else len(text) + 1
                marked = text[start.column - 1 : stop - 1]
                carets = "^" * max(1, _cells(marked))
                indent = " " * _cells(text[: start.column - 1])
                frame.append(f"{edge} {bar} {indent}{paint(carets)}")
        frame.append(f"{edge} {bar}")
        return frame


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)
