"""How the server starts and ends, and what it leaves behind."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tests.server.editor import Editor


def children(pid: int) -> list[int]:
    """The processes below one, at any depth."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            child = int(entry.parent.name)
            found += [child, *children(child)]
    return found


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if (pathlib.Path("/proc") / str(pid) / "exe").exists()]


linux = pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.fixture
def busy(start, tmp_path: pathlib.Path, wrong: str) -> tuple[Editor, list[int]]:
    """An editor whose server is in the middle of its work, and the processes of that server."""
    editor: Editor = start()
    uri = editor.open(tmp_path / "model.py", wrong)
    editor.findings(uri)
    assert editor.process is not None
    below = editor.until(lambda: children(editor.process.pid), "there should be a worker")  # pyright: ignore[reportOptionalMemberAccess]
    editor.edit(uri, wrong * 40)
    return editor, below


@linux
@pytest.mark.parametrize(("way", "status"), [("leave", 0), ("hang_up", 1)])
def test_the_server_ends_cleanly_and_takes_its_processes_along(
    busy: tuple[Editor, list[int]], way: str, status: int
) -> None:
    editor, below = busy
    assert getattr(editor, way)() == status
    assert editor.errors == ""
    editor.until(lambda: not alive(below), f"{below} should be gone")


@linux
def test_no_process_outlives_a_server_that_is_killed(busy: tuple[Editor, list[int]]) -> None:
    editor, below = busy
    assert editor.process is not None
    os.kill(editor.process.pid, signal.SIGKILL)
    editor.until(lambda: not alive(below), f"{below} should be gone")


@linux
def test_a_worker_that_dies_is_replaced(
    busy: tuple[Editor, list[int]], tmp_path: pathlib.Path, wrong: str
) -> None:
    editor, below = busy
    for pid in below:
        os.kill(pid, signal.SIGKILL)
    uri = editor.open(tmp_path / "other.py", wrong)
    editor.becomes(uri, "KDA001")
    assert editor.leave() == 0


def test_modules_of_the_project_do_not_stand_for_those_of_python(
    start, tmp_path: pathlib.Path, wrong: str
) -> None:
    for name in ("tokenize", "json", "asyncio", "libcst"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(f'{__name__} of the project')\n")
    editor: Editor = start()
    assert editor.codes(editor.open(tmp_path / "model.py", wrong)) == ["KDA001"]
    assert editor.leave() == 0


def test_without_pygls_the_command_says_what_to_install(tmp_path: pathlib.Path) -> None:
    script = (
        "import sys; sys.modules['pygls'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name.startswith('pygls') else find(name, *a)\n"
        "from kdacheck.cli import main; sys.exit(main(['server']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert done.stderr == (
        "kdacheck: error: the server needs pygls 2, which is not installed beside kdacheck: "
        "pip install 'kdacheck[lsp]'\n"
    )


def test_an_option_it_does_not_know_is_refused(kdacheck) -> None:
    assert kdacheck("server", "--port", "1").status == 2
    assert "usage: kdacheck server" in kdacheck("server", "--help").out


def test_rubbish_on_the_input_does_not_end_the_server() -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": null, "rootUri": null}}'
    rubbish = b"{not json"
    with subprocess.Popen(
        [sys.executable, "-m", "kdacheck", "server", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in (rubbish, body):
            server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(message), message))
        server.stdin.flush()
        deadline = time.monotonic() + 60
        received = b""
        while b'"id":1' not in received.replace(b" ", b"") and time.monotonic() < deadline:
            received += server.stdout.readline()
            received += server.stdout.read1(1 << 16)  # pyright: ignore[reportAttributeAccessIssue]
        assert b'"kdacheck"' in received
        server.stdin.close()
        assert server.wait(60) == 1
