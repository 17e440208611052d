"""What tests of the command share: a project on disk, and the command run in it."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kdacheck.cli import main

WRONG = """\
import torch
from fla.ops.kda import chunk_kda


def run(g, beta):
    q = torch.randn(2, 128, 8, 64)
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
"""
RIGHT = WRONG.replace("(2, 128, 8, 64)", "(1, 256, 8, 64)")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts its background jobs like that, and what tests start would never be interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Ran:
    """What came of one run of the command."""

    status: int
    out: str
    err: str


@pytest.fixture
def wrong() -> str:
    """A file with one KDA001, at row 7, column 22."""
    return WRONG


@pytest.fixture
def right() -> str:
    return RIGHT


@pytest.fixture
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def kdacheck(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """The command in this process, in the current folder."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        status = main(arguments)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Ran(status, out, err)

    return run


@pytest.fixture
def unmeasured() -> dict[str, str]:
    """The environment for a process that coverage is to leave alone."""
    return {k: v for k, v in os.environ.items() if not k.startswith("COV")}


@pytest.fixture
def process() -> Callable[..., Ran]:
    """The command in a process of its own."""

    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "kdacheck", *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=120,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err
        return Ran(done.returncode, out, err)

    return run


@pytest.fixture
def write(project: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes a file of the project, with the folders it needs."""

    def write(name: str, text: str | bytes) -> pathlib.Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write
