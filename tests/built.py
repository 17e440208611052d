"""The sdist and the wheel, made once for all tests of a run, and environments to install them in."""

from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.clones import clone, git

ROOT = pathlib.Path(__file__).parents[1]


def once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[pathlib.Path], object]
) -> pathlib.Path:
    """A folder that the first test to ask for it fills, in whichever process of the run."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    place, part = base / name, base / f"{name}.part"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(place)
    return place


def distributions(factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with what the release command makes of the working tree's state: an sdist and a wheel."""
    pytest.importorskip("build")

    def make(folder: pathlib.Path) -> None:
        build(clone(folder / "clone"), folder)

    return once(factory, "distributions", make)


def distributions_elsewhere(factory: pytest.TempPathFactory) -> pathlib.Path:
    """The same of the same commit in another folder, without links, as git leaves them where it may not make any."""
    first = distributions(factory)

    def make(folder: pathlib.Path) -> None:
        second = folder / "clone"
        git("clone", "-q", "-c", "core.symlinks=false", first / "clone", second, cwd=folder)
        for path in second.rglob("*.py"):
            path.chmod(0o600)
            os.utime(path, (1_000_000_000, 1_000_000_000))
        git("config", "core.fileMode", "false", cwd=second)
        build(second, folder)

    return once(factory, "distributions-elsewhere", make)


def build(source: pathlib.Path, folder: pathlib.Path) -> None:
    """Run the release command of a clone."""
    done = subprocess.run(
        [sys.executable, source / ".ci" / "release.py", "build", folder],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def install(python: pathlib.Path, *arguments: str | pathlib.Path) -> None:
    """Install with this environment's pip into another one; skips the test where packages cannot be fetched."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "-q",
            "--no-compile",
            *arguments,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    unreachable(done)
    assert done.returncode == 0, done.stderr


def unreachable(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test where pip could not reach its index."""
    if "Connection" in done.stderr or "NameResolution" in done.stderr:
        pytest.skip("the package index cannot be reached")


def environment(python: str | pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The interpreter of a new empty environment."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    return folder / "bin" / "python"
