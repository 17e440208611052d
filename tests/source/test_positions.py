"""Nodes are those that LibCST makes of the whole text, and stand where its own provider says, however a text is cut."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator, Sequence

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from kdacheck.source.pieces import Kept, Piece, cut
from kdacheck.source.positions import Positions
from kdacheck.source.select import outline

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

#: Where definitions of the top level are hard to tell apart, or what lies between them.
BETWEEN = """\
\"\"\"What it is.\"\"\"
# a head
import a; import b

@decorated
# between
@(
    twice
)
def f(): pass
# of f, at the first column

x = 1; \\
y = 2
class C:
    z = 1
    # of C, though it stands behind

    # and this
# of g
@one
@two
async def g():
    if x:
        return \"\"\"
def no(): pass
\"\"\"
        # of the branch
    # of g
class D(C): a: int; b: int
x = (
    1)  # behind
def twice(): pass
def twice(): pass
\f
def h(): pass

   \x20
def i(
    a=1,
): return (a
)
if x:
    def j(): pass
def k(): return 1 \\

def tabs():
\tpass
\t# of tabs
lambda: 0
# the end
"""


def pieces_of(text: str, kept: Kept | None = None) -> list[Piece]:
    texts = cut(text, outline(ast.parse(text), "case").extents)
    return [Piece(part) for part in texts] if kept is None else kept.renewed("case.py", texts)


def nodes(node: cst.CSTNode, above: Sequence[cst.CSTNode] = ()) -> Iterator[cst.CSTNode]:
    """A node and those in it, without the lines above a statement: the first ones of a piece are its head."""
    yield node
    for child in node.children:
        if not any(child is line for line in above):
            yield from nodes(child)


def check(pieces: list[Piece], text: str) -> None:
    """Whether pieces hold the nodes of a text, each where it stands."""
    tree = cst.parse_module(text)
    assert "".join(piece.text for piece in pieces) == tree.code == text
    found = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    positions = Positions(pieces)
    statements = [statement for piece in pieces for statement in piece.tree.body]
    for ours, whole in zip(statements, tree.body, strict=True):
        pairs = zip(nodes(ours, ours.leading_lines), nodes(whole, whole.leading_lines), strict=True)
        for node, same in pairs:
            assert type(node) is type(same)
            told = found[same]
            places = (told.start.line, told.start.column), (told.end.line, told.end.column)  # pyright: ignore[reportAttributeAccessIssue]
            assert positions.of(node) == places
    assert positions.of(cst.Name("elsewhere")) is None


TEXTS = [
    *(path.read_text("utf-8") for path in FILES),
    ODD,
    BETWEEN,
    BETWEEN.rstrip("\n"),
    "",
    "\n",
    "x",
]


@pytest.mark.parametrize("text", [*TEXTS, ODD.replace("\n", "\r\n"), BETWEEN.replace("\n", "\r\n")])
def test_every_node_stands_where_libcst_says(text: str) -> None:
    check(pieces_of(text), text)


APART = [
    ("import a\n", "\n\n# of f\ndef f():\n    pass\n"),
    (
        "def f(): pass\n",
        "\n@one\n@two(\n)\nasync def g(): pass\n",
        "x = 1\ny = 2\n",
        "class C: pass",
    ),
]
TOGETHER = [
    "import a\nx = 1\nif x:\n    y = 2\n",
    "x = 1; \\\ny = 2\n",
    "def f():\n    pass\n    # of f, though it stands behind it\ndef g(): pass\n",
    "def f(): return 1 \\\n\ndef g(): pass\n",
    "def f(): pass\n  \ndef g(): pass\n",
    "def f(): pass\n\f\ndef g(): pass\n",
    "x = 1\n@(\n    one\n)\ndef f(): pass\n",
    "def f(): pass\r\ndef g(): pass\r\n",
    "x = (\n    1\n); y = 2\n",
]


@pytest.mark.parametrize("parts", [*APART, *((text,) for text in TOGETHER)])
def test_definitions_are_cut_from_each_other_where_nothing_of_one_can_lie_with_the_other(
    parts: tuple[str, ...],
) -> None:
    assert [piece.text for piece in pieces_of("".join(parts))] == list(parts)
    check(pieces_of("".join(parts)), "".join(parts))


def test_only_what_is_new_is_parsed_again_and_twins_are_two() -> None:
    head, one, other = "import a\n", "\ndef f():\n    return a\n", "\ndef g():\n    return a\n"
    kept = Kept(1000)
    first = pieces_of(head + one + one, kept)
    assert first[1] is not first[2]
    check(first, head + one + one)
    second = pieces_of(head + other + one, kept)
    assert second[0] is first[0]
    assert second[2] in first[1:]
    check(second, head + other + one)
    third = pieces_of(head + one + other + one, kept)
    assert len(set(map(id, third))) == 4
    check(third, head + one + other + one)


def test_no_more_is_kept_than_there_is_room_for() -> None:
    text = "import a\n"
    kept = Kept(2 * len(text))
    one, two = kept.renewed("one.py", [text]), kept.renewed("two.py", [text])
    assert kept.renewed("one.py", [text]) == one
    kept.renewed("three.py", [text])
    assert kept.renewed("one.py", [text]) == one
    assert kept.renewed("two.py", [text]) != two
    large = kept.renewed("four.py", [text * 3])
    assert kept.renewed("four.py", [text * 3]) != large
