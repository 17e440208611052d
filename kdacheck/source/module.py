"""One parsed file: its definitions in order, and the names they assign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.contracts.annotations import Axes
from kdacheck.source import claims
from kdacheck.source.select import Changes

if TYPE_CHECKING:
    from kdacheck.source.pieces import Piece
    from kdacheck.source.positions import Positions

Suite = Sequence[cst.BaseStatement | cst.BaseSmallStatement]


def suite(body: cst.CSTNode) -> Suite:
    """The statements of a block, one-line blocks included."""
    return body.body if isinstance(body, (cst.IndentedBlock, cst.SimpleStatementSuite)) else ()


def blocks(statement: cst.CSTNode) -> Iterator[Suite]:
    """The blocks directly inside a compound statement, in the order they are written."""
    match statement:
        case cst.If() | cst.For() | cst.While():
            yield suite(statement.body)
            if isinstance(statement.orelse, cst.If):
                yield (statement.orelse,)
            elif statement.orelse is not None:
                yield suite(statement.orelse.body)
        case cst.Try() | cst.TryStar():
            yield suite(statement.body)
            for handler in statement.handlers:
                yield suite(handler.body)
            if statement.orelse is not None:
                yield suite(statement.orelse.body)
            if statement.finalbody is not None:
                yield suite(statement.finalbody.body)
        case cst.With():
            yield suite(statement.body)
        case cst.Match():
            for case in statement.cases:
                yield suite(case.body)
        case _:
            pass


def names_in(node: cst.CSTNode) -> set[str]:
    """All names in a piece of code, those of attributes and keywords included."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name):
            found.add(current.value)
        stack.extend(current.children)
    return found


def small_statements(
    statements: Suite,
) -> Iterator[cst.BaseSmallStatement | cst.BaseCompoundStatement]:
    """The statements of a suite, with `a; b` taken apart."""
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        else:
            yield statement  # type: ignore[misc]


