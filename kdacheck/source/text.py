"""What is known of a file before it is parsed: its text, its dotted name, its outline."""

from __future__ import annotations

import ast
import codecs
import io
import os
import tokenize
import warnings

from kdacheck.source import select


class Unreadable(Exception):  # noqa: N818 - it names what the file is
    """A file that cannot be decoded or parsed, with where and why."""

    remedy = "fix the file, or exclude it"

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def decode(data: bytes) -> str:
    """The text of a file, by its byte order mark or coding line, else UTF-8. Raises Unreadable."""
    if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        at = data.index(b"\0")
        row = data.count(b"\n", 0, at) + 1
        raise Unreadable("the file holds a null byte, which Python does not read", row)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Unreadable(f"the file cannot be decoded: {error.msg}") from None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"the file is not {encoding}: {error.reason} (name its encoding in a coding line)", row
        ) from None
    except (LookupError, UnicodeError):
        raise Unreadable(f"the file names an encoding that cannot be read: {encoding}") from None


def dotted_name(filename: str) -> str:
    """The import path of a file, told by the `__init__.py` files above it."""
    path = os.path.abspath(filename)
    folder, base = os.path.split(path)
    parts = [] if base == "__init__.py" else [base.removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
        if not name:
            break
    return ".".join(parts)


def outline_of(
    text: str, filename: str, name: str, deep: bool, exports: frozenset[str] = frozenset()
) -> select.Outline | None:
    """The outline of a file, None where the running Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename)
        return select.outline(tree, name, exports)
    except (SyntaxError, ValueError, MemoryError):
        return None
    except RecursionError:
        if deep:
            return None
        raise
