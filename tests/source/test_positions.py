"""Positions of nodes are those that LibCST's own provider tells."""

from __future__ import annotations

import pathlib

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from kdacheck.source.positions import Positions

ROOT = pathlib.Path(__file__).parents[2]
FILES = [*sorted((ROOT / "kdacheck" / "source").glob("s*.py")), ROOT / "tests" / "test_fixes.py"]

ODD = (
    """\
# a head

@decorated  # \U0001f600
async def f(a, /, b: int = 1, *c, d, **e) -> None:
\ttry:
\t\treturn (yield [x for x in (1, *b) if x])  # tabs
\texcept* (E, F) as g:
\t\tpass ; x = \\
  y
\tfinally:
\t\twith (a as b, c): ...
class C(B, metaclass=M): 'doc'
match x:
    case {"k": [1, *r], **s} | C(a=1) if t: print(f"{x!r:>{w}}")
del (a), b[1:2, ...]; assert x, """
    + '"""many\n\n  lines"""'
    + """
lambda *a, **k: not (a if b else c)
"""
)


@pytest.mark.parametrize(
    "text",
    [*(path.read_text("utf-8") for path in FILES), ODD, ODD.replace("\n", "\r\n"), "", "\n", "x"],
)
def test_every_node_stands_where_libcst_says(text: str) -> None:
    tree = cst.parse_module(text)
    found = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    positions = Positions(tree)
    assert found
    for node, told in found.items():
        places = (told.start.line, told.start.column), (told.end.line, told.end.column)  # pyright: ignore[reportAttributeAccessIssue]
        assert positions.of(node) == places
    assert positions.of(cst.Name("elsewhere")) is None