@dataclass(eq=False)
class Definition:
    """A function or class of the file. `number` is its place in the order they are written, from 1."""

    number: int
    name: str
    node: cst.FunctionDef | cst.ClassDef
    owner: Definition | None
    children: list[Definition] = field(default_factory=list)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, cst.ClassDef)

    @property
    def within(self) -> Iterator[Definition]:
        """The definition and those around it, innermost first."""
        here: Definition | None = self
        while here is not None:
            yield here
            here = here.owner

    @property
    def inside(self) -> Iterator[Definition]:
        """The definitions inside this one, at any depth."""
        for child in self.children:
            yield child
            yield from child.inside

    @cached_property
    def said(self) -> Mapping[str, Axes]:
        """What the docstring says of the axes of parameters."""
        node = self.node
        return claims.of_docstring(node) if isinstance(node, cst.FunctionDef) else {}

    @property
    def owner_class(self) -> Definition | None:
        return self.owner if self.owner is not None and self.owner.is_class else None

    @cached_property
    def methods(self) -> dict[str, Definition]:
        """The methods of a class; one that is defined more than once is left out, being known only when it runs."""
        found: dict[str, Definition] = {}
        twice: set[str] = set()
        for child in self.children:
            kinds = {d.rpartition(".")[2] for d in child.decorators}
            if child.is_class or kinds & {"setter", "deleter", "overload"}:
                continue
            if child.name in found:
                twice.add(child.name)
            found[child.name] = child
        return {name: child for name, child in found.items() if name not in twice}

    @cached_property
    def properties(self) -> frozenset[str]:
        """Attributes that a method computes, or stores in its own way."""
        kinds = {"property", "cached_property", "setter", "deleter"}
        return frozenset(
            child.name
            for child in self.children
            if kinds & {d.rpartition(".")[2] for d in child.decorators}
        )

    @property
    def qualified(self) -> str:
        return f"{self.owner.qualified}.{self.name}" if self.owner is not None else self.name

    @cached_property
    def is_generator(self) -> bool:
        return not self.is_class and yields(self.node.body)

    @cached_property
    def decorators(self) -> list[str]:
        """The decorators as dotted text, calls without their arguments."""
        return [dotted(d.decorator) for d in self.node.decorators]


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` for a name, an attribute or a call of one; "" for anything else."""
    match node:
        case cst.Name(value):
            return value
        case cst.Attribute(value, attr):
            base = dotted(value)
            return f"{base}.{attr.value}" if base else ""
        case cst.Call(func):
            return dotted(func)
        case _:
            return ""


#: Decorators that leave a function what it is, as far as its calls are concerned.
HARMLESS = frozenset(
    [
        "staticmethod",
        "classmethod",
        "property",
        "abstractmethod",
        "override",
        "overload",
        "cached_property",
        "lru_cache",
        "cache",
        "wraps",
        "fixture",
        "no_grad",
        "inference_mode",
        "enable_grad",
        "compile",
        "disable",
        "allow_in_graph",
        "ignore",
        "export",
        "torch_compile_disable",
        "parametrize",
        "skipif",
        "skip",
        "xfail",
        "usefixtures",
        "slow",
        "cuda",
        "gpu",
        "jaxtyped",
        "beartype",
        "typechecked",
        "contract",
        "no_type_check",
        "final",
        "record_function",
        "custom_op",
        "nvtx_annotate",
        "support_torch_compile",
        "torch_compile",
    ]
)


def yields(node: cst.CSTNode) -> bool:
    """Whether a call of what has this body makes a generator, whatever it returns."""
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, cst.Yield):
            return True
        if not isinstance(here, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            stack.extend(here.children)
    return False


def harmless(name: str) -> bool:
    return name.rpartition(".")[2] in HARMLESS or ".mark." in f".{name}."


#: Context managers under which a call is meant to fail, and methods that are handed one.
EXPECTING = frozenset(("raises", "assertRaises", "assertRaisesRegex", "assert_raises", "suppress"))


def defaults_to_none(default: cst.BaseExpression | None) -> bool:
    """Whether a parameter may be None whatever its annotation says."""
    return isinstance(default, cst.Name) and default.value == "None"


class Module:
    """A parsed file. `writes_names`: it may bind names by other means than statements (`globals()`, `exec`).

    casts_automatically: it mentions autocast, under which operations choose the dtype of their results.
    """

    def __init__(
        self,
        filename: str,
        pieces: Sequence[Piece],
        name: str,
        has_walrus: bool = True,
        changes: Changes | None = None,
        writes_names: bool = False,
        casts_automatically: bool = False,
    ) -> None:
        self.filename = filename
        self.has_walrus = has_walrus
        self.changes = Changes(everything=True) if changes is None else changes
        self.writes_names = writes_names
        self.casts_automatically = casts_automatically
        self.pieces = pieces
        self.body: Suite = [statement for piece in pieces for statement in piece.tree.body]
        self.name = name
        self._unsettled: dict[Definition | None, frozenset[str]] = {}
        self.definitions: list[Definition] = []
        self.by_node: dict[cst.CSTNode, Definition] = {}
        self._number(self.body, None)

    def _number(self, statements: Suite, owner: Definition | None) -> None:
        for statement in statements:
            if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                definition = Definition(
                    len(self.definitions) + 1, statement.name.value, statement, owner
                )
                self.definitions.append(definition)
                self.by_node[statement] = definition
                if owner is not None:
                    owner.children.append(definition)
                self._number(suite(statement.body), definition)
            else:
                for block in blocks(statement):
                    self._number(block, owner)

    @cached_property
    def has_yield(self) -> bool:
        return any("yield" in piece.text for piece in self.pieces)

    @cached_property
    def constructors(self) -> frozenset[int]:
        """The numbers of the constructors of its classes."""
        return frozenset(
            d.number for d in self.definitions if d.name in ("__init__", "__post_init__")
        )

    @cached_property
    def top_level(self) -> dict[str, Definition]:
        return {d.name: d for d in self.definitions if d.owner is None}

    def unsettled(self, definition: Definition | None) -> frozenset[str]:
        """Names of a scope (None: the module) that functions inside it change behind its back."""
        found = self._unsettled.get(definition)
        if found is None:
            rebound, touched = self.changes.rebound, self.changes.touched
            names: set[str] = set()
            for inner in self.definitions if definition is None else definition.inside:
                names |= rebound.get(inner.number, frozenset())
                names |= touched.get(inner.number, frozenset())
            if definition is not None:
                for name in rebound.get(definition.number, ()):
                    if any(
                        name in o for number, o in rebound.items() if number != definition.number
                    ):
                        names.add(name)
            found = self._unsettled[definition] = frozenset(names)
        return found

    def changed_names(self, definition: Definition) -> frozenset[str]:
        """Names whose objects a function changes in place, its own names included."""
        return self.changes.in_place.get(definition.number, frozenset())

    @cached_property
    def is_expected_to_fail(self) -> bool:
        """Whether `pytestmark` marks all tests of the file as expected to fail."""
        for statement in small_statements(self.body):
            match statement:
                case cst.Assign(targets=[cst.AssignTarget(cst.Name("pytestmark"))], value=value):
                    marks = value.elements if isinstance(value, (cst.List, cst.Tuple)) else ()
                    named = [value, *(element.value for element in marks)]
                    if any(dotted(mark).endswith(".xfail") for mark in named):
                        return True
                case _:
                    pass
        return False

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @cached_property
    def _positions(self) -> Positions:
        from kdacheck.source.positions import Positions

        return Positions(self.pieces)

    def __contains__(self, node: cst.CSTNode) -> bool:
        """Whether a node is one of the file, rather than made up. Costs what a position does."""
        return self._positions.of(node) is not None

    def position(self, node: cst.CSTNode) -> tuple[tuple[int, int], tuple[int, int]]:
        """((row, column), (end row, end column)), all from 1. Costs a pass over the file: ask only to report."""
        found = self._positions.of(node)
        if found is None:
            return (1, 1), (1, 1)
        (row, column), (end_row, end_column) = found
        return (row, column + 1), (end_row, end_column + 1)


def assigned_targets(statements: Suite) -> Iterator[cst.CSTNode]:
    """Every target assigned by the statements of a suite and its blocks, nested definitions left out."""
    for statement in small_statements(statements):
        match statement:
            case cst.Assign(targets):
                for target in targets:
                    yield from _flat(target.target)
            case cst.AnnAssign(target) | cst.AugAssign(target):
                yield from _flat(target)
            case cst.For(target):
                yield from _flat(target)
            case cst.With(items):
                for item in items:
                    if item.asname is not None:
                        yield from _flat(item.asname.name)
            case cst.FunctionDef(name) | cst.ClassDef(name):
                yield name
                continue
            case cst.Import(names) | cst.ImportFrom(names=names) if not isinstance(
                names, cst.ImportStar
            ):
                for alias in names:
                    if alias.asname is not None:
                        yield alias.asname.name
                    else:
                        yield cst.Name(dotted(alias.name).split(".")[0])
            case cst.Del(target):
                yield from _flat(target)
            case cst.Match(cases=cases):
                for part in cases:
                    yield from _captured(part.pattern)
            case cst.Try(handlers=handlers) | cst.TryStar(handlers=handlers):
                for handler in handlers:
                    if handler.name is not None:
                        yield handler.name.name
            case _:
                pass
        for block in blocks(statement):
            yield from assigned_targets(block)


def _captured(pattern: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names that a pattern binds."""
    match pattern:
        case cst.MatchAs(name=cst.Name() as name) | cst.MatchStar(name=cst.Name() as name):
            yield name
        case cst.MatchMapping(rest=cst.Name() as name):
            yield name
        case _:
            pass
    for child in pattern.children:
        yield from _captured(child)


def leaves(statements: Suite) -> bool:
    """Whether a suite has statements that leave it, or a loop or the function around it."""
    return any(
        isinstance(statement, (cst.Return, cst.Raise, cst.Break, cst.Continue))
        or any(map(leaves, blocks(statement)))
        for statement in small_statements(statements)
    )


def looped_names(statements: Suite) -> set[str]:
    """Names that a loop may assign more than once."""
    found: set[str] = set()
    for statement in small_statements(statements):
        if isinstance(statement, (cst.For, cst.While)):
            found |= {t.value for t in assigned_targets([statement]) if isinstance(t, cst.Name)}
        else:
            for block in blocks(statement):
                found |= looped_names(block)
    return found


def walrus_names(statements: Suite) -> Iterator[str]:
    """Names bound by `:=` anywhere in a suite. Visits every node: ask only in files that have one."""
    stack: list[cst.CSTNode] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, cst.NamedExpr) and isinstance(node.target, cst.Name):
            yield node.target.value
        stack.extend(node.children)


def _flat(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match target:
        case cst.Tuple(elements) | cst.List(elements):
            for element in elements:
                yield from _flat(element.value)
        case cst.StarredElement(value):
            yield from _flat(value)
        case _:
            yield target
