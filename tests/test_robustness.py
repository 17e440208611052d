"""Whatever a file holds and whatever happens meanwhile: no crash, bounded work, the same answer, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks import fuzz
from kdacheck import linter
from kdacheck.config import Configuration
from kdacheck.source import limits

IMPORT = "from fla.ops.kda import chunk_kda\n"
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals")
PROC = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks /proc for processes")


def check(text: str | bytes) -> linter.Outcome:
    data = text.encode() if isinstance(text, str) else text
    return linter.check(linter.Candidate("odd.py", data, Configuration().fallback))


# What a file may hold


@pytest.mark.parametrize("name", fuzz.HOSTILE)
def test_hostile_programs_do_no_harm(name: str) -> None:
    for size in (4, 20):
        outcome = check(fuzz.HOSTILE[name](size))
        assert outcome.error is None
        for finding in outcome.findings:
            assert finding.code != "KDA901" or finding.message.startswith("the file ")


@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [
        ("brackets", 5_000, f"more than {limits.MAX_BRACKETS} brackets"),
        ("calls in calls", 100_000, f"more than {limits.MAX_BRACKETS} brackets"),
        ("patterns", 30, f"more than {limits.MAX_PATTERN} brackets in each other in a `case`"),
        ("attributes", 5_000, f"more than {limits.MAX_LEVELS:,} levels"),
        ("conjunctions", 20_000, f"more than {limits.MAX_LEVELS:,} levels"),
        ("subscripts", 1_500, "too many deep expressions"),
        ("elifs", 3_000, f"more than {limits.MAX_ELIFS:,} `elif`"),
        ("formatted in each other", 3_000, "brackets"),
        ("with words", 20_000, f"larger than {limits.MAX_BYTES >> 20} MiB"),
        ("tuples on two paths", 200, f"more than {limits.MAX_STEPS:,} steps"),
        ("many views", 2_000, f"more than {limits.MAX_STEPS:,} steps"),
    ],
)
def test_what_is_too_much_is_told_with_the_limit(name: str, size: int, limit: str) -> None:
    (finding,) = check(fuzz.HOSTILE[name](size)).findings
    assert (finding.code, finding.filename) == ("KDA901", "odd.py")
    assert limit in finding.message
    assert finding.remedy == "split the file, or exclude it"


@pytest.mark.parametrize(
    "text",
    [
        "x = '''" + "((((" * 200 + "'''\n",
        "# " + "[" * 500 + "\n",
        "x = f'{q:(((>10}' + '{{{{{{'\n" * 100,
        "x = f'{q!r:{w}}{{'\n" * 300,
        "x = [" + "-1, 1 + 2, q.a.b.c," * 1_000 + "]\n",
        "case = {1: [[[[[[[[[[[[]]]]]]]]]]]]}\n",
        "x = r'\\''\ny = (1,\n 2)\n" * 300,
        'x = rf"\\{q}"\n' * 300,
        "x = '\\\n(((((\\\n'\n" * 100,
    ],
    ids=[
        "docstring",
        "comment",
        "spec",
        "nested spec",
        "table",
        "case",
        "raw",
        "raw f",
        "continued",
    ],
)
def test_what_only_looks_nested_is_analysed(text: str, wrong: str) -> None:
    assert [finding.code for finding in check(text + wrong).findings] == ["KDA001"]


def test_loops_of_many_known_rounds_cost_little(wrong: str) -> None:
    rounds = "def windows(x):\n    found = []\n    for i in range(0, 4096 * 8, 8):\n        found.append(x[i : i + 8])\n    return found\n"
    calls = "".join(f"    windows(torch.randn({n + 9_000}))\n" for n in range(60))
    text = f"{wrong}\nimport torch\n{rounds}\ndef every(q):\n{calls}    return chunk_kda(q, q, q, q, q)\n"
    assert [finding.code for finding in check(text).findings] == ["KDA001"]


def test_annotations_that_are_no_types() -> None:
    for annotation in ("(" * 20_000, "a[" * 20_000, "\\N{no}", "f(" * 500, "-" * 20_000):
        outcome = check(f"{IMPORT}def run(q: '{annotation}', k):\n    chunk_kda(q, k, k, k, k)\n")
        assert (outcome.error, outcome.findings) == (None, [])


def test_files_that_are_damaged_at_random(tmp_path: pathlib.Path) -> None:
    seeds = fuzz.seeds_of([fuzz.HERE / "tests" / "corpus", fuzz.HERE / "examples"])
    plan = fuzz.Plan(seeds, (), 2026, 60.0, 4_000.0, tmp_path, sizes=(3, 20))
    tally = fuzz.run_chunk(plan, range(150))
    assert tally.bad == []
    assert tally.interpreted > 20


def test_codecs_that_are_no_text(kdacheck, write, wrong) -> None:
    for number, codec in enumerate(("rot13", "hex", "idna", "utf-7", "punycode", "undefined")):
        write(f"f{number}.py", f"# coding: {codec}\n{wrong}")
    for form in ("full", "json", "sarif", "html"):
        assert kdacheck("--output-format", form).status == 1


def test_a_file_without_end(kdacheck, write, wrong) -> None:
    write("model.py", wrong)
    with open("huge.py", "wb") as file:
        file.truncate(linter.MAX_BYTES + (1 << 21))
    ran = kdacheck("--output-format", "concise")
    assert ran.status == 2
    assert "huge.py:1:1: KDA901 cannot be read: larger than 64 MiB" in ran.out
    assert "model.py:7:22: KDA001" in ran.out


@POSIX
def test_what_is_no_file_is_not_read(kdacheck, write, wrong) -> None:
    write("model.py", wrong)
    os.mkfifo("pipe.py")
    os.symlink("pipe.py", "a_link.py")
    os.symlink("/dev/zero", "zeros.py")
    assert kdacheck("--output-format", "concise").out.count("KDA001") == 1


@POSIX
@pytest.mark.parametrize("mentions", [True, False])
@pytest.mark.parametrize("options", [[], ["--fix"], ["--diff"], ["--add-ignore"]])
def test_a_pipe_is_read_once(write, wrong, mentions: bool, options: list[str]) -> None:
    """What other files hand on makes the linter look at every file again."""
    write("layers.py", wrong.replace("def run(g, beta):", "def run(g, beta, cu=None):"))
    os.mkfifo("pipe.py")
    command = [sys.executable, "-m", "kdacheck", "--output-format", "full", *options]
    child = subprocess.Popen(
        [*command, "layers.py", "pipe.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    text = wrong if mentions else "from layers import run\n\nrun(None, None)\n"
    with open("pipe.py", "w") as file:
        file.write(text)
    out, err = child.communicate(timeout=60)
    assert b"Traceback" not in err
    assert child.returncode == (
        2 if options == ["--add-ignore"] else 0 if options == ["--diff"] else 1
    )
    if not options:
        assert out.count(b"chunk_kda(q, q, q, g, beta, cu_seqlens=") == 1 + mentions, "it is shown"


@POSIX
def test_links_that_go_round_and_round(kdacheck, write, wrong) -> None:
    write("a/b/model.py", wrong)
    os.symlink("..", "a/b/up")
    os.symlink("../../a", "a/b/again")
    os.symlink("y.py", "x.py")
    os.symlink("x.py", "y.py")
    ran = kdacheck("--output-format", "json")
    assert ran.status == 2
    assert [f["code"] for f in json.loads(ran.out)] == ["KDA001", "KDA901", "KDA901"]


def test_modules_that_import_each_other(kdacheck, write, wrong) -> None:
    names = ("a", "b", "c")
    for name, other in zip(names, (*names[1:], names[0]), strict=True):
        text = f"from {other} import *\nfrom {other} import run as {name}_run\n{wrong}\n{name}_run(1, 2)\n"
        write(f"{name}.py", text)
    found = kdacheck("--select", "KDA001", "--output-format", "json").out
    assert {os.path.basename(f["filename"]) for f in json.loads(found)} == {"a.py", "b.py", "c.py"}


# The same answer


@pytest.fixture
def several(write, wrong) -> list[str]:
    """A project of wrappers, callers, branches and broken files; enough for several processes."""
    corpus = sorted((fuzz.HERE / "tests" / "corpus").rglob("*.py"))[::3]
    for number, path in enumerate(corpus):
        write(f"corpus/f{number}.py", path.read_bytes())
    for name in (
        "products of sums",
        "mixed conditions",
        "recursion",
        "many wrong calls",
        "brackets",
    ):
        write(f"hostile/{name.replace(' ', '_')}.py", fuzz.HOSTILE[name](12))
    write(
        "wrapper.py",
        "from fla.ops.kda import chunk_kda\n\ndef attend(q, *rest, **more):\n    return chunk_kda(q, *rest, **more)\n",
    )
    for number in range(6):
        write(
            f"caller{number}.py",
            wrong.replace("fla.ops.kda import chunk_kda", "wrapper import attend as chunk_kda"),
        )
    write("padding.py", f"{IMPORT}# {'x' * linter.POOL_PAYS_BYTES}\n")
    return sorted(os.listdir())


def test_order_workers_and_hash_seed_change_nothing(several, process) -> None:
    common = ("--no-cache", "--output-format", "json", "--likely")
    first = process(*common, "-j", "1", *several, PYTHONHASHSEED="1")
    assert len(json.loads(first.out)) > 30
    for arguments, seed in (
        (("-j", "2", *reversed(several)), "2"),
        (("-j", "3", "."), "3"),
    ):
        assert process(*common, *arguments, PYTHONHASHSEED=seed).out == first.out


# What may happen meanwhile


@pytest.fixture
def slow(write, wrong) -> dict[str, bytes]:
    """Files that keep two workers busy for seconds, each with something to fix; name -> text."""
    texts = {}
    for number in range(6):
        text = f"{fuzz.HOSTILE['cycles'](9)}\n{wrong}# {'x' * 30_000}\n".encode()
        texts[f"m{number}.py"] = text
        write(f"m{number}.py", text)
    return texts


@pytest.fixture
def started(unmeasured) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kdacheck", "--no-cache", "-j", "2", "--fix", "--unsafe-fixes"]
    process = subprocess.Popen(
        [*command, "--output-format", "concise", "-o", "found.txt", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=unmeasured,
    )
    yield process
    process.kill()
    process.communicate()


def children(pid: int) -> list[int]:
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]


def is_running(pid: int) -> bool:
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def awaited(condition, seconds: float = 60.0) -> bool:
    """Whether a condition came true in time."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(found)


