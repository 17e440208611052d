"""The cache: the same findings as without it, whatever changes between two runs."""

from __future__ import annotations

import json
import os
import pathlib
import time

import pytest

from kdacheck import cache as caches
from kdacheck import linter

HELPER = """\
import torch

def make():
    return torch.randn({batch}, 128, 8, 64)
"""
USER = """\
import torch
from fla.ops.kda import chunk_kda
from helper import make

def run(g, beta):
    q = make()
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 128]))
"""
WRAPPER = """\
import torch
from fla.ops.kda import chunk_kda

def attend(q, g, beta, cu):
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)
"""
CALLER = """\
import torch
from wrapper import attend

def run(g, beta):
    return attend(torch.randn({batch}, 128, 8, 64), g, beta, torch.tensor([0, 100, 128]))
"""


@pytest.fixture(autouse=True)
def settled(project: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written a moment ago count as old."""
    monkeypatch.delenv(caches.VARIABLE, raising=False)
    monkeypatch.setattr(caches, "SETTLED_NS", -(10**12))


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The files that are read, and those that are analysed."""
    done: dict[str, list[str]] = {"read": [], "checked": []}
    read, check = linter.read, linter.check

    def reading(path: str) -> bytes:
        done["read"].append(path)
        return read(path)

    def checking(candidate: linter.Candidate) -> linter.Outcome:
        done["checked"].append(candidate.filename)
        return check(candidate)

    monkeypatch.setattr(linter, "read", reading)
    monkeypatch.setattr(linter, "check", checking)
    return done


def changed(path: pathlib.Path, text: str) -> None:
    """Write another text, with times that differ however coarse the clock is."""
    path.write_text(text, "utf-8")
    later = time.time_ns() + 10**9
    os.utime(path, ns=(later, later))
    linter.forget()


def test_a_second_run_says_the_same_and_does_little(kdacheck, write, wrong, work):
    write("model.py", wrong)
    write("plain.py", "x = 1\n")
    first = kdacheck()
    assert first.status == 1
    assert set(work["read"]) == {"model.py", "plain.py"}
    work["read"].clear()
    work["checked"].clear()
    for form in ("full", "json", "sarif"):
        again = kdacheck("--output-format", form)
        assert again.out == kdacheck("--output-format", form, "--no-cache").out
    assert "plain.py" not in work["read"][:1]
    work["read"].clear()
    work["checked"].clear()
    assert kdacheck().out == first.out
    assert (set(work["read"]), work["checked"]) == ({"model.py"}, [])


def test_a_changed_file_is_checked_anew(kdacheck, write, wrong, right):
    path = write("model.py", wrong)
    other = write("plain.py", "x = 1\n")
    assert kdacheck().status == 1
    changed(path, right)
    assert kdacheck().status == 0
    changed(other, wrong)
    assert kdacheck().status == 1


def test_a_file_of_the_same_size_and_time_is_told_apart(kdacheck, write, wrong):
    path = write("plain.py", " " * len(wrong))
    kdacheck()
    found = path.stat()
    path.write_text(wrong, "utf-8")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert kdacheck().status == 1


def test_a_file_that_was_just_written_is_not_trusted(kdacheck, write, monkeypatch, work):
    monkeypatch.setattr(caches, "SETTLED_NS", 2 * 10**9)
    write("plain.py", "x = 1\n")
    kdacheck()
    work["read"].clear()
    kdacheck()
    assert work["read"] == ["plain.py"]


def test_what_is_selected_may_change(kdacheck, write, wrong):
    write("model.py", wrong)
    assert kdacheck().status == 1
    assert kdacheck("--ignore", "KDA001").status == 0
    assert kdacheck("--per-file-ignores", "model.py:KDA001").status == 0
    assert kdacheck().status == 1
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["KDA0"]\n')
    assert kdacheck().status == 0


def test_the_release_may_change(kdacheck, write):
    write(
        "model.py",
        "from fla.ops.kda import chunk_kda\n\ndef run(q, k, v, g, beta, cu):\n"
        "    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu, offsets=cu)\n",
    )
    pins = write("requirements.txt", "fla-core==0.6.0\n")
    first = kdacheck("--output-format", "json").out
    changed(pins, "fla-core==0.4.0\n")
    again = kdacheck("--output-format", "json").out
    assert again == kdacheck("--output-format", "json", "--no-cache").out
    assert first != again


def test_a_helper_in_another_file_may_change(kdacheck, write):
    helper = write("helper.py", HELPER.format(batch=2))
    write("model.py", USER)
    assert kdacheck("model.py").status == 1
    changed(helper, HELPER.format(batch=1))
    assert kdacheck("model.py").status == 0


def test_a_helper_may_appear_and_go(kdacheck, write):
    write("model.py", USER)
    assert kdacheck("model.py").status == 0
    helper = write("helper.py", HELPER.format(batch=2))
    linter.forget()
    assert kdacheck("model.py").status == 1
    helper.unlink()
    linter.forget()
    assert kdacheck("model.py").status == 0


def test_the_callers_of_a_wrapper_stay_found(kdacheck, write, work):
    write("wrapper.py", WRAPPER)
    caller = write("caller.py", CALLER.format(batch=2))
    first = kdacheck("--output-format", "concise")
    assert "caller.py:5:12: KDA001" in first.out
    work["checked"].clear()
    assert kdacheck("--output-format", "concise").out == first.out
    assert work["checked"] == []
    changed(caller, CALLER.format(batch=1))
    assert kdacheck().status == 0
    write("late.py", CALLER.format(batch=2))
    assert kdacheck().status == 1


def test_what_could_not_be_read_is_tried_again(kdacheck, write, work):
    write("model.py", "from fla.ops.kda import chunk_kda\nchunk_kda((\n")
    assert kdacheck().status == 1
    work["checked"].clear()
    assert kdacheck().status == 1
    assert work["checked"] == ["model.py"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"plain": 1}', b"\xff", b"[" * 100_000],
)
def test_a_broken_cache_is_as_none(kdacheck, write, wrong, content):
    write("model.py", wrong)
    first = kdacheck()
    (file,) = pathlib.Path(caches.FOLDER).glob("*.json")
    file.write_bytes(content)
    assert kdacheck().out == first.out


