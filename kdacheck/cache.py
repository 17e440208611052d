"""What earlier runs found, kept beside the project, so that a second run reads little and analyses what changed.

Two things are kept. That a file mentions no kernel, which holds while the file's times and size stay: that saves
reading it. And what checking a file gave, which holds while its bytes, the bytes of the files looked at on the way,
the settings, the releases and kdacheck itself stay: that saves the analysis.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kdacheck.finding import Edit, Finding, Fix, Origin, Position
from kdacheck.places import Depends, place_of
from kdacheck.version import VERSION

if TYPE_CHECKING:
    from kdacheck.config import Configuration, Settings
    from kdacheck.linter import Candidate, Outcome

FOLDER = ".kdacheck_cache"
VARIABLE = "KDACHECK_CACHE_DIR"

#: A file changed this recently may change again without its times telling.
SETTLED_NS = 2_000_000_000

#: Larger cache files are not read; more of them than this are not kept.
MAX_BYTES = 64 << 20
MAX_FILES = 8

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of kdacheck.\n"


def folder_of(configuration: Configuration) -> str:
    """Where the cache of the project around the current folder lies."""
    given = os.environ.get(VARIABLE)
    return given or os.path.join(configuration.of_folder(os.curdir).root, FOLDER)


class Cache:
    """The cache as one run sees it. What cannot be read or written is as if it were not there."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.file = os.path.join(folder, f"{_digest(os.getcwd(), _itself())[:32]}.json")
        self._settled = time.time_ns() - SETTLED_NS
        self._plain: dict[str, list[int]] = {}
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._importers: dict[str, list[str]] = {}
        self._seen: dict[str, list[int]] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._digests: dict[str, str] = {}
        self._by_candidate: dict[int, tuple[Candidate, str]] = {}
        self._keys: dict[tuple[object, ...], str] = {}
        self._changed = False
        self._load()

    # Files that mention no kernel

    def mentions_none(self, path: str) -> bool:
        """Whether a file is known to mention no kernel, without reading it."""
        known = self._plain.get(path)
        if known is None:
            return False
        same = _status(path) == known
        if same:
            self._seen[path] = known
        return same

    def status_of(self, path: str) -> list[int] | None:
        """What tells that a file has stayed as it was; None where it cannot be asked."""
        return _status(path)

    def note_plain(self, path: str, before: list[int] | None) -> None:
        """Note that a file mentions no kernel; `before`: its status before it was read."""
        if before is not None and max(before[:2]) < self._settled:
            self._seen[path] = before
            self._changed = True

    # What checking a file gave

    def outcome(self, candidate: Candidate) -> Outcome | None:
        """What checking the candidate gave before, None where that is not known to hold."""
        key = self._key(candidate)
        stored = self._outcomes.get(key)
        if stored is None:
            return None
        try:
            if not self._still_holds(stored):
                return None
            outcome = _outcome_from(stored)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        self._kept[key] = stored
        return outcome

    def knows(self, candidate: Candidate) -> bool:
        """Whether the candidate was checked before, with these bytes."""
        return self._key(candidate) in self._outcomes

    def keep(self, candidate: Candidate, outcome: Outcome) -> None:
        if outcome.error is not None or any(f.code == "KDA901" for f in outcome.findings):
            return
        files: dict[str, str] = {}
        if outcome.depends is not None:
            files = {
                name: self._digest_of(name) for name in outcome.depends.places.values() if name
            }
        self._kept[self._key(candidate)] = {
            "findings": [_packed(finding) for finding in outcome.findings],
            "exports": sorted(outcome.exports),
            "depends": outcome.depends,
            "files": files,
        }
        self._changed = True

    def _still_holds(self, stored: Mapping[str, Any]) -> bool:
        depends = _depends_from(stored)
        if depends is None:
            return True
        for path, filename in depends.places.items():
            place = place_of(depends.roots, path)
            if (place.filename if place is not None else "") != filename:
                return False
        return all(self._digest_of(name) == digest for name, digest in stored["files"].items())

    def _key(self, candidate: Candidate) -> str:
        found = self._by_candidate.get(id(candidate))
        if found is not None and found[0] is candidate:
            return found[1]
        settings, name = candidate.settings, candidate.filename
        key = _digest(
            name,
            hashlib.sha256(candidate.data).hexdigest(),
            self._settings_key(settings),
            *settings.ignored_in(name),
            "exports",
            *sorted(candidate.exports),
            *_folders_with_init(name),
        )
        self._by_candidate = {id(candidate): (candidate, key)}
        return key

    def _settings_key(self, settings: Settings) -> str:
        of_settings = (
            settings.root,
            settings.layers,
            settings.likely,
            settings.conventions,
            tuple(sorted(settings.versions.items())),
        )
        found = self._keys.get(of_settings)
        if found is None:
            from kdacheck import releases

            used = releases.fingerprint(settings.versions, settings.root)
            found = self._keys[of_settings] = _digest(repr(of_settings), used)
        return found

    def _digest_of(self, filename: str) -> str:
        found = self._digests.get(filename)
        if found is None:
            try:
                with open(filename, "rb") as file:
                    found = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                found = ""
            self._digests[filename] = found
        return found

    # Files that import what others hand on

    def importers(self, asked: Sequence[str]) -> frozenset[str] | None:
        """The files that import what others hand on, by a question asked before, as far as they stayed as they were."""
        found = self._importers.get(_digest(*asked))
        return frozenset(found) if isinstance(found, list) else None

    def is_unchanged(self, path: str) -> bool:
        """Whether a file was known before this run, and has stayed as it was."""
        known = self._plain.get(path)
        return known is not None and self._seen.get(path) is known

    def note_importers(self, asked: Sequence[str], paths: list[str]) -> None:
        key = _digest(*asked)
        if self._importers.get(key) != paths:
            self._importers = {**self._importers, key: paths}
            self._changed = True

    # The file

    def _load(self) -> None:
        try:
            if not _is_own_folder(self.folder):
                return
            data = json.loads(_read_own(self.file))
            plain, outcomes, importers = data["plain"], data["outcomes"], data["importers"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return
        if all(isinstance(part, dict) for part in (plain, outcomes, importers)):
            self._plain, self._outcomes, self._importers = plain, outcomes, importers

    def save(self) -> None:
        """Write what is new, in one step; other runs see the old file or the new one."""
        if not self._changed:
            return
        others = {path: known for path, known in self._plain.items() if path not in self._seen}
        plain = self._seen | {p: known for p, known in others.items() if _status(p) == known}
        outcomes = {**self._outcomes, **self._kept}
        if len(outcomes) > 2 * len(self._kept) + 1000:
            outcomes = self._kept
        importers = dict(list(self._importers.items())[-8:])
        text = json.dumps(
            {"plain": plain, "outcomes": outcomes, "importers": importers},
            separators=(",", ":"),
        )
        with contextlib.suppress(OSError):
            if not os.path.lexists(self.folder):
                os.makedirs(self.folder, exist_ok=True)
                os.chmod(self.folder, os.stat(self.folder).st_mode & 0o7755)
            if _is_own_folder(self.folder):
                _mark(self.folder)
                _write(self.file, text)
                _drop_old(self.folder)


def _status(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def _digest(*parts: str) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return whole.hexdigest()


def _folders_with_init(filename: str) -> Iterator[str]:
    """The folders that make up the dotted name of a file."""
    folder = os.path.dirname(os.path.abspath(filename))
    yield folder
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        yield folder
        if not name:
            break


def _itself() -> str:
    """kdacheck's own code, and what it parses with."""
    import importlib.util

    parts = [VERSION, sys.version]
    stack = [os.path.dirname(os.path.abspath(__file__))]
    spec = importlib.util.find_spec("libcst")
    if spec is not None and spec.origin is not None:
        parts.append(f"{spec.origin} {_status(spec.origin)}")
    while stack:
        folder = stack.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    parts.append(f"{entry.path} {found.st_mtime_ns} {found.st_size}")
                elif entry.is_dir() and not entry.name.startswith(("_", ".")):
                    stack.append(entry.path)
    return _digest(*parts)


def _is_own_folder(folder: str) -> bool:
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and _is_own(found)


def _is_own(found: os.stat_result) -> bool:
    """Whether only this user can have written what a status is of."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _read_own(path: str) -> bytes:
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or not _is_own(found) or found.st_size > MAX_BYTES:
            raise OSError("not a cache file of this user")
        return file.read()


def _mark(folder: str) -> None:
    """Say that a folder is a cache, to git and to programs that make backups."""
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            _write(path, text)


def _write(path: str, text: str) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(suffix=".tmp", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _drop_old(folder: str) -> None:
    with os.scandir(folder) as entries:
        files = [(e.stat().st_mtime_ns, e.path) for e in entries if e.name.endswith(".json")]
    for _, path in sorted(files)[:-MAX_FILES]:
        os.unlink(path)


def clean(folder: str) -> bool:
    """Remove a cache, and nothing that is not of one; False where there is none."""
    try:
        if not _is_own_folder(folder):
            return False
    except OSError:
        return False
    if not os.path.lexists(os.path.join(folder, "CACHEDIR.TAG")):
        return False
    with os.scandir(folder) as entries:
        paths = [
            entry.path
            for entry in entries
            if entry.name in (".gitignore", "CACHEDIR.TAG")
            or entry.name.endswith((".json", ".tmp"))
        ]
    for path in paths:
        os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return True


def _packed(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "remedy": finding.remedy,
        "filename": finding.filename,
        "location": _two(finding.location),
        "end_location": _two(finding.end_location),
        "callee": finding.callee,
        "version": finding.version,
        "parameter": finding.parameter,
        "origins": [_packed_origin(origin) for origin in finding.origins],
        "span": finding.span,
        "inner": [_packed_origin(origin) for origin in finding.inner],
        "likely": finding.likely,
        "fix": None
        if finding.fix is None
        else [
            finding.fix.applicability,
            finding.fix.message,
            [[e.content, _two(e.location), _two(e.end_location)] for e in finding.fix.edits],
        ],
    }


def _two(position: Position) -> list[int]:
    return [position.row, position.column]


def _packed_origin(origin: Origin) -> list[Any]:
    return [origin.message, origin.filename, _two(origin.location), _two(origin.end_location)]


def _outcome_from(stored: Mapping[str, Any]) -> Outcome:
    from kdacheck.linter import Outcome

    return Outcome(
        [_unpacked(finding) for finding in stored["findings"]],
        None,
        frozenset(stored["exports"]),
        _depends_from(stored),
    )


def _depends_from(stored: Mapping[str, Any]) -> Depends | None:
    if stored["depends"] is None:
        return None
    roots, places = stored["depends"]
    return Depends(tuple(roots), places)


def _unpacked(stored: Mapping[str, Any]) -> Finding:
    fix = stored["fix"]
    span = stored["span"]
    return Finding(
        **{
            **stored,
            "location": Position(*stored["location"]),
            "end_location": Position(*stored["end_location"]),
            "origins": tuple(map(_origin_from, stored["origins"])),
            "inner": tuple(map(_origin_from, stored["inner"])),
            "span": None if span is None else tuple(span),
            "fix": None
            if fix is None
            else Fix(
                fix[0],
                fix[1],
                tuple(Edit(e[0], Position(*e[1]), Position(*e[2])) for e in fix[2]),
            ),
        }
    )


def _origin_from(stored: Any) -> Origin:
    message, filename, start, end = stored
    return Origin(message, filename, Position(*start), Position(*end))
