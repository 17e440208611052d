"""Which parts of a Python text are keywords, names that are defined, strings, numbers and comments."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Sequence

#: Row to (first column, column behind, class), columns counted from 0.
Spans = dict[int, list[tuple[int, int, str]]]

#: Texts with longer lines than this stay plain: `tokenize` takes quadratic time for a line.
MAX_COLUMNS = 2_000


def spans(lines: Sequence[str]) -> Spans:
    """The parts of each row worth a colour, in order; what cannot be cut into tokens has none."""
    found: Spans = {}
    if any(len(line) > MAX_COLUMNS for line in lines):
        return found
    before = ""
    text = "\n".join(lines) + "\n"
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = _kind(token, before)
            if kind:
                _put(found, token.start, token.end, kind, lines)
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        pass  # what was read up to there is coloured
    return found


def _kind(token: tokenize.TokenInfo, before: str) -> str:
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "k"
        return "d" if before in ("def", "class") else ""
    if token.type == tokenize.NUMBER:
        return "n"
    if token.type == tokenize.COMMENT:
        return "c"
    # the parts of an f-string are tokens of their own in later releases of Python
    return "s" if "STRING" in tokenize.tok_name[token.type] else ""


def _put(
    found: Spans, start: tuple[int, int], end: tuple[int, int], kind: str, lines: Sequence[str]
) -> None:
    for row in range(start[0], end[0] + 1):
        first = start[1] if row == start[0] else 0
        last = end[1] if row == end[0] else len(lines[row - 1]) if row <= len(lines) else 0
        if last > first:
            found.setdefault(row, []).append((first, last, kind))
