"""Which files are checked."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from kdacheck.config import Configuration, Overrides
from kdacheck.discovery import discover
from kdacheck.report import FORMATS

pytestmark = pytest.mark.usefixtures("project")


def found(*paths: str, **overrides) -> list[str]:
    errors: list[str] = []
    configuration = Configuration(Overrides(**overrides))
    files = [path for path, _ in discover(paths or ["."], configuration, errors)]
    assert errors == []
    assert len(files) == len(set(files))
    return sorted(path.replace(os.sep, "/") for path in files)


def tree(*names: str) -> None:
    for name in names:
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_python_files_only():
    tree("a.py", "b.pyi", "c.pyw", "d.txt", "e.pyc", "f/g.py", "Makefile", ".hidden/h.py")
    assert found() == [".hidden/h.py", "a.py", "b.pyi", "c.pyw", "f/g.py"]


def test_the_usual_folders_are_left_out():
    tree(".venv/a.py", "build/b.py", "x/node_modules/c.py", ".git/d.py", "x/dist/e.py", "f.py")
    tree("lib/site-packages/g.py")
    assert found() == ["f.py"]
    assert found("build") == ["build/b.py"], "a folder asked for is checked"
    assert found("lib/site-packages") == ["lib/site-packages/g.py"]
    assert found(exclude=("f.py",)) == [
        ".git/d.py",
        ".venv/a.py",
        "build/b.py",
        "lib/site-packages/g.py",
        "x/dist/e.py",
        "x/node_modules/c.py",
    ]
    assert found(extend_exclude=("f.py",)) == []


def test_patterns_of_exclude():
    tree("a/gen_x.py", "a/x.py", "b/gen_x.py", "b/deep/y.py", "gen/z.py")
    assert found(exclude=("gen_*.py",)) == ["a/x.py", "b/deep/y.py", "gen/z.py"]
    assert found(exclude=("a/*.py", "deep/", "gen")) == ["b/gen_x.py"]
    assert found(exclude=("*", "!b", "!b/gen_x.py")) == ["b/gen_x.py"]
    assert found("a", extend_exclude=("a/gen*",)) == ["a/x.py"]


def test_named_files_are_always_taken_unless_told_otherwise():
    tree("build/a.py", "script", "notes.txt")
    assert found("build/a.py", "script") == ["build/a.py", "script"]
    assert found("build/a.py", "script", force_exclude=True) == ["script"]
    assert found("build", force_exclude=True) == []


def test_nothing_is_taken_twice():
    tree("a/b.py")
    assert found("a", ".", "a/b.py", "./a/../a/b.py") == ["a/b.py"]
    assert found(str(pathlib.Path("a").absolute()), "a") == [
        str(pathlib.Path("a/b.py").absolute()).replace(os.sep, "/")
    ]


@pytest.mark.parametrize("repository", [True, False])
def test_gitignore(repository):
    if repository:
        subprocess.run(["git", "init", "-q", "."], check=True)
        pathlib.Path(".git/info").mkdir(exist_ok=True)
        pathlib.Path(".git/info/exclude").write_text("private_*.py\n")
    tree("a.py", "out/b.py", "gen/c.py", "gen/keep.py", "pkg/d.py", "pkg/out/e.py", "pkg/x/f.py")
    tree("private_g.py", "pkg/private_h.py")
    pathlib.Path(".gitignore").write_text("# generated\n/out/\n\ngen/*\n!gen/keep.py\n*_h.py\n")
    pathlib.Path("pkg/.gitignore").write_text("x\n!private_h.py\n")
    expected = ["a.py", "gen/keep.py", "pkg/d.py", "pkg/out/e.py", "pkg/private_h.py"]
    expected += [] if repository else ["private_g.py"]
    assert found() == sorted(expected)
    assert "out/b.py" in found(respect_gitignore=False)
    assert found("out/b.py") == ["out/b.py"], "a file asked for is checked"
    assert found("out") == ["out/b.py"], "a folder asked for is checked"
    if repository:
        ignored = subprocess.run(
            ["git", "ls-files", "--others", "--exclude-standard", "*.py"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert found() == sorted(ignored.stdout.split())


def test_a_part_of_a_repository_obeys_the_whole(monkeypatch):
    subprocess.run(["git", "init", "-q", "."], check=True)
    tree("src/pkg/a.py", "src/pkg/b_gen.py", "src/gen/c.py")
    pathlib.Path(".gitignore").write_text("*_gen.py\n/src/gen/\n")
    assert found("src") == ["src/pkg/a.py"]
    assert found("src/pkg") == ["src/pkg/a.py"]
    monkeypatch.chdir("src")
    assert found() == ["pkg/a.py"]
    assert found("..") == ["../src/pkg/a.py"]


def test_a_folder_called_like_a_file(kdacheck, write, wrong):
    write("x.py/inner.py", wrong)
    assert found() == ["x.py/inner.py"]
    assert found("x.py") == ["x.py/inner.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links():
    tree("a.py", "folder/b.py")
    os.symlink(".", "loop")
    os.symlink("folder", "folder/again")
    os.symlink("a.py", "same.py")
    os.symlink("../..", "folder/up.py")
    outside = pathlib.Path("..") / "outside.py"
    outside.touch()
    os.symlink(outside, "linked.py")
    os.symlink("nobody", ".#lock.py")
    assert found() == ["a.py", "folder/b.py", "linked.py"]
    assert found("loop") == ["loop/a.py", "loop/folder/b.py", "loop/linked.py"]
    outside.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
def test_what_is_no_file_is_not_waited_for():
    tree("a.py")
    os.mkfifo("pipe.py")
    assert found() == ["a.py"]


def test_odd_names(kdacheck, write, wrong):
    names = ["with space.py", "ünïcode.py", "new\nline.py", "-dash.py", "[x].py"]
    for name in names:
        write(name, wrong)
    assert found() == sorted(names)
    for form in FORMATS:
        assert kdacheck("--output-format", form).status == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
def test_names_that_are_no_text(process, wrong):
    with open(b"\xff.py", "w") as file:
        file.write(wrong)
    for form in FORMATS:
        assert process("--output-format", form).status == 1
