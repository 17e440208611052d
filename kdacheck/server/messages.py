"""What the server and its worker processes hand to each other. Imported by both, so nothing heavy is needed for it."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass

from kdacheck.linter import Result


@dataclass(frozen=True, slots=True)
class Text:
    """A text in an editor. `path` is absolute and need not exist.

    root: the folder that is the current one for its settings. unsaved: other texts that stand for their files.
    around: what linting the folder gave.
    """

    path: str
    data: bytes
    root: str
    unsaved: Mapping[str, bytes]
    around: Result


@dataclass(frozen=True, slots=True)
class Changed:
    """A text after a fix, and why a fix does not hold, "" where it does."""

    data: bytes
    refused: str = ""


def encoded(text: str) -> bytes:
    """The bytes of a text, as Python would read them from a file of its own encoding, one character for each."""
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding.startswith("utf-8") else text.encode(encoding, "replace")
    except (SyntaxError, UnicodeError, LookupError):
        return data
