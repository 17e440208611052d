"""What a run is at, told to a person who waits for it."""

from __future__ import annotations

import os
import sys
import time

_PATIENCE = 1.0
_INTERVAL = 0.1
_ERASE = "\r\x1b[K"


class Progress:
    """A line on a terminal that is written over, from the second second of a run on, and erased at its end."""

    def __init__(self, quiet: bool) -> None:
        self._due = time.monotonic() + _PATIENCE
        self._is_shown = False
        self._is_wanted = not quiet and _is_terminal()

    def __call__(self, files: int, analysed: int) -> None:
        if not self._is_wanted:
            return
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _INTERVAL
            self._is_shown = True
            plural = "" if files == 1 else "s"
            sys.stderr.write(f"{_ERASE}{files:,} file{plural} read, {analysed:,} analysed")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write(_ERASE)
            sys.stderr.flush()


def _is_terminal() -> bool:
    return (
        sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
        and os.environ.get("CI", "").lower() in ("", "0", "false")
    )
