"""Colour for terminals."""

from __future__ import annotations


class Style:
    """Wraps text in colour, or leaves it alone."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def code(self, text: str) -> str:
        return self._paint("1;31", text)

    def strong(self, text: str) -> str:
        return self._paint("1", text)

    def faint(self, text: str) -> str:
        return self._paint("34", text)

    def culprit(self, text: str) -> str:
        return self._paint("1;31", text)

    def source(self, text: str) -> str:
        return self._paint("1;33", text)

    def help(self, text: str) -> str:
        return self._paint("1;32", text)
