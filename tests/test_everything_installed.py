"""Whatever Python is installed here is linted without a crash, in bounded time."""

from __future__ import annotations

import ast
import pathlib
import random
import sysconfig
import time

import pytest

from kdacheck.linter import lint
from kdacheck.source import select
from kdacheck.source.findings import findings_of
from kdacheck.source.interpreter import Interpreter
from kdacheck.source.reading import parse
from kdacheck.source.roots import run_root
from kdacheck.source.run import Run
from kdacheck.source.text import Unreadable, decode

PATHS = sysconfig.get_paths()
STDLIB = pathlib.Path(PATHS["stdlib"])
SITE = pathlib.Path(PATHS["purelib"])

#: Trees whose files are interpreted as if every function called a kernel.
SAMPLED = {"stdlib": (STDLIB, 70), "torch": (SITE / "torch", 70), "fla": (SITE / "fla", 30)}

#: Files larger than this say nothing more about the interpreter, and cost much time.
MAX_BYTES = 60_000


def test_everything_installed_is_linted() -> None:
    started = time.monotonic()
    result = lint([str(STDLIB), str(SITE)])
    assert result.errors == []
    assert result.files > 500
    assert time.monotonic() - started < 60


def sample(root: pathlib.Path, count: int) -> list[pathlib.Path]:
    files = sorted(
        p for p in root.rglob("*.py") if "site-packages" not in p.parts or root != STDLIB
    )
    small = [p for p in files if p.stat().st_size <= MAX_BYTES]
    return random.Random(0).sample(small, min(count, len(small)))


def interpret_all(path: pathlib.Path) -> bool:
    """Interpret every function of a file, whatever it calls; False for a file that Python does not read."""
    try:
        text = decode(path.read_bytes())
        tree = ast.parse(text)
        outliner = select.outline(tree, "module")
        count = sum(1 for _ in select.definitions_in_order(tree))
        whole = select.Outline(frozenset(range(count + 1)), outliner.changes)
        module, relevant = parse(str(path), text, "module", whole)
    except (SyntaxError, ValueError, Unreadable):
        return False
    interpreter = Interpreter(module, {}, relevant, Run())
    interpreter.run_module()
    for definition in module.definitions:
        if not definition.is_class and (definition.owner is None or definition.owner.is_class):
            run_root(interpreter, definition, {})
    list(findings_of(interpreter))
    return True


@pytest.mark.parametrize("tree", SAMPLED)
def test_every_function_of_a_sample_is_interpreted(tree: str) -> None:
    root, count = SAMPLED[tree]
    if not root.is_dir():
        pytest.skip(f"{tree} is not installed")
    started = time.monotonic()
    read = [path for path in sample(root, count) if interpret_all(path)]
    assert len(read) > count * 0.8
    assert time.monotonic() - started < 60
