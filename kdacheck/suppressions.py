"""Comments that allow what a rule forbids: `# kdacheck: ignore[CODE]` and `# noqa: CODE`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field, replace

from kdacheck.finding import Edit, Finding, Fix, Position

UNUSED_SUPPRESSION = "KDA900"
UNUSED_SUPPRESSION_NAME = "unused-suppression"
UNREADABLE_FILE = "KDA901"
UNREADABLE_FILE_NAME = "unreadable-file"

_MARKER = re.compile(rb"kdacheck[ \t]*:[ \t]*ignore")
_OWN = re.compile(r"#\s*kdacheck\s*:\s*ignore\b(?P<bracket>\s*\[(?P<codes>[^\]]*)(?P<close>\])?)?")
_NOQA = re.compile(
    r"#\s*noqa\b(?P<codes>\s*:\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)?", re.IGNORECASE
)


@dataclass(slots=True)
class Suppression:
    """One comment. `codes` is None where it speaks of every rule; `own` is False for a noqa.

    line, comment: the row's text up to the end of the comment it stands in, and the column where that one starts.
    listed: the columns of what is between the brackets.
    """

    row: int
    start: int
    end: int
    codes: tuple[str, ...] | None
    own: bool
    closed: bool = True
    line: str = ""
    comment: int = 0
    listed: tuple[int, int] = (0, 0)
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Whether the comment speaks of this finding's rule; remembers that it was of use."""
        hit = self._about(finding)
        if hit is not None:
            self.used.add(hit)
        return hit is not None

    def _about(self, finding: Finding) -> str | None:
        if not self.closed:
            return None
        if self.codes is None:
            return ""
        for code in self.codes:
            if code in (finding.code, finding.name) if self.own else finding.code.startswith(code):
                return code
        return None

    def guards(self, finding: Finding) -> bool:
        """Whether the fix of a finding would change the row of the comment, which forbids that for this rule."""
        return (
            finding.fix is not None
            and self._about(finding) is not None
            and any(
                edit.location.row <= self.row <= edit.end_location.row for edit in finding.fix.edits
            )
        )


def apply(
    filename: str,
    data: bytes,
    findings: list[Finding],
    selected: Callable[[str, str], bool],
    rules: Callable[[], dict[str, str]],
) -> list[Finding]:
    """The findings that no comment allows, and one for each comment that allows nothing.

    `findings` are those of every rule, the unselected too: a comment may speak of them, and is not unused then.
    `rules` tells code and name of every rule; it is asked only where a comment looks unused.
    """
    own = _MARKER.search(data) is not None
    if not own and not (findings and b"noqa" in data.lower()):
        return [finding for finding in findings if selected(finding.code, finding.name)]

    comments = read(data)
    by_row: dict[int, list[Suppression]] = {}
    for comment in comments:
        by_row.setdefault(comment.row, []).append(comment)

    closed = (closed_rows(data) if comments and findings else None) or frozenset()
    kept = []
    for finding in findings:
        allowed = False
        if finding.code != UNREADABLE_FILE:
            for row in rows_of(finding, closed):
                for comment in by_row.get(row, ()):
                    allowed = comment.covers(finding) or allowed
        if not allowed and selected(finding.code, finding.name):
            if finding.fix is not None and any(comment.guards(finding) for comment in comments):
                finding = replace(finding, fix=None)
            kept.append(finding)

    if own and selected(UNUSED_SUPPRESSION, UNUSED_SUPPRESSION_NAME):
        kept.extend(_unused(filename, comments, selected, rules))
    return kept


def rows_of(finding: Finding, closed: Set[int]) -> range:
    """The rows on which a comment speaks of a finding: those of its call, and on to one that can take a comment."""
    first, last = finding.span or (finding.location.row, finding.end_location.row)
    while last in closed:
        last += 1
    return range(first, last + 1)


def closed_rows(data: bytes) -> frozenset[int] | None:
    """Rows at whose end no comment can stand: inside a string, or continued by a backslash. None where nobody can tell."""
    closed: set[int] = set()
    commented: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "COMMENT":
                commented.add(token.start[0])
            elif kind == "STRING":
                closed.update(range(token.start[0], token.end[0]))
            elif kind.endswith("STRING_START"):
                opened.append(token.start[0])
            elif kind.endswith("STRING_END"):
                closed.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, IndexError):
        return None
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    closed.update(row for row, line in enumerate(lines, 1) if line.endswith(b"\\"))
    return frozenset(closed - commented)


