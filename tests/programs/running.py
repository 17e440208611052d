"""Programs run for real, and compared on the way with what was claimed of them."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.programs.claims import Assignment, Claims, Mismatch, check
from tests.programs.watching import ANY, Claimed, Judged, Place, Rounds, Watched

#: Statements after which a run is ended.
MAX_STEPS = 2_000
#: Items of a list after which a run is ended: `for x in xs: xs *= 2` fills any memory long before that many steps.
MAX_ITEMS = 10_000
MODULE = "kdacheck_random_program"


class EndOfRun(BaseException):
    """A run that took too long."""


@dataclass(eq=False)
class Activation:
    """A function that is running, or the module (line 0)."""

    runner: Runner
    function: int
    caller: Activation | None
    line: int = 0
    rounds: dict[int, int] = field(default_factory=dict)

    def at(self, line: int, names: dict[str, Any]) -> None:
        """A statement is about to run."""
        self.line = line
        if line in self.runner.loops:
            self.rounds[line] = -1
        self.runner.step(self, names)

    def round(self, loop: int) -> None:
        """A loop goes round once more."""
        self.rounds[loop] += 1

    def where(self) -> Iterator[tuple[Activation, Place, Rounds]]:
        """The same place as seen from each function on the way to it."""
        place: Place = (self.line,)
        rounds = self.runner.numbers(self)
        here = self
        while True:
            yield here, (here.function, *place), rounds
            if here.caller is None:
                return
            here = here.caller
            place = (here.line, *place)
            rounds = (*self.runner.numbers(here), *rounds)


@dataclass
class Outcome:
    """What came of the runs of one program."""

    problems: list[str] = field(default_factory=list)
    claims: Claims = field(default_factory=Claims)
    statements: int = 0
    compared: int = 0
    found: int = 0
    calls: int = 0
    raising: int = 0
    raising_and_flagged: int = 0
    other_code: int = 0
    runs: int = 0
    finished: int = 0


class Runner:
    """Runs one program, however often."""

    def __init__(self, text: str, tree: ast.Module, watched: Watched) -> None:
        """tree: the text as `ast` has it; it is changed to tell where it is."""
        self.watched = watched
        self.outcome = Outcome()
        self.current: Activation | None = None
        self.steps = 0
        self.around: dict[int, tuple[int, ...]] = {}
        self.loops: set[int] = set()
        self.enclosing = dict(_enclosing(tree, frozenset()))
        tree.body = _Instrument(self).block(tree.body)
        self.code = compile(tree, "program.py", "exec")
        self.text = text.splitlines()
        #: What is claimed of the first time only: whether it held for any execution.
        self.once: dict[tuple[Claimed | Judged, Activation], str] = {}

    # what the program calls

    def enter(self, function: int) -> Activation:
        self.current = Activation(self, function, self.current)
        return self.current

    def leave(self, activation: Activation) -> None:
        self.current = activation.caller

    def apart(self, function: int) -> Activation:
        """A generator: it runs for whoever reads it."""
        return Activation(self, function, None)

    def numbers(self, activation: Activation) -> Rounds:
        return tuple(activation.rounds[loop] for loop in self.around.get(activation.line, ()))

    def step(self, activation: Activation, names: dict[str, Any]) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS or any(
            type(value) is list and len(value) > MAX_ITEMS for value in names.values()
        ):
            raise EndOfRun
        self.outcome.statements += 1
        for root, place, rounds in activation.where():
            entries = self.watched.claimed.get(place)
            if entries:
                hidden = self.enclosing.get(activation.function, frozenset[str]())
                self.compare(
                    entries, root, rounds, lambda e, h=hidden: self.claim_error(e, names, h)
                )

    def called(self, codes: frozenset[str]) -> None:
        """A kernel was called, and broke these laws."""
        outcome = self.outcome
        outcome.calls += 1
        outcome.raising += bool(codes)
        if self.current is None:
            return
        flagged = False
        for root, place, rounds in self.current.where():
            entries = self.watched.judged.get(place)
            if entries:
                self.compare(entries, root, rounds, lambda e: self.code_error(e, codes))
                told = [e for e in entries if _covers(e.rounds, rounds)]
                outcome.found += any(e.codes for e in told)
                flagged = flagged or any(e.codes for e in told)
        outcome.raising_and_flagged += bool(codes) and flagged

    def compare(
        self,
        entries: list[Any],
        root: Activation,
        rounds: Rounds,
        error_of: Callable[[Any], str],
    ) -> None:
        self.outcome.compared += 1
        exact = [e for e in entries if None not in e.rounds and _covers(e.rounds, rounds)]
        errors = [error_of(entry) for entry in exact]
        if errors and all(errors):
            self.report(errors[0], root)
        for entry in entries:
            if None in entry.rounds and _covers(entry.rounds, rounds):
                key = (entry, root)
                if key not in self.once:
                    self.once[key] = error_of(entry)
                elif self.once[key] and not error_of(entry):
                    self.once[key] = ""

    def claim_error(self, entry: Claimed, names: dict[str, Any], hidden: frozenset[str]) -> str:
        """What is wrong with the claims. hidden: names of functions around, which are not those of the module."""
        at = Assignment()
        for name, claim in entry.names.items():
            if name in names:
                actual = names[name]
            elif name in self.scope and name not in hidden:
                actual = self.scope[name]
            else:
                continue
            try:
                check(claim, actual, at, self.outcome.claims)
            except Mismatch as error:
                return f"{name}: {error}"
        return ""

    def code_error(self, entry: Judged, codes: frozenset[str]) -> str:
        self.outcome.other_code += bool(codes and entry.codes - codes)
        return f"flagged {sorted(entry.codes)}, and runs clean" if entry.codes and not codes else ""

    def report(self, error: str, root: Activation) -> None:
        lines = [f"from line {root.function}"]
        here = self.current
        while here is not None:
            lines.append(f"line {here.line}: {self.text[here.line - 1].strip()}")
            here = here.caller
        self.outcome.problems.append(f"{error} ({', '.join(lines)})")

    # running

    def load(self) -> dict[str, Any]:
        """Run the module; the names that it binds."""
        module = types.ModuleType(MODULE)
        self.scope = module.__dict__
        self.scope["__watch__"] = self
        sys.modules[MODULE] = module
        with self.one_run():
            self.enter(0)
            self.scope["__here__"] = self.current
            exec(self.code, self.scope)
        return self.scope

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Run one function."""
        with self.one_run():
            function(*args)

    @contextmanager
    def one_run(self) -> Iterator[None]:
        self.steps, self.current = 0, None
        self.outcome.runs += 1
        try:
            yield
            self.outcome.finished += 1
        except (Exception, EndOfRun):
            pass
        finally:
            self.current = None
        for (_, root), error in self.once.items():
            if error:
                self.report(f"never so: {error}", root)
        self.once.clear()


