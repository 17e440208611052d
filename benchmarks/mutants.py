"""How many faults planted in the rules and facts the fast tests notice.

    python benchmarks/mutants.py [--sample N] [--seed N] [--shard I/N] [--show] [--save]

One place of one module of `rules/` or `kdacheck/facts/` is changed at a time (a comparison, a condition, `and`/`or`, a number,
an operator, a returned value, a statement left out), and the tests of rules, facts and unification are run on it until
the first fails: first in a copy of a process that has collected them and ran them once, where the changed function takes
the place of the true one, then, if none failed, in a process of their own that imports the changed module. Tests that
noticed other changes of the module come first, then those named after its rule. EQUIVALENT lists changes that were
looked at and change nothing that anybody could see, each with the reason; they are left out of the rate. A run that is
interrupted prints what it has. The exit status is 1 where under 85 % are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import results  # noqa: E402

TESTS = ("tests/rules", "tests/facts", "tests/contracts/test_unification.py")
FOLDERS = (("rules", "kdacheck.rules"), ("kdacheck/facts", "kdacheck.facts"))
BAR = 0.85
#: Seconds of processor time and bytes over which a changed program counts as one that hangs, which is noticed as well.
SECONDS, BYTES = 60, 8 << 30

#: (module, text of the line, change) -> why nobody could see it.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "kdacheck.facts.dims",
        "lo, hi = part if coef > 0 else (part[1], part[0])",
        "comparison",
    ): "terms have no coefficient of 0",
    (
        "kdacheck.facts.dims",
        "corners = [x * y for x in a for y in b if x is not None and y is not None]",
        "and/or",
    ): "ranges with an open end were sent back before; the condition is there for the type checker",
    ("kdacheck.rules._judge", "return False", "return"): "whoever asks takes None for no",
    (
        "kdacheck.facts.dims",
        'parts.append(("-" if coef < 0 else "+" if parts else "") + text)',
        "number",
    ): "terms have no coefficient of 0",
    (
        "kdacheck.facts.tensors",
        "signs = {coef > 0 for _, coef in terms}",
        "comparison",
    ): "terms have no coefficient of 0",
    (
        "kdacheck.facts.dims",
        "if a == 0 or b == 0:",
        "and/or",
    ): "a shorter way to what the lines below compute",
    (
        "kdacheck.facts.dims",
        "if a == 1 or b == 1:",
        "and/or",
    ): "a shorter way to what the lines below compute",
    (
        "kdacheck.facts.dims",
        "at: Mapping[Symbol, int] = dict(zip(names, picks, strict=True))",
        "truth",
    ): "a pick has a number for each name",
    (
        "kdacheck.facts.tensors",
        "for size, stride in zip(reversed(shape), reversed(strides), strict=True):",
        "truth",
    ): "whoever asks has a stride for each size",
    (
        "kdacheck.rules._judge",
        "for size, stride in zip(shape, strides, strict=True)",
        "truth",
    ): "facts have a stride for each size",
    (
        "kdacheck.rules._reach",
        "code = size_code(call, SizeFault(name, axis, text, 1, 2, None))",
        "number",
    ): "which code a fault has is not asked of its sizes",
}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: the number of the node in its module, and what is done to it."""

    module: str
    path: pathlib.Path
    node: int
    line: int
    change: str

    @property
    def text(self) -> str:
        return self.path.read_text().splitlines()[self.line - 1].strip()

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.text, self.change


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """The changes that a node allows, each with its name."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield "comparison", lambda n: _with(n, ops=[_COMPARISONS[type(op)]()])
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", lambda n: _with(n, op=other)
        case ast.UnaryOp(op=ast.Not()):
            yield "not", lambda n: n.operand  # type: ignore[attr-defined]
        case ast.If() | ast.IfExp() | ast.While():
            yield "condition", lambda n: _with(n, test=_negated(n))
        case ast.Constant(value=value) if type(value) is int:
            yield "number", lambda n: _with(n, value=value + 1)
        case ast.Constant(value=value) if type(value) is bool:
            yield "truth", lambda n: _with(n, value=not value)
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            yield "operator", lambda n: _with(n, op=_OPERATORS[type(op)]())
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "return", lambda n: _with(n, value=ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign():
            yield "statement", lambda n: ast.Pass()
        case ast.Continue() | ast.Break():
            yield "statement", lambda n: ast.Pass()
        case _:
            pass


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _negated(node: ast.AST) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]


def _with(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of the functions of a module, annotations and decorators left out."""
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        if inside:
            yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            within = inside or (isinstance(node, ast.FunctionDef) and name == "body")
            parts = value if isinstance(value, list) else [value]
            stack.extend((part, within) for part in reversed(parts) if isinstance(part, ast.AST))


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, change: Callable[[ast.AST], ast.AST]) -> None:
        self.target, self.change = target, change

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.target:
            return ast.copy_location(self.change(node), node)
        return self.generic_visit(node)


