"""Which files and functions are looked at: those from which a contracted callee can be reached."""

from __future__ import annotations

import ast

import pytest

from kdacheck.source import analyse, may_matter, select
from kdacheck.source.module import Module
from kdacheck.source.pieces import Piece

NAME = "project.layers.mixer"


def reached(text: str, name: str = NAME) -> set[str]:
    """The names of the definitions of a file that may reach a contracted callee; "" is the file itself."""
    tree = ast.parse(text)
    names = ["", *select.definitions_in_order(tree)]
    return {names[number] for number in select.outline(tree, name).relevant}


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("from fla.ops.kda import chunk_kda", True),
        ("import fla.ops.kda as kda\nkda.chunk_kda(q)", True),
        ("flash_kda.fwd(q)", True),
        ('get_kernel("attention.chunk_kda")', True),
        ("# about chunk_kda alone", True),
        ("from fla.ops import chunk_kda_like_thing", False),
        ("from fla.ops import chunk_retention", False),
        ("", False),
    ],
)
def test_files_that_name_a_callee_matter(text: str, matters: bool) -> None:
    assert may_matter(text.encode()) is matters


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("from fla.ops.kda import chunk_kda", True),
        ("from fla.ops.kda import (\n    chunk_kda,\n)", True),
        ("if x:\n    from fla.ops import chunk_kda", True),
        ("import os; from fla.ops.kda import chunk_kda", True),
        ("import os, fla.ops.kda", True),
        ("import fla", True),
        ("from fla \\\n    import ops", True),
        ("from somewhere import chunk_kda", False),
        ("chunk_kda = None", False),
    ],
)
def test_files_must_import_from_where_a_callee_lives(text: str, imports: bool) -> None:
    assert select.may_import(text.encode(), NAME) is imports


def test_functions_that_lead_to_a_call_are_reached() -> None:
    text = """
from fla.ops.kda import chunk_kda
def kernel(q):
    return chunk_kda(q)
def caller(q):
    return kernel(q)
def apart(q):
    return q
class Layer:
    def __init__(self):
        self.kernel = chunk_kda
    def forward(self, q):
        return self.kernel(q)
class Other:
    def forward(self, q):
        return q
"""
    assert reached(text) == {"kernel", "caller", "__init__", "forward"}
    assert "apart" not in reached(text)


def test_an_unused_import_reaches_nothing() -> None:
    assert reached("from fla.ops.kda import chunk_kda\ndef f(x):\n    return x\n") == set()


def test_relative_imports_are_seen_from_the_module() -> None:
    text = "from .kda import chunk_kda\ndef f(q):\n    return chunk_kda(q)\n"
    assert reached(text, "fla.ops.common") == {"f"}
    assert reached(text, "project.ops.common") == set()


@pytest.mark.parametrize(
    ("module", "level", "inside", "path"),
    [
        ("fla.ops", 0, "a.b", "fla.ops"),
        ("kda", 1, "fla.ops.gla", "fla.ops.kda"),
        (None, 2, "fla.ops.gla", "fla"),
        ("x", 1, "a", "x"),
    ],
)
def test_relative_paths(module: str | None, level: int, inside: str, path: str) -> None:
    assert select.absolute(module, level, inside) == path


def test_both_parsers_number_definitions_alike() -> None:
    text = """
@decorated(lambda: 0)
def a():
    if x:
        class B(base()):
            def c(self): pass
    else:
        async def d(): pass
    try:
        def e(): pass
    except E:
        def f(): pass
    finally:
        def g(): pass
    with x:
        def h(): pass
    match x:
        case 1:
            def i(): pass
    for x in y:
        def j(): pass
    else:
        def k(): pass
    while x:
        def m(): pass
def n(): pass
"""
    module = Module("case.py", [Piece(text)], NAME)
    assert [d.name for d in module.definitions] == list(
        select.definitions_in_order(ast.parse(text))
    )
    assert [d.number for d in module.definitions] == list(range(1, len(module.definitions) + 1))


def test_what_functions_change_outside_themselves() -> None:
    text = """
from fla.ops.kda import chunk_kda
def run(options, local):
    global COUNT
    OPTIONS["a"] = 1
    options["b"] = 2
    TABLE.update(x=1)
    local = []
    local.append(1)
    self.size = chunk_kda(local)
    self.table[0] = 1
    setattr(self, "named", 1)
class Layer:
    def set(self, name):
        setattr(self, name, 1)
"""
    changes = select.outline(ast.parse(text), NAME).changes
    assert changes.names_rebound == {"COUNT"}
    assert {"OPTIONS", "TABLE"} <= changes.names_touched
    assert not {"options", "local"} & changes.names_touched
    assert changes.held == {"table"}
    assert changes.assigners("size") > changes.assigners("unheard of") > set()


def test_a_star_import_brings_the_callees_of_its_module() -> None:
    text = "from fla.ops.kda import *\nimport torch\ndef f(k, v, g, beta):\n    q = torch.zeros(2, 8, 1, 16)\n"
    call = "    chunk_kda(q, k, v, g, beta, cu_seqlens=torch.tensor([0, 8, 16]))\n"
    assert [f.code for f in analyse("case.py", (text + call).encode(), {})] == ["KDA001"]
