"""A file of findings that are known, so that a run reports only what has come since.

A finding is known by its file and a fingerprint of its code, not by its line. Two equal ones in one file are counted.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kdacheck.config import Settings
from kdacheck.finding import Finding
from kdacheck.fingerprint import Fingerprints
from kdacheck.keys import ConfigError, known_rules
from kdacheck.lines import Lines
from kdacheck.suppressions import UNREADABLE_FILE

VERSION = 1
_MARK = "kdacheck-baseline"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """What one or more equal findings are known by; `path` is relative to the baseline's folder, with forward slashes."""

    path: str
    code: str
    fingerprint: str
    message: str = field(compare=False)
    likely: bool = field(default=False, compare=False)


Entries = Counter[Entry]


@dataclass(slots=True)
class Matched:
    """What a baseline says of a run: findings that are new, known ones, and entries that nothing matched.

    stale: entries whose finding would have shown if it still were there. now: the entries of the findings there are.
    kept: entries that this run can say nothing of, as it did not look there.
    """

    new: list[Finding]
    known: list[Finding]
    stale: Entries
    now: Entries
    kept: Entries
    matched: Entries

    def updated(self) -> Entries:
        """The baseline that knows everything found now."""
        return self.now + self.kept

    def pruned(self) -> Entries:
        """The baseline without what is stale."""
        return self.matched + self.kept


def read(path: str) -> Entries:
    """The entries of a baseline file. Raises ConfigError for a file that is none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such baseline; --update-baseline makes it"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    try:
        whole = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: this baseline is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{path}: this baseline is not JSON: {reason}") from None
    version = whole.get(_MARK) if isinstance(whole, dict) else None
    if not isinstance(version, int):
        raise ConfigError(f"{path}: this is no baseline of kdacheck")
    if version > VERSION:
        raise ConfigError(f"{path}: this baseline was written by a later kdacheck")
    found = Entries()
    listed = whole.get("findings")
    for number, item in enumerate(listed if isinstance(listed, list) else [None], 1):
        entry, count = _entry(item)
        if entry is None:
            raise ConfigError(f"{path}: this baseline is broken at finding {number}")
        found[entry] += count
    return found


def _entry(item: object) -> tuple[Entry | None, int]:
    if not isinstance(item, dict):
        return None, 0
    path, code, fingerprint = (item.get(key) for key in ("path", "code", "fingerprint"))
    message, likely, count = (
        item.get("message", ""),
        item.get("likely", False),
        item.get("count", 1),
    )
    if not (isinstance(path, str) and isinstance(code, str) and isinstance(fingerprint, str)):
        return None, 0
    if not (isinstance(message, str) and isinstance(likely, bool)):
        return None, 0
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None, 0
    return Entry(path, code, fingerprint, message, likely), count


def text_of(entries: Entries) -> str:
    """The text of a baseline file: one line for each entry, in an order that only content decides."""
    rows = []
    for entry, count in sorted(entries.items()):
        if count < 1:
            continue
        item: dict[str, Any] = {
            "path": entry.path,
            "code": entry.code,
            "fingerprint": entry.fingerprint,
        }
        if count > 1:
            item["count"] = count
        if entry.likely:
            item["likely"] = True
        item["message"] = entry.message
        rows.append(json.dumps(item))
    listed = "[\n    " + ",\n    ".join(rows) + "\n  ]" if rows else "[]"
    return f'{{\n  "{_MARK}": {VERSION},\n  "findings": {listed}\n}}\n'


def write(path: str, text: str) -> bool:
    """Put a text in the place of a baseline at once; False where it says so already. Raises OSError."""
    from kdacheck import fixes

    data = text.encode("ascii")
    try:
        with open(path, "rb") as file:
            before = file.read()
    except FileNotFoundError:
        with open(path, "xb"):
            before = b""
        try:
            fixes.write(path, before, data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        return True
    if before == data:
        return False
    fixes.write(path, before, data)
    return True


def match(
    file: str,
    entries: Mapping[Entry, int],
    findings: Sequence[Finding],
    checked: Mapping[str, Settings | None],
    lines: Lines,
) -> Matched:
    """Hold findings against a baseline.

    file: where the baseline lies. findings: in the order of their places. checked: every file that the run has read, with
    its settings, or None where it could not be analysed. A finding that no entry of its own file knows is known by one of a file that is gone, or that was read
    and has it no longer: its code was moved.
    """
    folder = os.path.dirname(os.path.abspath(file))
    prints = Fingerprints(lines)
    read_paths = {_relative(name, folder): settings for name, settings in checked.items()}
    names = known_rules() if entries else {}

    def is_gone(path: str) -> bool:
        return path not in read_paths and not os.path.lexists(os.path.join(folder, path))

    def would_show(entry: Entry) -> bool:
        settings = read_paths.get(entry.path)
        if settings is None:
            return False
        selected = settings.rule_filter(os.path.join(folder, entry.path))
        name = names.get(entry.code, entry.code)
        return selected(entry.code, name) and (settings.likely or not entry.likely)

    left = Entries(dict(entries))
    now, matched = Entries(), Entries()
    known: set[int] = set()
    waiting: list[tuple[int, Entry]] = []
    for number, finding in enumerate(findings):
        if finding.code == UNREADABLE_FILE:
            continue
        path = _relative(finding.filename, folder)
        entry = Entry(path, finding.code, prints.of(finding), finding.message, finding.likely)
        now[entry] += 1
        if left[entry] > 0:
            left[entry] -= 1
            matched[entry] += 1
            known.add(number)
        else:
            waiting.append((number, entry))

    unmatched = [entry for entry, count in left.items() if count > 0]
    movable: dict[tuple[str, str], list[Entry]] = {}
    for entry in unmatched if waiting else ():
        if is_gone(entry.path) or would_show(entry):
            movable.setdefault((entry.code, entry.fingerprint), []).append(entry)
    for number, entry in waiting:
        for origin in movable.get((entry.code, entry.fingerprint), ()):
            if left[origin] > 0:
                left[origin] -= 1
                matched[entry] += 1
                known.add(number)
                break

    stale, kept = Entries(), Entries()
    for entry, count in left.items():
        if count > 0:
            where = stale if is_gone(entry.path) or would_show(entry) else kept
            where[entry] = count
    return Matched(
        new=[finding for number, finding in enumerate(findings) if number not in known],
        known=[finding for number, finding in enumerate(findings) if number in known],
        stale=stale,
        now=now,
        kept=kept,
        matched=matched,
    )


def _relative(path: str, folder: str) -> str:
    path = os.path.abspath(path)
    with contextlib.suppress(ValueError):  # another drive
        path = os.path.relpath(path, folder)
    return path.replace(os.sep, "/")


def listed(entries: Iterable[Entry], most: int = 3) -> str:
    """A few entries in words."""
    entries = sorted(entries)
    shown = [f"{entry.path}: {entry.code}" for entry in entries[:most]]
    more = len(entries) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
