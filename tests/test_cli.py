"""The command as its users meet it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.usefixtures("project")


def test_a_broken_call_is_found_and_gives_status_1(kdacheck, write, wrong):
    write("model.py", wrong)
    ran = kdacheck("model.py", "--output-format", "concise")
    assert ran.status == 1
    assert ran.out.startswith("model.py:7:22: KDA001 ")
    assert "[unflattened-batch]" in ran.out
    assert "\nFound 1 finding (1 file checked).\n" in ran.out
    assert ran.err == ""


def test_the_current_folder_is_the_default(kdacheck, write, wrong, right):
    write("a/model.py", wrong)
    write("b.py", right)
    ran = kdacheck("--output-format", "concise")
    assert ran.status == 1
    assert ran.out.startswith(f"a{os.sep}model.py:7:22: KDA001 ")
    assert "(2 files checked)" in ran.out


def test_right_calls_give_status_0(kdacheck, write, right):
    write("model.py", right)
    ran = kdacheck()
    assert ran.status == 0
    assert ran.out == "No broken call found (1 file checked).\n"


def test_quiet_leaves_the_summary_out(kdacheck, write, right):
    write("model.py", right)
    assert kdacheck("--quiet").out == ""


def test_nothing_to_check_is_status_0_and_says_so(kdacheck, write):
    write("notes.txt", "chunk_kda")
    ran = kdacheck()
    assert ran.status == 0
    assert ran.out == ""
    assert "no Python file found in ." in ran.err


def test_exit_zero_still_reports(kdacheck, write, wrong):
    write("model.py", wrong)
    ran = kdacheck("--exit-zero")
    assert ran.status == 0
    assert "KDA001" in ran.out


def test_a_missing_path_is_named_and_the_rest_is_checked(kdacheck, write, wrong):
    write("model.py", wrong)
    ran = kdacheck("gone.py", "model.py", "--exit-zero")
    assert ran.status == 2
    assert "gone.py: No such file or directory" in ran.err
    assert "KDA001" in ran.out


def test_standard_input(process, wrong):
    ran = process("-", "--stdin-filename", "src/model.py", stdin=wrong.encode())
    assert ran.status == 1
    assert "--> src/model.py:7:22" in ran.out
    assert "    return chunk_kda(q, q, q" in ran.out
    assert process("-", stdin=b"import chunk_kda\n").status == 0


def test_standard_input_honours_the_settings_of_the_folder_it_is_said_to_be_in(
    process, write, wrong
):
    write("src/pyproject.toml", '[tool.kdacheck]\nignore = ["KDA0"]\n')
    ran = process("-", "--stdin-filename", "src/model.py", stdin=wrong.encode())
    assert ran.status == 0
    write("src/pyproject.toml", '[tool.kdacheck]\nexclude = ["mod*"]\n')
    ran = process("-", "--stdin-filename", "src/model.py", "--force-exclude", stdin=wrong.encode())
    assert ran.status == 0


def test_paths_beside_standard_input_are_refused(kdacheck):
    assert "`-` stands alone" in kdacheck("-", "a.py").err
    assert "--stdin-filename goes with" in kdacheck("--stdin-filename", "x.py", "a.py").err


def test_select_and_ignore(kdacheck, write, wrong):
    write("model.py", wrong)
    assert kdacheck("--select", "KDA1").status == 0
    assert kdacheck("--select", "KDA0,KDA1").status == 1
    assert kdacheck("--ignore", "unflattened-batch").status == 0
    assert kdacheck("--extend-ignore", "KDA001").status == 0
    assert kdacheck("--select", "KDA1", "--extend-select", "KDA001").status == 1
    assert kdacheck("--select", "ALL", "--ignore", "KDA0").status == 0
    assert kdacheck("--select", "KDA001", "--ignore", "KDA0").status == 1, "the longer one wins"
    assert kdacheck("--ignore", "KDA0", "--extend-select", "KDA001").status == 1
    assert kdacheck("--per-file-ignores", "model.py:KDA001").status == 0
    assert kdacheck("--per-file-ignores", "other.py:KDA001").status == 1


def test_an_unknown_rule_is_an_error_with_a_hint(kdacheck):
    ran = kdacheck("--select", "unflatened-batch")
    assert ran.status == 2
    assert (
        "--select: there is no rule `unflatened-batch`; did you mean `unflattened-batch`?"
        in ran.err
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-option"],
        ["--output-format", "xml"],
        ["--jobs", "0"],
        ["--per-file-ignores", "KDA001"],
        ["--config", "gone.toml"],
        ["--config", "x.toml", "--isolated"],
        ["--extend-per-file-ignores", "KDA001"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_status_2(kdacheck, arguments):
    ran = kdacheck(*arguments)
    assert ran.status == 2
    assert "error: " in ran.err
    assert ran.out == ""


def test_statistics_count_by_rule(kdacheck, write, wrong):
    write("a.py", wrong)
    write("b.py", wrong)
    ran = kdacheck("--statistics")
    assert ran.status == 1
    assert ran.out == "2  KDA001  unflattened-batch\n"
    ran = kdacheck("--statistics", "--output-format", "json")
    assert json.loads(ran.out) == [{"code": "KDA001", "name": "unflattened-batch", "count": 2}]


def test_numbers_are_easy_to_read():
    from kdacheck.cli import summary
    from kdacheck.linter import Result

    assert summary.line(Result(files=1234)) == "No broken call found (1,234 files checked)."
    assert (
        summary.line(Result(files=2), 61.04) == "No broken call found (2 files checked in 61.0 s)."
    )


def test_output_file(kdacheck, write, wrong):
    write("model.py", wrong)
    ran = kdacheck("--output-format", "json", "--output-file", "report.json")
    assert ran.status == 1
    assert ran.out == ""
    assert json.loads(pathlib.Path("report.json").read_text())[0]["code"] == "KDA001"
    assert "No such file" in kdacheck("-o", "no/such/folder.json").err


def test_version_and_help(process):
    from kdacheck import __version__

    assert process("--version").out == f"kdacheck {__version__}\n"
    assert process("-V", "x").out == f"kdacheck {__version__}\n"
    ran = process("--help")
    assert ran.status == 0
    assert "exit status: 0 nothing found, 1 findings, 2 the job could not be done" in ran.out


def test_rules_can_be_listed_and_explained(kdacheck):
    ran = kdacheck("rule")
    assert ran.status == 0
    assert "KDA001  unflattened-batch" in ran.out
    by_code, by_name = kdacheck("rule", "KDA001"), kdacheck("rule", "unflattened-batch")
    assert by_code == by_name
    assert "KDA001 unflattened-batch" in by_code.out
    assert "Wrong:" in by_code.out
    ran = kdacheck("rule", "KDA999")
    assert ran.status == 2
    assert "there is no rule `KDA999`" in ran.err


def test_contracts_can_be_listed_and_explained(kdacheck):
    ran = kdacheck("contracts")
    assert ran.status == 0
    assert "fla.ops.kda.chunk_kda" in ran.out
    ran = kdacheck("contracts", "chunk_kda")
    assert ran.status == 0
    assert "cu_seqlens" in ran.out
    assert kdacheck("contracts", "fla.ops.kda.chunk_kda").status == 0
    assert "there is no contract `nothing`" in kdacheck("contracts", "nothing").err


def test_a_folder_called_rule_can_be_checked(kdacheck, write, wrong):
    write("rule/model.py", wrong)
    assert kdacheck(f".{os.sep}rule").status == 1


def test_colour_only_where_it_is_wanted(process, write, wrong):
    write("model.py", wrong)
    assert "\x1b[" not in process().out
    assert "\x1b[" in process(FORCE_COLOR="1").out
    assert "\x1b[" not in process(FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b[" not in process("--no-color", FORCE_COLOR="1").out
    assert "\x1b[" not in process(FORCE_COLOR="0").out


def on_terminal(*arguments: str, before_end=lambda: None, **environment: str) -> tuple[int, str]:
    """The status of the command, and what a terminal gets from it."""
    import pty

    outer, inner = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    child = subprocess.Popen(
        [sys.executable, "-m", "kdacheck", *arguments],
        stdout=inner,
        stderr=inner,
        env={**kept, "TERM": "xterm", **environment},
    )
    os.close(inner)
    before_end()
    shown = b""
    while True:
        try:
            part = os.read(outer, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(outer)
    return child.wait(), shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_colour_and_time_on_a_terminal(write, wrong):
    write("model.py", wrong)
    status, shown = on_terminal()
    assert status == 1
    assert "\x1b[1;31mKDA001" in shown
    assert re.search(r"Found 1 finding \(1 file checked in \d+\.\d s\)\.", shown)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("arguments", "environment", "wanted"),
    [
        (["--output-format", "json"], {}, True),
        (["--quiet"], {}, False),
        ([], {"CI": "true"}, False),
    ],
)
def test_a_long_run_says_what_it_is_at(write, arguments, environment, wanted):
    write("model.py", "y = 1\n")
    os.mkfifo("slow.py")

    def wait() -> None:
        with open("slow.py", "w") as file:  # opens once the command reads it
            time.sleep(1.2)
            file.write("x = 1\n")

    status, shown = on_terminal("slow.py", "model.py", *arguments, before_end=wait, **environment)
    assert status == 0
    line = re.search(r"\r\x1b\[K2 files read, \d analysed.*\r\x1b\[K(.*)", shown, re.DOTALL)
    assert bool(line) is wanted
    assert ("analysed" in shown) is wanted
    if line:
        assert "analysed" not in line[1], "it is erased before anything else is said"


def test_a_run_without_a_terminal_says_nothing_on_the_way(write):
    write("model.py", "y = 1\n")
    os.mkfifo("slow.py")
    child = subprocess.Popen(
        [sys.executable, "-m", "kdacheck", "slow.py", "model.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with open("slow.py", "w") as file:
        time.sleep(1.2)
        file.write("x = 1\n")
    out, err = child.communicate(timeout=60)
    assert out == b"No broken call found (2 files checked).\n"
    assert err == b""


@pytest.mark.parametrize("form", ["full", "html", "json"])
def test_a_report_that_cannot_be_written_is_status_2(kdacheck, write, wrong, form):
    write("model.py", wrong)
    for place in (os.curdir, os.path.join("gone", "report")):
        ran = kdacheck("--output-format", form, "--output-file", place)
        assert ran.status == 2
        assert ran.err.startswith(f"kdacheck: error: {place}: ")
        assert ran.out == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_put_into_words(kdacheck, write, wrong):
    write("model.py", wrong)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kdacheck"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "kdacheck: error: standard output: No space left on device\n"
    ran = kdacheck("-o", "/dev/full")
    assert ran.status == 2
    assert "/dev/full: No space left on device" in ran.err


def test_a_closed_pipe_ends_quietly(write, wrong):
    for number in range(300):
        write(f"model{number}.py", wrong)
    child = subprocess.Popen(
        [sys.executable, "-m", "kdacheck"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout
    assert child.stderr
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() in (0, 1)


def many_files(write, wrong: str) -> None:
    filler = "\n".join(f"x{number} = {number}" for number in range(700))
    for number in range(24):
        write(f"package/model{number:02}.py", wrong + filler)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("many", [False, True], ids=["alone", "with workers"])
def test_an_interrupt_ends_quietly(write, wrong, many):
    write("package/model.py", wrong)
    if many:
        many_files(write, wrong)
    os.mkfifo("slow.py")
    child = subprocess.Popen(
        [sys.executable, "-m", "kdacheck", "package", "slow.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert err == b""
    assert child.returncode == 130


def test_processes_do_not_change_what_is_said(process, write, wrong):
    many_files(write, wrong)
    alone, together = process("-j", "1"), process("-j", "2")
    assert alone.out.count("KDA001") == 24
    assert alone == together
    assert alone == process("-j", "2", "package", ".")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_a_killed_worker_costs_no_finding(write, wrong):
    many_files(write, wrong)
    child = subprocess.Popen(
        [sys.executable, "-m", "kdacheck", "-j", "2", "--output-format", "concise"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
    deadline = time.monotonic() + 30
    workers: list[str] = []
    while not workers and child.poll() is None and time.monotonic() < deadline:
        workers = children.read_text().split()
        time.sleep(0.005)
    for worker in workers:
        os.kill(int(worker), signal.SIGKILL)
    out, err = child.communicate(timeout=120)
    assert err == ""
    assert out.count("KDA001") == 24


def test_a_tree_without_kernels_is_checked_without_the_parser(write, unmeasured):
    write("model.py", "import torch\nx = torch.randn(2)  # kdacheck: ignore[KDA001]\n")
    script = (
        "import sys; from kdacheck.cli import main; status = main(['.']); "
        "heavy = {'libcst', 'torch', 'jaxtyping', 'beartype', 'helion', 'pathspec'}; "
        "loaded = heavy & set(sys.modules); sys.exit(status or (str(loaded) if loaded else 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=unmeasured
    )
    assert done.returncode == 0, done.stderr


def test_importing_the_package_imports_nothing_heavy(unmeasured):
    script = (
        "import sys, kdacheck, kdacheck.cli; "
        "heavy = {'libcst', 'torch', 'jaxtyping', 'beartype', 'helion', 'argparse', 'ast'}; "
        "loaded = heavy & set(sys.modules); sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=unmeasured
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked there, with the stand-in")
def test_a_file_that_kills_every_worker_is_named_and_the_rest_is_checked(write, wrong, unmeasured):
    many_files(write, wrong)
    write("deadly.py", wrong)
    script = (
        "import os, signal, sys\n"
        "from kdacheck import source\n"
        "from kdacheck.cli import main\n"
        "real = source.examine\n"
        "def examine(filename, *rest, **more):\n"
        "    if filename == 'deadly.py':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(filename, *rest, **more)\n"
        "source.examine = examine\n"
        "sys.exit(main(['-j', '2', '--output-format', 'concise']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=unmeasured
    )
    assert done.returncode == 2
    assert done.stdout.count("KDA001") == 24
    assert "deadly.py:1:1: KDA901 the process that analysed this file was killed" in done.stdout
    assert done.stderr == (
        "kdacheck: error: deadly.py: the process that analysed this file was killed, twice\n"
    )


@pytest.mark.parametrize(
    ("failure", "status", "out", "err"),
    [
        (KeyError("x"), 2, "in what could be checked", "model.py: kdacheck itself failed here"),
        (RecursionError(), 1, "KDA901 is nested too deeply to be analysed", ""),
        (MemoryError(), 1, "KDA901 needs more memory than there is", ""),
    ],
)
def test_a_failure_inside_is_put_into_words(
    kdacheck, write, wrong, monkeypatch, failure, status, out, err
):
    from kdacheck import source

    def examine(*_, **__):
        raise failure

    monkeypatch.setattr(source, "examine", examine)
    write("model.py", wrong)
    ran = kdacheck("--output-format", "concise")
    assert ran.status == status
    assert out in ran.out
    assert err in ran.err
