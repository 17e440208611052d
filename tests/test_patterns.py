"""Patterns mean what they mean to git."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kdacheck.config import Configuration, Overrides
from kdacheck.discovery import discover
from kdacheck.patterns import Patterns

NAMES = ["a.py", "b.py", "ab.py", "#.py", "!.py", "a b.py", "[x].py", "x/a.py", "x/b.py"]
NAMES += ["x/y/a.py", "x/y/b.py", "x/y/z/ab.py", "y/a.py", "y/x/b.py", "xy/a.py", "xy/y/ab.py"]
PIECES = ["a", "b", "x", "y", "z", "xy", "*", "**", "?", "/", ".py", "[ab]", "[!a]", "[x-z]"]
PIECES += ["[", "]", "\\", "\\*", "[^/]", "#", "!", " ", "-", "[]]", "[!]x]", "[a", "[\\]]", "[a-]"]
LINES = st.builds(
    lambda bang, pieces, slash: bang + "".join(pieces) + slash,
    st.sampled_from(["", "", "", "!"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    st.sampled_from(["", "", "/"]),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    before = os.getcwd()
    os.chdir(root)
    yield root
    os.chdir(before)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=4), st.lists(LINES, max_size=2))
@example(["*", "!x", "!x/a.py"], [])
@example(["*", "!*/", "!*.py"], [])
@example(["x/**", "!x/y/"], ["!a.py"])
@example(["**/y/", "x/**/ab.py"], [])
@example(["x", "!x/a.py"], [])
@example(["\\!.py", "\\#.py", "a b.py  "], [])
@example(["*.py\r"], ["!b.py\r"])
def test_git_agrees(repository: pathlib.Path, lines: list[str], nested: list[str]):
    (repository / ".gitignore").write_bytes("\n".join(lines).encode())
    (repository / "x" / ".gitignore").write_bytes("\n".join(nested).encode())
    errors: list[str] = []
    configuration = Configuration(Overrides(isolated=True))
    found = {path.replace(os.sep, "/") for path, _ in discover(["."], configuration, errors)}
    listed = subprocess.run(
        ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    )
    names = {name for name in listed.stdout.decode().split("\0") if name.endswith(".py")}
    assert (found, errors) == (names, [])


def test_covers_asks_the_folders_above():
    patterns = Patterns(["out/", "!out/keep.py", "/gen/*.py"])
    assert patterns.covers("out/keep.py"), "what is in an ignored folder stays ignored"
    assert patterns.covers("a/out/b/c.py")
    assert patterns.covers("a/out/")
    assert not patterns.covers("out")
    assert patterns.covers("gen/a.py")
    assert not patterns.covers("a/gen/a.py")
