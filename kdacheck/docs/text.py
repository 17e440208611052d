"""Pieces of Markdown that written pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the columns' names give their number."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def filtered(table: str) -> str:
    """A table that the site puts a filter box above."""
    return f'<div class="filter" markdown>\n\n{table}\n\n</div>'


def cell(text: str) -> str:
    """Text in one line, with nothing that would end the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def sentence(text: str) -> str:
    """Text as a sentence of its own."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def anchor(heading: str) -> str:
    """What a heading is linked by, on the site and where Markdown is shown beside the code."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
