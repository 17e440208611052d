"""`kdacheck --watch`: look again whenever something changed that the findings depend on, until the user has seen enough."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator

from kdacheck import linter, releases
from kdacheck.cli import CLEAN, fail, lint, note
from kdacheck.cli import options as command_line
from kdacheck.config import ConfigError, Configuration
from kdacheck.discovery import discover
from kdacheck.report import shown

#: Seconds between two looks at the file system, and how much of the time those may take.
PAUSE = 0.3
SHARE = 0.1

#: Seconds of quiet that end a change: tools write many files, and one file in several steps.
QUIET = 0.1

Stamps = dict[str, tuple[int, ...] | None]


def run(options: argparse.Namespace) -> int:
    """Lint by the options, again and again; 0 once the user interrupts.

    Raises ConfigError for a command line that makes no sense; what is wrong in files is for the user to mend meanwhile.
    """
    lint.refuse_contradictions(options)
    Configuration(command_line.overrides(options))
    watched = _Watched(options)
    try:
        while True:
            # before the look: what changes in the middle of it has changed
            seen = watched.stamps()
            seen = watched.also(_look(options)) | seen
            note("watching for changes, until interrupted")
            changed = watched.next_change(seen)
            linter.forget()
            _clear()
            note(_told(changed))
    except KeyboardInterrupt:
        return CLEAN


def _look(options: argparse.Namespace) -> set[str]:
    """Lint once; the files that were followed on the way."""
    followed: set[str] = set()
    try:
        lint.run(options, followed)
        sys.stdout.flush()
    except ConfigError as error:
        fail(str(error))
    return followed


def _clear() -> None:
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write("\x1b[2J\x1b[H")
        sys.stdout.flush()


def _told(changed: list[str]) -> str:
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{shown(changed[0])}{more} changed"


class _Watched:
    """The files that the findings depend on, as far as is known."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._paths: list[str] = options.paths or [os.curdir]
        self._followed: set[str] = set()
        self._settings: set[str] = set()

    def also(self, followed: set[str]) -> Stamps:
        """Watch the files that were followed last as well; what tells that they are as they were."""
        self._followed = {os.path.abspath(path) for path in followed}
        return {path: _stamp(path) for path in self._followed}

    def stamps(self) -> Stamps:
        """What tells that each file is as it was; None for one that is not there."""
        return {path: _stamp(path) for path in map(os.path.abspath, self._files())}

    def next_change(self, seen: Stamps) -> list[str]:
        """Wait for a change, and for its end; the files that changed."""
        pause = PAUSE
        while True:
            time.sleep(pause)
            start = time.monotonic()
            now = self.stamps()
            pause = max(PAUSE, (time.monotonic() - start) / SHARE)
            changed = _changed(seen, now)
            while changed:
                time.sleep(QUIET)
                before, now = now, self.stamps()
                if before == now:
                    return changed

    def _files(self) -> Iterator[str]:
        folders: set[str] = set()
        roots: set[str] = set()
        for path in self._paths:
            folders.update(_above(path))
        try:
            configuration = Configuration(command_line.overrides(self._options))
            for path, settings in discover(self._paths, configuration, []):
                yield path
                folders.add(os.path.dirname(path) or os.curdir)
                if settings.root not in roots:
                    roots.add(settings.root)
                    self._settings.update(source.name for source in settings.sources)
                    self._settings.update(filter(None, (settings.baseline,)))
        except ConfigError:
            pass  # told by the run; what was found so far is enough to see it mended
        yield from self._followed
        yield from self._settings
        for root in roots:
            yield from (os.path.join(root, name) for name in releases.pin_files(root))
        for folder in folders:
            yield os.path.join(folder, "pyproject.toml")
            yield os.path.join(folder, ".gitignore")
        if self._options.config is not None:
            yield self._options.config


def _above(path: str) -> Iterator[str]:
    """The folders whose files have a say in what is done with a path."""
    folder = os.path.abspath(path)
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _changed(seen: Stamps, now: Stamps) -> list[str]:
    return sorted(path for path in seen.keys() | now.keys() if seen.get(path) != now.get(path))
