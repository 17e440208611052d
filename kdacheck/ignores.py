"""Writes `# kdacheck: ignore[CODE]` where findings stand, and keeps only what a second look at the result confirms."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kdacheck import fixes, suppressions
from kdacheck.finding import Edit, Finding, Position
from kdacheck.suppressions import Suppression

_NEWLINE = re.compile(r"\r\n?|\n")

#: Rules about files and about comments themselves, which no comment is written for.
NOT_FOR_COMMENTS = (suppressions.UNREADABLE_FILE, suppressions.UNUSED_SUPPRESSION)


@dataclass(slots=True)
class Added:
    """A text with comments. added: findings they silence. refused: findings left, with why."""

    data: bytes
    added: list[Finding] = field(default_factory=list)
    refused: list[tuple[Finding, str]] = field(default_factory=list)


class _RefusedError(Exception):
    pass


def add(
    data: bytes,
    findings: Sequence[Finding],
    targets: Sequence[Finding],
    reason: str,
    check: fixes.Check,
) -> Added:
    """The text with a comment for each of the targets.

    findings: all there are in the text, the targets among them. Every text on the way is parsed and checked: the finding
    must be gone, and no other may have come.
    """
    done = Added(data)
    chosen = [finding for finding in targets if finding.code not in NOT_FOR_COMMENTS]
    if not chosen:
        return done
    try:
        done.data = _attempt(data, chosen, findings, reason, check)
        done.added = chosen
    except _RefusedError as why:
        if len(chosen) == 1:
            done.refused = [(chosen[0], str(why))]
            return done
        # rows stay as they are, so that the findings keep their places
        for target in chosen:
            try:
                done.data = _attempt(data, [*done.added, target], findings, reason, check)
                done.added = [*done.added, target]
            except _RefusedError as problem:
                done.refused.append((target, str(problem)))
    return done


def _attempt(
    data: bytes,
    targets: Sequence[Finding],
    findings: Sequence[Finding],
    reason: str,
    check: fixes.Check,
) -> bytes:
    encoding = fixes.encoding_of(data)
    if encoding is None:
        raise _RefusedError("its encoding would not come back the same")
    text = data.decode(encoding)
    changed = fixes.apply(text, _edits(text, data, targets, reason))
    try:
        written = changed.encode(encoding)
    except UnicodeEncodeError:
        raise _RefusedError(f"the reason cannot be written in {encoding}") from None
    if _tree(changed) != _tree(text):
        raise _RefusedError("the result would be another program")
    found, error = check(written)
    if error is not None:
        raise _RefusedError("the result could not be checked")
    left = Counter(map(_kind, findings)) - Counter(map(_kind, targets))
    if Counter(map(_kind, found)) - left:
        raise _RefusedError("a comment would not silence it")
    return written


def _kind(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.location.row, finding.parameter


def _tree(text: str) -> str | None:
    """The program that a text is, without its layout; None where this Python cannot tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.dump(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _edits(text: str, data: bytes, findings: Sequence[Finding], reason: str) -> list[Edit]:
    lines = _NEWLINE.split(text)
    present: dict[int, list[Suppression]] = {}
    for comment in suppressions.read(data):
        if comment.own:
            present.setdefault(comment.row, []).append(comment)
    closed = suppressions.closed_rows(data)
    if closed is None:
        raise _RefusedError("the file could not be cut into tokens")
    wanted: dict[int, list[str]] = {}
    for finding in findings:
        all_rows = suppressions.rows_of(finding, closed)
        at = min(max(finding.location.row, all_rows[0]), all_rows[-1])
        # the row of the finding, else the next below it, else the next above it
        rows = [*range(at, all_rows[-1] + 1), *range(at - 1, all_rows[0] - 1, -1)]
        if any(finding.code in wanted.get(row, ()) for row in rows):
            continue
        row = next((row for row in rows if any(map(_takes_codes, present.get(row, ())))), None)
        if row is None:
            row = next((row for row in rows if row not in closed and row not in present), None)
        if row is None:
            raise _RefusedError("no line of the call can take a comment")
        wanted.setdefault(row, []).append(finding.code)

    edits = []
    for row, codes in wanted.items():
        comment = next(filter(_takes_codes, present.get(row, ())), None)
        line = lines[row - 1]
        if comment is not None:
            first, last = comment.listed
            end = first + len(line[first:last].rstrip())
            joint = ", " if comment.codes else ""
            edits.append(_insertion(row, end, end, joint + ", ".join(codes)))
        else:
            tail = f"  {reason}" if reason else ""
            end = len(line.rstrip())
            content = f"  # kdacheck: ignore[{', '.join(codes)}]{tail}"
            edits.append(_insertion(row, end, len(line), content))
    return edits


def _takes_codes(comment: Suppression) -> bool:
    return comment.closed and comment.codes is not None


def _insertion(row: int, start: int, end: int, content: str) -> Edit:
    return Edit(content, Position(row, start + 1), Position(row, end + 1))
