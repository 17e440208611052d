"""Applies fixes to a text, and keeps only what a second look at the result confirms."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kdacheck.finding import Edit, Finding

_NEWLINE = re.compile(r"\r\n?|\n")

#: Texts tried for one file before what is left stays as it is.
MAX_ROUNDS = 500

#: The findings of a text, and what went wrong inside the linter, if anything did.
Check = Callable[[bytes], tuple[list[Finding], str | None]]


@dataclass(slots=True)
class Fixed:
    """What fixing made of a text: fixed findings, those left, and those whose fix did not hold, with why."""

    data: bytes
    findings: list[Finding]
    fixed: list[Finding] = field(default_factory=list)
    refused: list[tuple[Finding, str]] = field(default_factory=list)


class _RefusedError(Exception):
    """An edited text that must not be written; the message says why."""


def fix(data: bytes, findings: list[Finding], check: Check, *, unsafe: bool) -> Fixed:
    """Apply the fixes of one file until none is left that holds.

    findings: those of `data`. Every text on the way is parsed and checked: a fixed finding must be gone, and no other
    may have come, be it in another file that `check` looks at.
    """
    done = Fixed(data, findings)
    encoding = encoding_of(data)
    if encoding is None:
        return done
    refused: dict[tuple[object, ...], tuple[Finding, str]] = {}
    rounds = 0
    while rounds < MAX_ROUNDS:
        text = done.data.decode(encoding)
        due = [
            finding
            for finding in done.findings
            if finding.fix is not None
            and finding.fix.is_on(unsafe)
            and _identity(finding, text) not in refused
        ]
        batch = _apart(due, text)
        if not batch:
            break
        attempts = [batch] if len(batch) == 1 else [batch, *([finding] for finding in batch)]
        for attempt in attempts:
            rounds += 1
            try:
                done.data, done.findings = _attempt(text, encoding, attempt, done.findings, check)
            except _RefusedError as why:
                if len(attempt) == 1:
                    refused[_identity(attempt[0], text)] = attempt[0], str(why)
                continue
            done.fixed += attempt
            break
    done.refused = [
        (finding, why)
        for key, (finding, why) in refused.items()
        if key in {_identity(left, done.data.decode(encoding)) for left in done.findings}
    ]
    return done


def _identity(finding: Finding, text: str) -> tuple[object, ...]:
    """What a finding is known by while the lines around it change."""
    edits = finding.fix.edits if finding.fix is not None else ()
    lines = _NEWLINE.split(text)
    row = finding.location.row
    line = lines[row - 1] if row <= len(lines) else ""
    return (*kind(finding), line, *(edit.content for edit in edits))


def kind(finding: Finding) -> tuple[object, ...]:
    """What a finding has in common with itself in another text of its file."""
    return finding.filename, finding.code, finding.callee, finding.parameter


def _attempt(
    text: str, encoding: str, batch: Sequence[Finding], before: Sequence[Finding], check: Check
) -> tuple[bytes, list[Finding]]:
    edits = [edit for finding in batch if finding.fix is not None for edit in finding.fix.edits]
    changed = apply(text, edits)
    try:
        data = changed.encode(encoding)
    except UnicodeEncodeError:
        raise _RefusedError(f"the result is not {encoding}") from None
    if changed == text:
        raise _RefusedError("nothing would change")
    _parse(changed, text)
    found, error = check(data)
    if error is not None:
        raise _RefusedError("the result could not be checked")
    allowed = Counter(map(kind, before)) - Counter(map(kind, batch))
    new = Counter(map(kind, found)) - allowed
    for finding in found:
        if kind(finding) not in new:
            continue
        if kind(finding) in set(map(kind, batch)):
            raise _RefusedError("the call would still be wrong")
        if finding.filename != batch[0].filename:
            where = f"{finding.filename}:{finding.location.row}"
            raise _RefusedError(f"{finding.code} would be found at {where}: {finding.message}")
        raise _RefusedError(f"{finding.code} would be found instead: {finding.message}")
    return data, found


def _parse(changed: str, text: str) -> None:
    """Raise for a text that Python or LibCST cannot parse."""
    import libcst

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(changed)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if _is_python(text):
                raise _RefusedError("the result could not be parsed") from None
    try:
        libcst.parse_module(changed)
    except Exception:
        raise _RefusedError("the result could not be parsed") from None


def _is_python(text: str) -> bool:
    """Whether the running Python parses a text; it may be written for a later one."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _apart(findings: Sequence[Finding], text: str) -> list[Finding]:
    """The first findings whose edits do not touch one another."""
    starts = _line_starts(text)
    taken: list[tuple[int, int]] = []
    chosen: list[Finding] = []
    for finding in findings:
        assert finding.fix is not None
        spans = [_span(edit, starts) for edit in finding.fix.edits]
        if all(end < other or stop < start for start, end in spans for other, stop in taken):
            taken += spans
            chosen.append(finding)
    return chosen


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def _span(edit: Edit, starts: Sequence[int]) -> tuple[int, int]:
    def offset(row: int, column: int) -> int:
        return starts[min(row, len(starts)) - 1] + column - 1

    start, end = edit.location, edit.end_location
    if end.row > len(starts):  # the line after the last
        return offset(start.row, start.column), -1
    return offset(start.row, start.column), offset(end.row, end.column)


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits put in, none of which may overlap another."""
    starts = _line_starts(text)
    parts: list[str] = []
    at = 0
    for start, end, content in sorted((*_span(edit, starts), edit.content) for edit in edits):
        if end == -1:
            end = len(text)
        if start < at or end < start:
            raise _RefusedError("its edits overlap")
        parts += [text[at:start], content]
        at = end
    return "".join((*parts, text[at:]))


def encoding_of(data: bytes) -> str | None:
    """The encoding of a file, None where its bytes would not come back the same."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return encoding if data.decode(encoding).encode(encoding) == data else None
    except (SyntaxError, UnicodeError, LookupError):
        return None


def difference(filename: str, before: bytes, after: bytes) -> str:
    """A unified diff."""
    import difflib

    encoding = encoding_of(before) or "utf-8"
    old, new = (_lines(data.decode(encoding)) for data in (before, after))
    parts: list[str] = []
    for line in difflib.unified_diff(old, new, filename, filename, lineterm="\n"):
        parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str) -> list[str]:
    """Lines with their ends. Not `splitlines`: a form feed ends no line of Python."""
    lines = text.split("\n")
    kept = [f"{line}\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


#: What files are called until they take the place of others.
_TEMPORARY = ".kdacheck-"


def put(path: str, data: bytes) -> None:
    """Write a whole file at once, new or not; what is no regular file is written to. Raises OSError."""
    import tempfile

    target = os.path.realpath(path)
    new = not os.path.lexists(target)
    if not new and not os.path.isfile(target):
        _write_to(path, data)
        return
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=os.path.dirname(target))
    except PermissionError:  # of the folder; the file itself may still be written
        _write_to(path, data)
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, _usual_mode() if new else os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _write_to(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write(path: str, before: bytes, after: bytes) -> None:
    """Put another text in the place of a file at once: a reader sees the old one or the new one.

    A link is followed, mode and owner are kept. Raises OSError, also where the file no longer holds `before`.
    """
    import stat
    import tempfile

    target = os.path.realpath(path)
    status = os.stat(target)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "not writable")
    descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        own = os.stat(temporary)
        if hasattr(os, "chown") and (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        with open(target, "rb") as file:
            if file.read() != before:
                raise OSError(0, "was changed meanwhile")
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
