"""What others wrote, such as names of files and lines of code, made fit to be shown."""

from __future__ import annotations

import re

# what moves the cursor, changes colours, starts a line or turns the direction of writing
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """A text on one line, with every character that would act and not show written out."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def plain_row(text: str) -> str:
    """The same for a line of code: each such character takes one place still."""
    return _CONTROL.sub(lambda match: " " if match[0] in "\t\0\f\v" else "\ufffd", text)
