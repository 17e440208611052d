"""Clones of this repository for tests that build it, release it or install hooks from it."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]


def git(*arguments: str | pathlib.Path, cwd: pathlib.Path) -> str:
    """The output of a git command that must work, run under a name that the machine need not know."""
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def clone(target: pathlib.Path, *options: str) -> pathlib.Path:
    """A clone with the state of the working tree in its last commit; skips the test outside a git checkout."""
    listed = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    git("clone", "-q", *options, ROOT, target, cwd=ROOT)
    git("config", "user.name", "t", cwd=target)
    git("config", "user.email", "t@example.invalid", cwd=target)
    changed = git("diff", "--name-only", "--no-renames", "HEAD", cwd=ROOT).splitlines()
    added = git("ls-files", "-o", "--exclude-standard", cwd=ROOT).splitlines()
    for name in (*changed, *added):
        source, copy = ROOT / name, target / name
        if source.is_symlink():
            continue
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
        elif not source.exists():
            copy.unlink(missing_ok=True)
    git("add", "-A", cwd=target)
    git("commit", "-q", "--allow-empty", "--no-verify", "-m", "state", cwd=target)
    return target
