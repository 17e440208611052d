"""The lines of source files, as reports show them and as fingerprints are taken of them."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping


class Lines:
    """Reads each file once. texts: what a file of that name says where the disk does not."""

    def __init__(self, texts: Mapping[str, bytes] | None = None) -> None:
        self._texts = texts or {}
        self._lines: dict[str, list[str]] = {}

    def of(self, filename: str) -> list[str]:
        """The lines of a file without their ends; none where it cannot be read."""
        if filename not in self._lines:
            data = self._texts.get(filename)
            if data is None:
                try:
                    with open(filename, "rb") as file:
                        data = file.read()
                except OSError:
                    data = b""
            self._lines[filename] = _decode(data)
        return self._lines[filename]

    def row(self, filename: str, row: int) -> str:
        """One line, counted from 1; empty where there is none."""
        lines = self.of(filename)
        return lines[row - 1] if 0 < row <= len(lines) else ""


def _decode(data: bytes) -> list[str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        text = data.decode("utf-8", "replace")
    # not splitlines(): a form feed or a line separator in a string does not end a line of Python
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
