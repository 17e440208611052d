"""Places in a text: rows and columns of characters from 1, and the protocol's, in the code units of the client."""

from __future__ import annotations

import bisect
import re

from lsprotocol import types

from kdacheck.finding import Position

_NEWLINE = re.compile(r"\r\n?|\n")


class Places:
    """The lines of a text. Not pygls' own: for those a form feed or a line separator ends a line."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind | str | None) -> None:
        self.text = text
        self._encoding = encoding
        ends = [match.span() for match in _NEWLINE.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._ends = [*(start for start, _ in ends), len(text)]

    def place(self, row: int, column: int) -> types.Position:
        """The protocol's word for a row and a column; the nearest place for one that is not in the text."""
        if row > len(self._starts):
            return self.end
        start, end = self._starts[row - 1], self._ends[row - 1]
        return types.Position(row - 1, self._units(self.text[start : min(start + column - 1, end)]))

    def range(self, start: Position, end: Position) -> types.Range:
        return types.Range(self.place(start.row, start.column), self.place(end.row, end.column))

    @property
    def end(self) -> types.Position:
        """The place after the last character."""
        return types.Position(len(self._starts) - 1, self._units(self.text[self._starts[-1] :]))

    def position(self, place: types.Position) -> tuple[int, int]:
        """Row and column of the protocol's place."""
        if place.line >= len(self._starts):
            return len(self._starts), self._ends[-1] - self._starts[-1] + 1
        line = self.text[self._starts[place.line] : self._ends[place.line]]
        if self._encoding == types.PositionEncodingKind.Utf32 or line.isascii():
            return place.line + 1, min(place.character, len(line)) + 1
        units = [0]
        for character in line:
            units.append(units[-1] + self._units(character))
        return place.line + 1, max(0, bisect.bisect_right(units, place.character) - 1) + 1

    def of_offset(self, offset: int) -> types.Position:
        """The protocol's word for the place before a character."""
        row = bisect.bisect_right(self._starts, offset)
        return self.place(row, offset - self._starts[row - 1] + 1)

    def _units(self, text: str) -> int:
        if text.isascii() or self._encoding == types.PositionEncodingKind.Utf32:
            return len(text)
        if self._encoding == types.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
