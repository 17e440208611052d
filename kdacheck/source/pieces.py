"""A file in pieces that are parsed one by one, so that an edit costs what it touches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from kdacheck.source.positions import Span
    from kdacheck.source.select import Extent


class Piece:
    """Whole statements of the top level of a file, with the blank lines and comments before them.

    Making one raises what LibCST raises where it cannot parse them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.rows = text.count("\n")
        self.tree = cst.parse_module(text)

    @cached_property
    def places(self) -> dict[int, Span]:
        """Where its nodes stand, by their ids, in rows of its own."""
        from kdacheck.source.positions import places_in

        return places_in(self.tree)

    @property
    def is_placed(self) -> bool:
        """Whether that is known already."""
        return "places" in self.__dict__


class Kept:
    """The pieces of the texts that were parsed last, of several files, for the next text of one of them."""

    def __init__(self, size: int) -> None:
        self._room = size
        self._pieces: dict[str, list[Piece]] = {}

    def renewed(self, filename: str, texts: Sequence[str]) -> list[Piece]:
        """The pieces of the next text of a file: those that it still has, and new ones."""
        earlier: dict[str, list[Piece]] = {}
        for piece in self._pieces.get(filename, ()):
            earlier.setdefault(piece.text, []).append(piece)
        # a piece that stands twice in a text is two: nodes are told apart by what they are, not by what they say
        pieces = [earlier[text].pop() if earlier.get(text) else Piece(text) for text in texts]
        self._pieces.pop(filename, None)
        self._pieces[filename] = pieces
        self._drop()
        return pieces

    def _drop(self) -> None:
        """Drop what was parsed longest ago, as far as there is no room for it."""
        sizes = {name: sum(len(p.text) for p in kept) for name, kept in self._pieces.items()}
        for name in list(sizes):
            if sum(sizes.values()) <= self._room:
                return
            del self._pieces[name], sizes[name]


def cut(text: str, extents: Sequence[Extent]) -> list[str]:
    """The text in pieces of which LibCST makes the nodes that it makes of the whole: cut behind and before definitions.

    No cut is made where anything else than blank lines and comments from the first column lies between two statements.
    What a piece has for itself are the head of its tree, and the indent that its blocks need not spell out.
    """
    if "\r" in text:
        return [text]
    lines = text.split("\n")
    begins = [0]
    for before, after in itertools.pairwise(extents):
        if (before.is_definition or after.is_definition) and _are_apart(lines, before, after):
            begins.append(before.end)
    ends = [*begins[1:], len(lines)]
    pieces = ["\n".join(lines[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    return [*(piece + "\n" for piece in pieces[:-1]), pieces[-1]]


def _are_apart(lines: Sequence[str], before: Extent, after: Extent) -> bool:
    return (
        before.end <= after.begin
        and not lines[before.end - 1].endswith("\\")
        and not lines[after.begin][0].isspace()
        and all(line[:1] in ("", "#") for line in lines[before.end : after.begin])
    )
