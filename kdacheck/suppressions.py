"""Comments that allow what a rule forbids: `# kdacheck: ignore[CODE]` and `# noqa: CODE`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kdacheck.finding import Finding, Position

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
    """One comment. `codes` is None where it speaks of every rule; `own` is False for a noqa."""

    row: int
    start: int
    end: int
    codes: tuple[str, ...] | None
    own: bool
    closed: bool = True
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Whether the comment speaks of this finding's rule; remembers that it was of use."""
        if not self.closed:
            return False
        if self.codes is None:
            self.used.add("")
            return True
        for code in self.codes:
            hit = (
                code in (finding.code, finding.name) if self.own else finding.code.startswith(code)
            )
            if hit:
                self.used.add(code)
                return True
        return False


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

    comments = _read(data)
    by_row: dict[int, list[Suppression]] = {}
    for comment in comments:
        by_row.setdefault(comment.row, []).append(comment)

    kept = []
    for finding in findings:
        first, last = finding.span or (finding.location.row, finding.end_location.row)
        allowed = False
        if finding.code != UNREADABLE_FILE:
            for row in range(first, last + 1):
                for comment in by_row.get(row, ()):
                    allowed = comment.covers(finding) or allowed
        if not allowed and selected(finding.code, finding.name):
            kept.append(finding)

    if own and selected(UNUSED_SUPPRESSION, UNUSED_SUPPRESSION_NAME):
        kept.extend(_unused(filename, comments, selected, rules))
    return kept


def _read(data: bytes) -> list[Suppression]:
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                found.extend(_parse(token.string, *token.start))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        pass  # what was read up to here still counts; the parser has its own word on the rest
    return found


def _parse(comment: str, row: int, column: int) -> Iterable[Suppression]:
    for match in _OWN.finditer(comment):
        codes = match["codes"]
        yield Suppression(
            row,
            column + match.start(),
            column + match.end(),
            None if codes is None else tuple(dict.fromkeys(re.findall(r"[^\s,]+", codes))),
            own=True,
            closed=match["bracket"] is None or match["close"] is not None,
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
            if len(idle) + len(unknown) < len(comment.codes):
                remedy = f"take {_listed(idle + unknown)} out of the brackets"
        yield Finding(
            code=UNUSED_SUPPRESSION,
            name=UNUSED_SUPPRESSION_NAME,
            message=message,
            remedy=remedy,
            filename=filename,
            location=Position(comment.row, comment.start + 1),
            end_location=Position(comment.row, comment.end + 1),
        )


def _listed(codes: list[str]) -> str:
    return ", ".join(codes[:-1]) + (" or " if len(codes) > 1 else "") + codes[-1]