def read(data: bytes) -> list[Suppression]:
    """The suppressions of a file, in the order of their places."""
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                found.extend(_parse(token.string, *token.start, token.line))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        pass  # what was read up to here still counts; the parser has its own word on the rest
    return found


def _parse(comment: str, row: int, column: int, line: str = "") -> Iterable[Suppression]:
    # the line of a token inside brackets may be the whole logical line in some releases of Python
    line = next((part for part in line.splitlines() if part[column:].startswith(comment)), comment)
    for match in _OWN.finditer(comment):
        codes = match["codes"]
        first, last = match.span("codes")
        yield Suppression(
            row,
            column + match.start(),
            column + match.end(),
            None if codes is None else tuple(dict.fromkeys(re.findall(r"[^\s,]+", codes))),
            own=True,
            closed=match["bracket"] is None or match["close"] is not None,
            line=line[: column + len(comment)],
            comment=column,
            listed=(column + first, column + last),
        )
    for match in _NOQA.finditer(comment):
        codes = match["codes"]
        yield Suppression(
            row,
            column + match.start(),
            column + match.end(),
            None if codes is None else tuple(re.findall(r"[A-Z]+[0-9]+", codes.upper())),
            own=False,
        )


def _unused(
    filename: str,
    comments: list[Suppression],
    selected: Callable[[str, str], bool],
    rules: Callable[[], dict[str, str]],
) -> Iterable[Finding]:
    known = None
    for comment in comments:
        if not comment.own or (comment.codes is None and comment.used):
            continue
        if comment.codes is not None and UNUSED_SUPPRESSION in comment.codes:
            continue
        message = None
        remedy = "remove the comment"
        fix = _removed(comment) if comment.closed else None
        if not comment.closed:
            message = "the bracket of this suppression is never closed, so it suppresses nothing"
            remedy = "write # kdacheck: ignore[CODE]"
        elif not comment.codes:
            message = "this suppression suppresses nothing"
        else:
            left = [code for code in comment.codes if code not in comment.used]
            if not left:
                continue
            if known is None:
                known = rules()
            names = {name: code for code, name in known.items()}
            unknown = [code for code in left if code not in known and code not in names]
            idle = [
                code
                for code in left
                if code not in unknown and selected(names.get(code, code), known.get(code, code))
            ]
            parts = []
            if idle:
                parts.append(f"no {_listed(idle)} here to suppress")
            if unknown:
                parts.append(f"there is no rule {_listed(unknown)}")
            if not parts:
                continue
            message = "; ".join(parts)
            useless = {*idle, *unknown}
            if len(useless) < len(comment.codes):
                remedy = f"take {_listed(idle + unknown)} out of the brackets"
                fix = _shortened(comment, [code for code in comment.codes if code not in useless])
        yield Finding(
            code=UNUSED_SUPPRESSION,
            name=UNUSED_SUPPRESSION_NAME,
            message=message,
            remedy=remedy,
            filename=filename,
            location=Position(comment.row, comment.start + 1),
            end_location=Position(comment.row, comment.end + 1),
            fix=fix,
        )


def _removed(suppression: Suppression) -> Fix | None:
    """Take the suppression out of its comment, the comment with it where nothing else is in it."""
    line, row = suppression.line, suppression.row
    if not line:
        return None
    before, after = line[: suppression.start], line[suppression.end :]
    content = ""
    if suppression.start == suppression.comment and after.strip():
        rest = after.lstrip(" \t:,;-")
        content = rest if rest.startswith("#") else f"# {rest}"
        start, end = Position(row, suppression.start + 1), Position(row, len(line) + 1)
    elif before.strip():
        start = Position(row, len(before.rstrip()) + 1)
        end = Position(row, suppression.end + 1)
    else:
        start, end = Position(row, 1), Position(row + 1, 1)
    return Fix("safe", "Remove the suppression", (Edit(content, start, end),))


def _shortened(suppression: Suppression, codes: list[str]) -> Fix:
    first, last = (Position(suppression.row, column + 1) for column in suppression.listed)
    return Fix(
        "safe",
        "Take what is not needed out of the brackets",
        (Edit(", ".join(codes), first, last),),
    )


def _listed(codes: list[str]) -> str:
    return ", ".join(codes[:-1]) + (" or " if len(codes) > 1 else "") + codes[-1]