def _enclosing(node: ast.AST, around: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
    """For every function its line, and the names that the functions around it bind."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child.lineno, around
            bound = {
                n.id if isinstance(n, ast.Name) else n.arg
                for n in ast.walk(child)
                if isinstance(n, ast.arg)
                or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            }
            yield from _enclosing(child, around | bound)
        else:
            yield from _enclosing(child, around)


def _covers(claimed: Rounds, actual: Rounds) -> bool:
    return len(claimed) == len(actual) and all(
        one in (None, ANY, other) for one, other in zip(claimed, actual, strict=True)
    )


class _Instrument:
    """Makes a program tell where it is."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.within: list[int] = []
        self.silent = False

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            line = statement.lineno
            self.runner.around[line] = tuple(self.within)
            if not self.silent and not _is_first(statement):
                names = _located(ast.Call(_name("locals", line), [], []), line)
                made.append(_tell("__here__", "at", line, [_number(line), names]))
            self.inside(statement)
            if isinstance(statement, ast.For | ast.While):
                self.runner.loops.add(line)
            made.append(statement)
        return made

    def inside(self, node: ast.stmt) -> None:
        line = node.lineno
        match node:
            case ast.FunctionDef():
                within, self.within = self.within, []
                silent, self.silent = self.silent, False
                body = self.block(node.body)
                self.within, self.silent = within, silent
                first = [s for s in body if _is_first(s)]
                rest = [s for s in body if not _is_first(s)]
                if _is_generator(node):
                    node.body = [*first, _begin("apart", line), *rest]
                else:
                    here = _name("__here__", line)
                    end = _tell("__watch__", "leave", line, [here])
                    watched = _located(ast.Try(rest, [], [], [end]), line)
                    node.body = [*first, _begin("enter", line), watched]
            case ast.ClassDef():
                within, self.within = self.within, []
                silent, self.silent = self.silent, True
                node.body = self.block(node.body)
                self.within, self.silent = within, silent
            case ast.For() | ast.While():
                self.within.append(line)
                body = self.block(node.body)
                self.within.pop()
                node.body = [_tell("__here__", "round", line, [_number(line)]), *body]
                node.orelse = self.block(node.orelse)
            case ast.Match():
                for case in node.cases:
                    case.body = self.block(case.body)
            case _:
                for name in ("body", "orelse", "finalbody"):
                    if getattr(node, name, None):
                        setattr(node, name, self.block(getattr(node, name)))
                for handler in getattr(node, "handlers", ()):
                    handler.body = self.block(handler.body)


Node = TypeVar("Node", bound=ast.AST)


def _located(node: Node, line: int) -> Node:
    node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
    node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    return node


def _name(name: str, line: int) -> ast.expr:
    return _located(ast.Name(name, ast.Load()), line)


def _number(line: int) -> ast.expr:
    return _located(ast.Constant(line), line)


def _call(owner: str, method: str, line: int, arguments: list[ast.expr]) -> ast.expr:
    function = _located(ast.Attribute(_name(owner, line), method, ast.Load()), line)
    return _located(ast.Call(function, arguments, []), line)


def _tell(owner: str, method: str, line: int, arguments: list[ast.expr]) -> ast.stmt:
    return _located(ast.Expr(_call(owner, method, line, arguments)), line)


def _begin(method: str, line: int) -> ast.stmt:
    """`__here__ = __watch__.enter(line)`"""
    here = _located(ast.Name("__here__", ast.Store()), line)
    return _located(ast.Assign([here], _call("__watch__", method, line, [_number(line)])), line)


def _is_first(statement: ast.stmt) -> bool:
    """What has to stand before everything else."""
    return isinstance(statement, ast.Global | ast.Nonlocal)


def _is_generator(node: ast.FunctionDef) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(current, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(current))
    return False
