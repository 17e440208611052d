"""From the text of a file to a parsed module."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from kdacheck.source import limits, select
from kdacheck.source.module import Module
from kdacheck.source.pieces import Kept, Piece, cut
from kdacheck.source.text import Unreadable


def parse(
    filename: str, text: str, name: str, outline: select.Outline | None, kept: Kept | None = None
) -> tuple[Module, frozenset[int]]:
    """The module of a text, with the numbers of its definitions that may reach a contracted callee.

    kept: what an earlier text of the file was parsed to, of which no other module may be in use.
    Raises Unreadable where LibCST cannot parse the text.
    """
    limits.check_nesting(text)
    try:
        pieces = _pieces(filename, text, outline.extents if outline is not None else (), kept)
    except cst.ParserSyntaxError as error:
        raise Unreadable(
            f"the file cannot be parsed: {_reason(error)}", error.raw_line, error.raw_column + 1
        ) from None
    except (ValueError, MemoryError) as error:
        raise Unreadable(f"the file cannot be parsed: {type(error).__name__}") from None
    module = Module(
        filename,
        pieces,
        name,
        has_walrus=":=" in text,
        changes=outline.changes if outline is not None else None,
        writes_names=_WRITES_NAMES.search(text) is not None,
        casts_automatically="autocast" in text or "custom_fwd" in text,
    )
    every = frozenset(range(len(module.definitions) + 1))
    return module, every if outline is None else outline.relevant


def _pieces(
    filename: str, text: str, extents: Sequence[select.Extent], kept: Kept | None
) -> Sequence[Piece]:
    texts = cut(text, extents)
    try:
        pieces = list(map(Piece, texts)) if kept is None else kept.renewed(filename, texts)
    except cst.ParserSyntaxError:
        pieces = []
    if not pieces or any(piece.tree.footer for piece in pieces[:-1]):
        return [Piece(text)]  # and the error tells where in the file it is
    return pieces


#: Ways to bind the names of a module that are no statement.
_WRITES_NAMES = re.compile(r"\bglobals\(\)|\bexec\(|\bsys\.modules\[")


def _reason(error: object) -> str:
    return str(getattr(error, "message", error)).strip().rstrip(".").split("\n")[-1]
