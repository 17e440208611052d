"""Where the nodes of a parsed file stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from kdacheck.source.pieces import Piece

#: (row from 1, column from 0)
Place = tuple[int, int]

#: Where something starts and where it ends.
Span = tuple[Place, Place]


class Positions:
    """Where the nodes of a file stand, worked out piece by piece until the one asked for is among them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        rows = 0
        self._ahead: list[tuple[int, Piece]] = []
        for piece in pieces:
            self._ahead.append((rows, piece))
            rows += piece.rows
        self._ahead.sort(key=lambda ahead: ahead[1].is_placed)  # taken from the end
        self._known: dict[int, tuple[int, Piece]] = {}

    def of(self, node: cst.CSTNode) -> Span | None:
        """The start of a node and its end, None for one that is not of the file."""
        key = id(node)
        while key not in self._known:
            if not self._ahead:
                return None
            ahead = self._ahead.pop()
            self._known.update(dict.fromkeys(ahead[1].places, ahead))
        rows, piece = self._known[key]
        (row, column), (end_row, end_column) = piece.places[key]
        return (rows + row, column), (rows + end_row, end_column)


def places_in(tree: cst.Module) -> dict[int, Span]:
    """What LibCST's PositionProvider tells, by the ids of the nodes, in a fifth of the time.

    A tree in which no node occurs twice, as one from the parser is.
    """
    return _Places(tree).found


class _Places(CodegenState):
    """Makes the code of a tree, and notes where it is."""

    def __init__(self, tree: cst.Module) -> None:
        super().__init__(default_indent=tree.default_indent, default_newline=tree.default_newline)
        self._at: Place = (1, 0)
        self._begun: list[Place] = []
        self.found: dict[int, Span] = {}
        tree._codegen(self)

    # Called by nodes as they make their code

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)  # the end of the file asks whether there are any
        row, column = self._at
        if "\n" in value or "\r" in value:
            lines = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._at = row + len(lines) - 1, len(lines[-1])
        else:
            self._at = row, column + len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._begun.append(self._at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._begun.pop()
        self.found.setdefault(id(node), (start, self._at))

    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Any:
        return _Inside(self, node, start_node, end_node)

    def note(
        self,
        node: cst.CSTNode,
        start: Place,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        """Note where a node stands without the whitespace that it owns: between two of its parts, where it names them."""
        found = self.found
        found[id(node)] = (
            start if start_node is None else found[id(start_node)][0],
            self._at if end_node is None else found[id(end_node)][1],
        )

    @property
    def here(self) -> Place:
        return self._at


class _Inside:
    """Is entered where a node starts, and left where it ends."""

    __slots__ = ("_end", "_here", "_node", "_places", "_start")

    def __init__(
        self,
        places: _Places,
        node: cst.CSTNode,
        start: cst.CSTNode | None,
        end: cst.CSTNode | None,
    ) -> None:
        self._places, self._node, self._start, self._end = places, node, start, end

    def __enter__(self) -> None:
        self._here = self._places.here

    def __exit__(self, *failure: object) -> None:
        if failure[0] is None:
            self._places.note(self._node, self._here, self._start, self._end)
