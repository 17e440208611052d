"""What the interpreter claims before every statement of a program, and what the rules make of every call.

A place is told by the lines of the calls that lead to it, and in every function on that path by the number of the
round of each loop around: None where the interpreter speaks of the first time only, ANY where of every time.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest import mock

import libcst as cst

from kdacheck.facts import TensorFacts
from kdacheck.source import findings, judge, statements
from kdacheck.source.analyse import examine
from kdacheck.source.frames import Frame, Loop
from kdacheck.source.interpreter import Interpreter
from kdacheck.source.judge import Found
from kdacheck.source.module import blocks, suite
from kdacheck.source.objects import Instance
from kdacheck.source.run import Run
from kdacheck.source.state import State
from kdacheck.source.values import AnyOf, Code, Items, Repeated, Table, Unknown, Value
from tests.programs.claims import Thing

#: (line of the function that is interpreted on its own, lines of the calls on the way, line of the statement)
Place = tuple[int, ...]
#: The numbers of the iterations of the loops around, of all functions on the way.
Rounds = tuple["int | None", ...]
ANY = -1


@dataclass(eq=False)
class Claimed:
    """The values of names before one statement."""

    rounds: Rounds
    names: dict[str, Value | Thing]


@dataclass(eq=False)
class Judged:
    """What the rules found in one call."""

    rounds: Rounds
    found: list[Found]
    codes: frozenset[str] = frozenset()


@dataclass
class Watched:
    """Everything that was claimed of a program."""

    claimed: dict[Place, list[Claimed]] = field(default_factory=dict)
    judged: dict[Place, list[Judged]] = field(default_factory=dict)


def watch(text: str, tree: ast.Module) -> Watched:
    """Lint a program. tree: the same as `ast` has it."""
    watcher = _Watcher(tree)
    with watcher.installed():
        runs: list[Run] = []
        examine("program.py", text.encode(), {}, seen=runs)
    for run in runs:
        (interpreter,) = run.interpreters.values()
        to_fail = interpreter.called_to_fail - interpreter.called
        told = {id(f) for f in run.found if f.root not in to_fail and not f.violation.likely}
        for calls in watcher.watched.judged.values():
            for call in calls:
                kept = (f for f in call.found if id(f) in told and f.rule.runtime != "-")
                call.codes = frozenset(f.rule.code for f in kept)
    return watcher.watched


def statement_lines(tree: ast.Module) -> Iterator[int]:
    """The lines of all statements in the order they are written, those of nested blocks included."""

    def walk(body: list[ast.stmt]) -> Iterator[int]:
        for statement in body:
            yield statement.lineno
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                for part in getattr(statement, name, ()):
                    if isinstance(part, ast.ExceptHandler | ast.match_case):
                        yield from walk(part.body)
                    else:
                        yield from walk([part])

    return walk(tree.body)


def _statements(body: Any) -> Iterator[cst.CSTNode]:
    for statement in body:
        yield statement
        match statement:
            case cst.FunctionDef() | cst.ClassDef():
                yield from _statements(suite(statement.body))
            case _:
                for block in blocks(statement):
                    yield from _statements(block)


@dataclass(eq=False)
class _Mark:
    """Where a frame of the interpreter is."""

    line: int = 0
    rounds: list[int | None] = field(default_factory=list)


class _Watcher:
    def __init__(self, tree: ast.Module) -> None:
        self.numbers = list(statement_lines(tree))
        self.watched = Watched()
        self.lines: dict[cst.CSTNode, int] = {}
        self.marks: dict[Frame, _Mark] = {}
        self.counts: dict[FrameType, int] = {}
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    @contextmanager
    def installed(self) -> Iterator[None]:
        run, report = statements.run, judge._report  # pyright: ignore[reportPrivateUsage]

        def running(interp: Interpreter, statement: cst.CSTNode, state: State) -> State | None:
            self.before(interp, statement, state)
            return run(interp, statement, state)

        def reporting(interp: Interpreter, *args: Any) -> None:
            known = {id(f) for f in interp.run.found}
            report(interp, *args)
            place = self.place(interp)
            if place is not None:
                new = [f for f in interp.run.found if id(f) not in known]
                self.watched.judged.setdefault(place[0], []).append(Judged(place[1], new))

        def looping(interp: Interpreter) -> AbstractContextManager[Loop]:
            return self.round(interp, sys._getframe(1))

        with (
            mock.patch.object(statements, "run", running),
            mock.patch.object(judge, "_report", reporting),
            mock.patch.object(Interpreter, "loop", looping),
            mock.patch.object(findings, "findings_of", return_value=()),
        ):
            yield

    def before(self, interp: Interpreter, statement: cst.CSTNode, state: State) -> None:
        frame = interp.frame
        if not self.lines:
            nodes = _statements(interp.module.body)
            self.lines = dict(zip(nodes, self.numbers, strict=True))
        self.mark(frame).line = self.lines.get(statement, 0)
        if interp.run.silence or state.muted or not _is_watched(frame):
            return
        if interp.run.first_rounds and not state.certain:
            return
        place = self.place(interp)
        if place is not None:
            names = self.claims(interp, state)
            self.watched.claimed.setdefault(place[0], []).append(Claimed(place[1], names))

    def mark(self, frame: Frame) -> _Mark:
        return self.marks.setdefault(frame, _Mark())

    def place(self, interp: Interpreter) -> tuple[Place, Rounds] | None:
        """Where the interpreter is, from the function on that it took on its own."""
        frames = [frame for frame in interp.run.frames if _is_watched(frame)]
        if interp.root is not None:
            at = [i for i, frame in enumerate(frames) if frame.definition is interp.root]
            if not at:
                return None
            frames = frames[at[-1] :]
        first = frames[0].definition
        start = 0 if first is None else self.lines[first.node]
        marks = [self.mark(frame) for frame in frames]
        rounds = tuple(number for mark in marks for number in mark.rounds)
        return (start, *(mark.line for mark in marks)), rounds

    @contextmanager
    def round(self, interp: Interpreter, caller: FrameType) -> Iterator[Loop]:
        frame = interp.frame
        number = ANY if caller.f_code.co_name == "_any_round" else None
        if caller.f_code.co_name == "_for":
            number = self.counts[caller] = self.counts.get(caller, -1) + 1
        loop = Loop()
        frame.loops.append(loop)
        self.mark(frame).rounds.append(number)
        try:
            yield loop
        finally:
            frame.loops.pop()
            self.mark(frame).rounds.pop()

    def claims(self, interp: Interpreter, state: State) -> dict[str, Value | Thing]:
        found: dict[str, Value | Thing] = {}
        for name in self.names:
            value = interp.lookup(name, state)
            if not isinstance(value, Unknown) or value.not_none:
                found[name] = self.frozen(interp, value, state)
        return found

    def frozen(self, interp: Interpreter, value: Value, state: State) -> Value | Thing:
        """A value as it is known now."""
        match value:
            case Code(kind="instance", target=Instance(cls=cls, exact=exact, uid=uid)):
                held = {
                    key[1]: state.resolve(item)
                    for key, item in state.names.items()
                    if isinstance(key, tuple) and key[0] == uid
                }
                return Thing(cls.definition.name, exact, held)
            case TensorFacts():
                facts = interp.tensor_of(value, state)
                return state.resolve_facts(facts or value)
            case Items(items, kind):
                return Items(tuple(self.frozen(interp, v, state) for v in items), kind)  # type: ignore[misc]
            case AnyOf(values):
                return AnyOf(tuple(self.frozen(interp, v, state) for v in values))  # type: ignore[misc]
            case Table(entries, opened, maybe):
                return Table(
                    {k: self.frozen(interp, v, state) for k, v in entries.items()},  # type: ignore[misc]
                    opened,
                    {k: self.frozen(interp, v, state) for k, v in maybe.items()},  # type: ignore[misc]
                )
            case Repeated(element, kind, since):
                return Repeated(self.frozen(interp, element, state), kind, since)  # type: ignore[arg-type]
            case _:
                return state.resolve(value)


def _is_watched(frame: Frame) -> bool:
    """Whether a frame is one that a run has as well: not a class body, nor a lambda."""
    return frame.definition is not None or frame.name == "<module>"