@PROC
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
    ids=["ctrl-c", "sigterm", "sigkill"],
)
def test_an_interrupted_run_leaves_nothing_behind(number, status, slow, started) -> None:
    assert awaited(lambda: len(children(started.pid)) >= 2)
    workers = children(started.pid)
    time.sleep(0.3)
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    assert started.returncode == status
    assert (out, "Traceback" in err) == ("", False)
    assert awaited(lambda: not any(map(is_running, workers)))
    assert {name: pathlib.Path(name).read_bytes() for name in os.listdir()} == slow


@PROC
def test_a_worker_that_is_killed_is_replaced(slow, started) -> None:
    assert awaited(lambda: len(children(started.pid)) >= 2)
    os.kill(children(started.pid)[0], signal.SIGKILL)
    _, err = started.communicate(timeout=120)
    assert (started.returncode, err) == (0, "")
    assert "6 fixed" in pathlib.Path("found.txt").read_text("utf-8")


@PROC
def test_files_whose_workers_are_always_killed_are_named(slow, started) -> None:
    def hunt() -> None:
        while started.poll() is None:
            for worker in children(started.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            time.sleep(0.01)

    hunter = threading.Thread(target=hunt)
    hunter.start()
    out, err = started.communicate(timeout=120)
    hunter.join()
    assert started.returncode == 2
    assert "Traceback" not in out + err
    found = pathlib.Path("found.txt").read_text("utf-8")
    for name in slow:
        assert f"{name}:1:1: KDA901 the process that analysed this file was killed" in found
        assert f"{name}: the process that analysed this file was killed, twice" in err
        assert pathlib.Path(name).read_bytes() == slow[name]