def mutants() -> list[Mutant]:
    """Every change of every module."""
    found: list[Mutant] = []
    for folder, package in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.py")):
            name = package if path.stem == "__init__" else f"{package}.{path.stem}"
            for number, node in enumerate(_nodes(ast.parse(path.read_text()))):
                for change, _ in _changes(node):
                    line = getattr(node, "lineno", 1)
                    found.append(Mutant(name, path, number, line, change))
    return found


def changed(mutant: Mutant) -> ast.Module:
    """The module of a mutant."""
    tree = ast.parse(mutant.path.read_text())
    for number, node in enumerate(_nodes(tree)):
        if number == mutant.node:
            change = next(do for name, do in _changes(node) if name == mutant.change)
            _Replace(node, change).visit(tree)
            return ast.fix_missing_locations(tree)
    raise LookupError(mutant)


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module in its changed form."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.code = compile(changed(mutant), str(mutant.path), "exec")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        where = [str(self.mutant.path.parent)] if self.mutant.path.stem == "__init__" else None
        spec = importlib.util.spec_from_loader(fullname, self, is_package=where is not None)
        if spec is not None and where is not None:
            spec.submodule_search_locations = where
        return spec

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.mutant.path)
        exec(self.code, module.__dict__)


def run_tests(mutant: Mutant | None) -> bool:
    """Whether the tests pass, in a process of their own that imports everything anew."""
    return _forked(lambda: _run_anew(mutant))


def _run_anew(mutant: Mutant | None) -> bool:
    for name in [name for name in sys.modules if name.split(".")[0] == "kdacheck"]:
        del sys.modules[name]  # pytest has loaded the plugin of the package
    if mutant is not None:
        sys.meta_path.insert(0, _Importer(mutant))
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS]) == 0


def _forked(passes: Callable[[], bool]) -> bool:
    """Whether that holds in a copy of this process, which may neither hang nor print."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        code = 1
        with contextlib.suppress(BaseException):
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            code = 0 if passes() else 1
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


class Warm:
    """A process that has collected the tests and ran them once, and is copied for every mutant."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()
        self.passes: bool = self._here.recv()

    def notices(self, mutant: Mutant) -> bool:
        self._here.send(mutant)
        return self._here.recv()

    def close(self) -> None:
        self._here.send(None)
        self._process.join()


def _serve(there: Connection) -> None:
    arguments = ["-p", "no:cacheprovider", "-p", "no:terminal", "-s", *TESTS]
    pytest.main(arguments, plugins=[_Server(there)])


