"""The code of a finding as frames of rows, with the way from where a fact was made to the call laid out in lanes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kdacheck.finding import Finding, Position
from kdacheck.lines import Lines
from kdacheck.report.highlight import Spans, spans

CONTEXT = 2

#: Rows left out between two shown parts; fewer are shown.
_WORTH_A_GAP = 4

#: Ways drawn in one finding; a call has few arguments that are wrong for one reason.
_MOST_WAYS = 4


@dataclass(slots=True)
class Row:
    """One row of a frame, or where number is None the gap in place of some.

    role: "origin" or "culprit" where the row is one. parts: text and its classes. lanes: classes of the drawing's cells.
    """

    number: int | None
    parts: list[tuple[str, str]] = field(default_factory=list)
    role: str = ""
    note: str = ""
    lanes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """Rows of one file. above: the drawing's cells beside its name."""

    filename: str
    rows: list[Row]
    above: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stop:
    """A place on the way. comes_after: of the call, as the kernel's call inside a wrapper does."""

    filename: str
    start: Position
    end: Position
    role: str
    note: str
    comes_after: bool = False


class Trails:
    """Lays out findings; each file is cut into tokens once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._spans: dict[str, Spans] = {}

    def of(self, finding: Finding) -> list[Frame]:
        """The frames of a finding, those that lead to the call first."""
        call = _Stop(finding.filename, finding.location, finding.end_location, "culprit", "")
        origins = [
            _Stop(
                origin.filename,
                origin.location,
                origin.end_location,
                "origin",
                origin.message,
                comes_after=origin in finding.inner,
            )
            for origin in finding.origins[:_MOST_WAYS]
        ]
        stops = [call, *origins]
        names = [stop.filename for stop in origins if not stop.comes_after]
        names = [name for name in dict.fromkeys(names) if name != call.filename]
        names += [call.filename, *(stop.filename for stop in origins if stop.comes_after)]
        frames = []
        for name in dict.fromkeys(names):
            here = [stop for stop in stops if stop.filename == name]
            first = finding.span[0] if finding.span and name == call.filename else None
            frames.append(Frame(name, self._rows(name, here, first)))
        _draw(frames, call, origins)
        return frames

    def _rows(self, filename: str, stops: Sequence[_Stop], first: int | None) -> list[Row]:
        source = self._lines.of(filename)
        if filename not in self._spans:
            self._spans[filename] = spans(source)
        wanted: set[int] = set()
        for stop in stops:
            context = CONTEXT if stop.role == "culprit" else 1
            row = stop.start.row
            wanted.update(range(max(1, row - context), min(len(source), row + context) + 1))
        if first is not None and first <= len(source):
            wanted.add(first)
        shown = sorted(wanted)
        marked = {stop.start.row for stop in stops}
        for at in (0, -1):
            while shown and shown[at] not in marked and not source[shown[at] - 1].strip():
                del shown[at]
        rows: list[Row] = []
        before = None
        for number in shown:
            if before is not None and number > before + 1:
                if number - before - 1 < _WORTH_A_GAP:
                    rows += [self._row(filename, at, stops) for at in range(before + 1, number)]
                else:
                    rows.append(Row(None, note=f"{number - before - 1} lines"))
            rows.append(self._row(filename, number, stops))
            before = number
        return rows

    def _row(self, filename: str, number: int, stops: Sequence[_Stop]) -> Row:
        text = self._lines.row(filename, number)
        here = [stop for stop in stops if stop.start.row == number]
        marks = [
            (
                stop.start.column - 1,
                max(
                    stop.end.column - 1 if stop.end.row == number else len(text), stop.start.column
                ),
                stop.role,
            )
            for stop in here
        ]
        roles = [stop.role for stop in here]
        return Row(
            number,
            list(_parts(text, self._spans[filename].get(number, []), marks)),
            "culprit" if "culprit" in roles else "origin" if roles else "",
            "; ".join(dict.fromkeys(stop.note for stop in here if stop.note)),
        )


def _parts(
    text: str, colours: Sequence[tuple[int, int, str]], marks: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[str, str]]:
    """The text cut where a colour or a mark begins or ends, each part with its classes."""
    edges = {0, len(text)}
    for start, end, _ in (*colours, *marks):
        edges |= {min(start, len(text)), min(end, len(text))}
    cuts = sorted(edges)
    for start, end in itertools.pairwise(cuts):
        kinds = [kind for first, last, kind in (*colours, *marks) if first <= start and end <= last]
        yield text[start:end], " ".join(dict.fromkeys(kinds))


def _draw(frames: Sequence[Frame], call: _Stop, origins: Sequence[_Stop]) -> None:
    """Put lanes beside the rows: one for each way, the innermost for the shortest, and a last cell for heads and dots."""
    cells: list[list[str]] = []
    at: dict[tuple[str, int], int] = {}
    for frame in frames:
        cells.append(frame.above)
        for row in frame.rows:
            if row.number is not None:
                at[frame.filename, row.number] = len(cells)
            cells.append(row.lanes)
    target = at.get((call.filename, call.start.row))
    ways = []
    for origin in origins:
        source = at.get((origin.filename, origin.start.row))
        if source is not None and target is not None and source != target:
            ways.append((target, source) if origin.comes_after else (source, target))
    if not ways:
        return
    ways.sort(key=lambda way: -abs(way[0] - way[1]))
    for lanes in cells:
        lanes.extend([""] * (len(ways) + 1))
    for lane, (source, target) in enumerate(ways):
        top, bottom = min(source, target), max(source, target)
        for at_row in range(top + 1, bottom):
            _add(cells[at_row], lane, "v")
        _add(cells[top], lane, "sd")
        _add(cells[bottom], lane, "su")
        for end, tip in ((source, "dot"), (target, "tip")):
            for right in range(lane + 1, len(ways)):
                _add(cells[end], right, "h")
            _add(cells[end], len(ways), tip)


def _add(lanes: list[str], lane: int, kind: str) -> None:
    present = lanes[lane].split()
    if kind not in present:
        lanes[lane] = " ".join([*present, kind])
