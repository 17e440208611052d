"""What is told of the calls of a file, for somebody who does not parse it."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Told:
    """A contracted call of the file, or one that leads to it. Rows and columns count from 1, ends are excluded.

    text: the explanation, where it was asked for.
    arguments: those that stand in the file, as ((start, end), what is known, the shape; "" where it is not known).
    """

    span: Span
    text: str
    arguments: tuple[tuple[Span, str, str], ...]
