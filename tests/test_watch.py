"""`kdacheck --watch` as a user runs it: files change, and it looks again."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

PATIENCE = 60.0


class Watcher:
    """A running `kdacheck --watch`, and all that it has said so far on both streams."""

    def __init__(self, *options: str, terminal: int | None = None) -> None:
        self.said = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kdacheck", "--watch", "--no-color", *options],
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm", "PYTHONUNBUFFERED": "1"},
        )
        self.source = terminal

    def listen(self, descriptor: int) -> None:
        def take() -> None:
            while True:
                try:
                    data = os.read(descriptor, 1 << 16)
                except OSError:
                    return
                if not data:
                    return
                self.said += data.decode()

        threading.Thread(target=take, daemon=True).start()

    def wait(self, text: str) -> str:
        """Wait until it has said something, and give what it said up to there, to be heard no more."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)
        end = self.said.index(text) + len(text)
        heard, self.said = self.said[:end], self.said[end:]
        return heard

    def look(self) -> str:
        """What the next look found."""
        return self.wait("watching for changes, until interrupted\n")

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def watch(project: pathlib.Path) -> Iterator[Callable[..., Watcher]]:
    started: list[Watcher] = []

    def watch(*options: str) -> Watcher:
        watcher = Watcher(*options)
        assert watcher.process.stdout is not None
        watcher.listen(watcher.process.stdout.fileno())
        started.append(watcher)
        return watcher

    yield watch
    for watcher in started:
        watcher.process.kill()
        watcher.process.wait()
        if watcher.process.stdout is not None:
            watcher.process.stdout.close()


def test_a_file_that_changes_is_looked_at_again(watch, write, wrong, right) -> None:
    write("model.py", wrong)
    watcher = watch()
    assert "KDA001 unflattened-batch" in watcher.look()
    write("model.py", right)
    heard = watcher.look()
    assert heard.startswith("kdacheck: model.py changed\n")
    assert "No broken call found" in heard
    write("other.py", wrong)
    assert "--> other.py:7:22" in watcher.look()
    (pathlib.Path("other.py")).unlink()
    assert "No broken call found (1 file checked)" in watcher.look()
    assert watcher.interrupt() == 0
    assert "Traceback" not in watcher.said
    assert "\x1b" not in watcher.said


def test_files_that_a_finding_depends_on_are_watched_wherever_they_are(watch, write, wrong) -> None:
    write("pkg/__init__.py", "")
    write("pkg/helper.py", "import torch\n\ndef made():\n    return torch.randn(1, 256, 8, 64)\n")
    write(
        "pkg/sub/__init__.py",
        wrong.replace("q = torch.randn(2, 128, 8, 64)", "q = made()").replace(
            "import torch", "import torch\nfrom pkg.helper import made", 1
        ),
    )
    watcher = watch("pkg/sub")
    assert "No broken call found" in watcher.look()
    write("pkg/helper.py", "import torch\n\ndef made():\n    return torch.randn(3, 256, 8, 64)\n")
    heard = watcher.look()
    assert heard.startswith("kdacheck: pkg/helper.py changed\n")
    assert "KDA001 unflattened-batch" in heard
    assert watcher.interrupt() == 0


def test_settings_may_come_change_and_break(watch, write, wrong) -> None:
    write("model.py", wrong)
    watcher = watch("-q", "--output-format", "concise")
    assert "KDA001" in watcher.look()
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["KDA0"]\n')
    assert "KDA001" not in watcher.look()
    write("pyproject.toml", "[tool.kdacheck]\nignore = 1\n")
    assert "must be an array of strings" in watcher.look()
    write("pyproject.toml", "")
    assert "KDA001" in watcher.look()
    assert watcher.interrupt() == 0


def test_fixes_are_written_as_files_change(watch, write, wrong) -> None:
    write("model.py", "")
    watcher = watch("--fix", "--unsafe-fixes")
    watcher.look()
    path = write("model.py", wrong)
    watcher.wait("1 fixed")
    assert "q.reshape(1, -1, *q.shape[2:])" in path.read_text()
    assert watcher.interrupt() == 0


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals to make")
def test_a_terminal_is_cleared_before_the_next_look(write, project, wrong) -> None:
    write("model.py", wrong)
    ours, theirs = os.openpty()
    watcher = Watcher(terminal=theirs)
    try:
        os.close(theirs)
        watcher.listen(ours)
        assert "\x1b[2J" not in watcher.wait("until interrupted")
        write("model.py", wrong + "\n")
        assert "\x1b[2J\x1b[H" in watcher.wait("KDA001")
        assert watcher.interrupt() == 0
        assert "Traceback" not in watcher.said
    finally:
        watcher.process.kill()
        watcher.process.wait()
        os.close(ours)


@pytest.mark.parametrize(
    "others", [("-",), ("--add-ignore",), ("--diff",), ("--show-files",), ("--explain", "a.py:1")]
)
def test_what_is_done_once_is_not_watched(kdacheck, project, others: tuple[str, ...]) -> None:
    ran = kdacheck("--watch", *others)
    assert ran.status == 2
    assert f"--watch and {others[0]} exclude each other" in ran.err


def test_a_command_line_that_makes_no_sense_is_refused(kdacheck, project) -> None:
    assert kdacheck("--watch", "--select", "KDB").status == 2