def test_broken_entries_are_as_none(kdacheck, write, wrong):
    write("model.py", wrong)
    write("plain.py", "x = 1\n")
    first = kdacheck()
    (file,) = pathlib.Path(caches.FOLDER).glob("*.json")
    data = json.loads(file.read_text("utf-8"))
    for broken in (None, 1, {}, {"findings": [{}], "exports": [], "depends": None, "files": {}}):
        data["outcomes"] = dict.fromkeys(data["outcomes"], broken)
        data["plain"] = dict.fromkeys(data["plain"], broken)
        file.write_text(json.dumps(data), "utf-8")
        assert kdacheck().out == first.out


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_linked_cache_is_left_alone(kdacheck, write, wrong, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write("model.py", wrong)
    os.symlink(elsewhere, caches.FOLDER)
    assert kdacheck().status == 1
    assert list(elsewhere.iterdir()) == []


def test_a_cache_of_another_user_is_left_alone(kdacheck, write, wrong, monkeypatch):
    write("model.py", wrong)
    kdacheck()
    (file,) = pathlib.Path(caches.FOLDER).glob("*.json")
    before = file.read_bytes()
    monkeypatch.setattr(caches, "_is_own", lambda _: False)
    write("more.py", wrong)
    assert "Found 2 findings" in kdacheck().out
    assert file.read_bytes() == before


def test_where_the_cache_lies(kdacheck, write, wrong, monkeypatch):
    write("pyproject.toml", "[tool.kdacheck]\n")
    write("src/model.py", wrong)
    monkeypatch.chdir("src")
    kdacheck()
    assert pathlib.Path("..", caches.FOLDER, ".gitignore").read_text("utf-8") == "*\n"
    assert not os.path.exists(caches.FOLDER)
    monkeypatch.setenv(caches.VARIABLE, "here")
    kdacheck()
    assert os.path.isdir("here")


def test_no_cache_is_kept_where_none_is_wanted(kdacheck, write, wrong, process):
    write("model.py", wrong)
    kdacheck("--no-cache")
    process("-", stdin=wrong.encode())
    assert os.listdir() == ["model.py"]


def test_clean_removes_the_cache_and_nothing_else(kdacheck, write, wrong):
    write("model.py", wrong)
    kdacheck()
    assert kdacheck("clean").status == 0
    assert os.listdir() == ["model.py"]
    assert "there is no cache" in kdacheck("clean").err
    write(f"{caches.FOLDER}/mine.txt", "kept")
    kdacheck()
    assert kdacheck("clean").status == 0
    assert [p.name for p in pathlib.Path(caches.FOLDER).iterdir()] == ["mine.txt"]


def test_a_fixed_file_is_checked_anew(kdacheck, write, wrong):
    write("model.py", wrong)
    kdacheck()
    assert kdacheck("--fix", "--unsafe-fixes").status == 0
    assert kdacheck().out == "No broken call found (1 file checked).\n"
