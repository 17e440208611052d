"""How many faults planted in the rules and facts the fast tests notice.

    python benchmarks/mutants.py [--sample N] [--seed N] [--show]

One place of one module of `rules/` or `kdacheck/facts/` is changed at a time (a comparison, a condition, `and`/`or`, a number,
an operator, a returned value, a statement left out), and the tests of rules, facts and unification are run on it in a
process of their own until the first fails. EQUIVALENT lists changes that were looked at and change nothing that anybody
could see, each with the reason; they are left out of the rate. The exit status is 1 where under 85 % are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pathlib
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import pytest

ROOT = pathlib.Path(__file__).parents[1]
TESTS = ("tests/rules", "tests/facts", "tests/contracts/test_unification.py")
FOLDERS = (("rules", "kdacheck.rules"), ("kdacheck/facts", "kdacheck.facts"))
BAR = 0.85
#: Seconds after which a changed program counts as one that hangs, which is noticed as well.
LIMIT = 120

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
    """Whether the tests pass, in a process of their own."""
    child = os.fork()
    if not child:
        signal.alarm(LIMIT)
        code = 1
        with contextlib.suppress(BaseException):
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            if mutant is not None:
                sys.meta_path.insert(0, _Importer(mutant))
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS]))
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def main() -> int:
    """Run a sample of the mutants; 1 where too few are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print those that are not noticed")
    options = parser.parse_args()
    os.chdir(ROOT)
    loaded = [name for name in sys.modules if name.split(".")[0] == "kdacheck"]
    for name in loaded:  # pytest has loaded the plugin of the package
        del sys.modules[name]
    if not run_tests(None):
        print("the tests fail as it is")
        return 2
    every = mutants()
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    start = time.perf_counter()
    killed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    equivalent = 0
    for mutant in chosen:
        if mutant.key in EQUIVALENT:
            equivalent += 1
            continue
        total[mutant.change] += 1
        if not run_tests(mutant):
            killed[mutant.change] += 1
        elif options.show:
            where = mutant.path.relative_to(ROOT)
            print(f"{where}:{mutant.line}: {mutant.change}: {mutant.text}", flush=True)
    seconds = time.perf_counter() - start
    rate = killed.total() / max(1, total.total())
    print(
        f"\n`python {' '.join(sys.argv)}`: {len(every)} mutants, {len(chosen)} sampled, "
        f"{equivalent} equivalent, {killed.total()} of {total.total()} noticed ({rate:.1%}), {seconds:.0f} s\n"
    )
    print("| change | noticed | of |\n|---|---:|---:|")
    for change, count in total.most_common():
        print(f"| {change} | {killed[change]} | {count} |")
    return 0 if rate >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