class _Server:
    """Runs the collected tests for each mutant that comes, instead of once."""

    def __init__(self, there: Connection) -> None:
        self.there = there
        self.noticed: dict[str, Counter[str]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.there.send(bool(session.items) and _run(session.items) is None)
        functions = _functions()
        while (mutant := self.there.recv()) is not None:
            self.there.send(self._notices(session.items, mutant, functions))
        return True

    def _notices(
        self,
        items: list[pytest.Item],
        mutant: Mutant,
        functions: dict[tuple[str, str, int], list[FunctionType]],
    ) -> bool:
        noticed = self.noticed.setdefault(mutant.module, Counter())
        folder = "tests/facts/" if ".facts." in mutant.module else "tests/rules/"
        rule = getattr(sys.modules[mutant.module], "RULE", None)
        own = folder if rule is None else rule.code
        order = sorted(items, key=lambda item: (-noticed[item.nodeid], own not in item.nodeid))
        reads, writes = os.pipe()

        def passes() -> bool:
            _put(mutant, functions)
            failed = _run(order)
            os.write(writes, (failed or "").encode())
            return failed is None

        noticed_it = not _forked(passes)
        os.close(writes)
        with os.fdopen(reads) as told:
            failed = told.read()
        if failed:
            noticed[failed] += 1
        return noticed_it


def _run(items: list[pytest.Item]) -> str | None:
    """The first test that fails."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        if item.session.testsfailed:
            return item.nodeid
    return None


def _functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    """The functions of the modules, by module, name and first line; those that decorators wrap among them."""
    packages = tuple(package for _, package in FOLDERS)
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and (item.__module__ or "").startswith(packages):
            key = item.__module__, item.__qualname__, item.__code__.co_firstlineno
            found.setdefault(key, []).append(item)
    return found


def _put(mutant: Mutant, functions: dict[tuple[str, str, int], list[FunctionType]]) -> None:
    """Let the functions of this process do what the mutant does."""
    for code in _codes(compile(changed(mutant), str(mutant.path), "exec")):
        for function in functions.get((mutant.module, code.co_qualname, code.co_firstlineno), ()):
            if function.__code__.co_freevars == code.co_freevars:
                function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


@dataclass
class Tally:
    """What came of the mutants that were run so far."""

    noticed: Counter[tuple[str, str]] = field(default_factory=Counter)
    total: Counter[tuple[str, str]] = field(default_factory=Counter)
    equivalent: int = 0
    left: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.noticed.total() / max(1, self.total.total())

    def add(self, mutant: Mutant, noticed: bool) -> None:
        key = str(mutant.path.parent.relative_to(ROOT)), mutant.change
        self.total[key] += 1
        if noticed:
            self.noticed[key] += 1
        else:
            where = mutant.path.relative_to(ROOT)
            self.left.append(f"{where}:{mutant.line}: {mutant.change}: {mutant.text}")

    def by(self, part: int) -> dict[str, tuple[int, int]]:
        """Noticed and run, by folder (0) or by change (1)."""
        names = Counter[str]()
        for key, count in self.total.items():
            names[key[part]] += count
        return {
            name: (sum(n for key, n in self.noticed.items() if key[part] == name), count)
            for name, count in names.most_common()
        }

    def figures(self) -> dict[str, Any]:
        return {
            "run": self.total.total(),
            "noticed": self.noticed.total(),
            "equivalent": self.equivalent,
            "folders": self.by(0),
            "changes": self.by(1),
            "left": self.left,
        }


def measure(chosen: Sequence[Mutant], warm: Warm, tally: Tally, show: bool) -> None:
    """Run the mutants; the tally holds what an interrupted run has."""
    start = time.perf_counter()
    for number, mutant in enumerate(chosen, 1):
        if mutant.key in EQUIVALENT:
            tally.equivalent += 1
        else:
            noticed = warm.notices(mutant) or not run_tests(mutant)
            tally.add(mutant, noticed)
            if show and not noticed:
                print(tally.left[-1], flush=True)
        if number % 50 == 0:
            spent = time.perf_counter() - start
            print(f"{number} of {len(chosen)}: {tally.rate:.1%}, {spent:.0f} s", flush=True)


def _shard(text: str) -> tuple[int, int]:
    number, _, shards = text.partition("/")
    if not 1 <= int(number) <= int(shards):
        raise argparse.ArgumentTypeError(f"{text}: the first shard of four is 1/4")
    return int(number), int(shards)


def main() -> int:
    """Run a sample of the mutants; 1 where too few are noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=400, help="0 runs them all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", type=_shard, default=(1, 1), help="this part of the sample")
    parser.add_argument("--show", action="store_true", help="print those that are not noticed")
    results.add_option(parser)
    options = parser.parse_args()
    os.chdir(ROOT)
    for number in (signal.SIGINT, signal.SIGTERM):  # a run in the background ignores the first
        signal.signal(number, signal.default_int_handler)
    every = mutants()
    size = min(options.sample or len(every), len(every))
    number, shards = options.shard
    chosen = random.Random(options.seed).sample(every, size)[number - 1 :: shards]
    tally = Tally()
    start = time.perf_counter()
    try:
        warm = Warm()
        if not warm.passes or not run_tests(None):
            print("the tests fail as it is")
            return 2
        start = time.perf_counter()
        measure(chosen, warm, tally, options.show)
        warm.close()
    except KeyboardInterrupt:
        print("interrupted")
    seconds = time.perf_counter() - start
    print(
        f"\n`{results.command()}`: {len(every)} mutants, {len(chosen)} sampled, {tally.equivalent} equivalent, "
        f"{tally.noticed.total()} of {tally.total.total()} noticed ({tally.rate:.1%}), {seconds:.0f} s"
    )
    for title, rows in (("folder", tally.by(0)), ("change", tally.by(1))):
        print(f"\n| {title} | noticed | of |\n|---|---:|---:|")
        for name, (noticed, count) in rows.items():
            print(f"| {name} | {noticed} | {count} |")
    if options.save:
        results.save("mutants", {"every": len(every), "seconds": seconds, **tally.figures()})
    return 0 if tally.rate >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
