"""Which files and functions matter: a byte search, then one look with the standard `ast`.

Parsing with LibCST costs more than ten times as much as with `ast`, so it is only done for files in which a name that
an import binds to a contracted callee is really used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from kdacheck import contracts

#: Every contracted name contains one of these; a plain search for a few short strings is far faster than a pattern.
STEMS = (
    b"kda",
    b"delta_rule",
    b"_gla",
    b"_gdn",
    b"replayssm",
    b"conv1d",
    b"ShortConvolution",
    b"_cumsum",
    b"token_shift",
    b"packed_decode",
)

#: Last components too common to search for; the component before them is the name people write.
_COMMON = frozenset(("fwd", "forward", "run", "plan"))


def search_name(path: str) -> str:
    """The part of an import path that a file which calls it must contain."""
    *_, before, last = ("", *path.split("."))
    return before if last in _COMMON else last


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[bytes]:
    found = sorted({search_name(path) for path in contracts.paths()})
    return re.compile(rb"\b(?:" + b"|".join(name.encode() for name in found) + rb")\b")


def may_matter(data: bytes) -> bool:
    """Whether a file mentions a contracted callee at all."""
    return any(stem in data for stem in STEMS) and _pattern().search(data) is not None


@lru_cache(maxsize=1)
def _prefixes() -> frozenset[str]:
    """Every package and module on the way to a contracted callee."""
    result = set()
    for path in contracts.paths():
        parts = path.split(".")
        result.update(".".join(parts[:end]) for end in range(1, len(parts)))
    return frozenset(result)


_FROM = re.compile(
    rb"(?:^|[;:])[ \t]*from[ \t\\\r\n]+(\.*)[ \t]*([\w.]*)[ \t\\\r\n]+import\b", re.MULTILINE
)
_IMPORT = re.compile(rb"(?:^|[;:])[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)


def may_import(data: bytes, module_name: str) -> bool:
    """Whether some import of a file can reach a contracted callee: asked of the text, since `ast` costs far more."""
    prefixes = _prefixes()
    for dots, base in _FROM.findall(data):
        if absolute(base.decode("ascii", "replace") or None, len(dots), module_name) in prefixes:
            return True
    for names in _IMPORT.findall(data):
        for name in names.split(b","):
            if name.split()[:1] and name.split()[0].decode("ascii", "replace") in prefixes:
                return True
    return b"get_kernel" in data


def absolute(module: str | None, level: int, inside: str) -> str:
    """The dotted path of `from ..module import`, seen from the module named `inside`."""
    if not level:
        return module or ""
    base = inside.split(".")
    base = base[: len(base) - level]
    return ".".join([*base, *(module.split(".") if module else [])])


@dataclass
class Outline:
    """What `ast` tells of a file.

    relevant: numbers of the definitions (functions and classes, in the order they are written) from which a
    contracted callee may be reached; the module itself is number 0.
    """

    relevant: frozenset[int] = frozenset()


_CONSTRUCTORS = ("__init__", "__post_init__", "setup", "setUp")


@dataclass
class _Definition:
    number: int
    name: str
    owner: int
    is_class: bool
    used: set[str] = field(default_factory=set)


class _Outliner:
    """Collects, per definition, the names and attributes it uses outside nested definitions."""

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name
        self.definitions = [_Definition(0, "", -1, False)]
        self.seeds: set[str] = set()

    def visit(self, node: ast.AST, owner: int) -> None:
        stack: list[tuple[ast.AST, int]] = [(node, owner)]
        while stack:
            current, place = stack.pop()
            if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                number = len(self.definitions)
                self.definitions.append(
                    _Definition(number, current.name, place, isinstance(current, ast.ClassDef))
                )
                children = [(child, number) for child in current.body]
                outer = [*current.decorator_list]
                if isinstance(current, ast.ClassDef):
                    outer += current.bases
                stack.extend((child, place) for child in outer)
                stack.extend(reversed(children))
                continue
            used = self.definitions[place].used
            if isinstance(current, ast.Name):
                used.add(current.id)
            elif isinstance(current, ast.Attribute):
                used.add(current.attr)
            elif isinstance(current, ast.Constant) and isinstance(current.value, str):
                if current.value.startswith("attention."):
                    used.add(current.value)
            elif isinstance(current, (ast.Import, ast.ImportFrom)):
                self._imports(current)
                continue
            stack.extend((child, place) for child in reversed(list(ast.iter_child_nodes(current))))

    def _imports(self, node: ast.Import | ast.ImportFrom) -> None:
        known, prefixes = contracts.paths(), _prefixes()
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in prefixes:
                    self.seeds.add((alias.asname or alias.name).split(".")[0])
            return
        base = absolute(node.module, node.level, self.module_name)
        for alias in node.names:
            path = f"{base}.{alias.name}"
            if alias.name == "*" and base in prefixes:
                self.seeds.update(search_name(p) for p in known if p.rpartition(".")[0] == base)
            elif path in known or path in prefixes:
                self.seeds.add(alias.asname or alias.name)


def outline(tree: ast.Module, module_name: str) -> Outline:
    """Which definitions of a file may reach a contracted callee."""
    outliner = _Outliner(module_name)
    outliner.visit(tree, 0)
    seeds = outliner.seeds
    definitions = outliner.definitions
    if any(
        text.startswith("attention.") and text.partition(".")[2] in contracts.registry()
        for d in definitions
        for text in d.used
    ):
        seeds = seeds | {"get_kernel"}
    reaching: set[int] = set()
    names = set(seeds)
    while True:
        grown = {d.number for d in definitions if d.number not in reaching and d.used & names}
        if not grown:
            break
        reaching |= grown
        for number in grown:
            # A method's name reaches its class, and a constructor gives its class away.
            d = definitions[number]
            while d.number > 0:
                names.add(d.name)
                d = definitions[d.owner]
    # What a class keeps in `__init__` is used by its other methods under other names.
    for d in definitions:
        is_method = d.owner > 0 and definitions[d.owner].is_class
        if is_method and d.number in reaching and d.name in _CONSTRUCTORS:
            reaching |= {e.number for e in definitions if e.owner == d.owner}
    # A nested function is interpreted with what its maker left it.
    for d in reversed(definitions):
        if d.number in reaching and d.owner > 0 and not definitions[d.owner].is_class:
            reaching.add(d.owner)
    return Outline(frozenset(reaching))


def definitions_in_order(tree: ast.Module) -> Iterator[str]:
    """The names of all definitions, in the order of their numbers (for tests)."""
    outliner = _Outliner("")
    outliner.visit(tree, 0)
    return (d.name for d in outliner.definitions[1:])
