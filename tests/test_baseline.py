"""A baseline: what it lets through, what it finds again where code was moved, and what it says of what is gone."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def found(kdacheck):
    """The places of what a run reports, with what it says on standard error."""

    def found(*arguments: str) -> list[str]:
        ran = kdacheck("--output-format", "concise", "--quiet", *arguments)
        assert ran.status in (0, 1)
        return [":".join(line.split(":")[:2]).replace(os.sep, "/") for line in ran.out.splitlines()]

    return found


@pytest.fixture
def known(kdacheck, write):
    """A project with a baseline in its settings that knows everything."""

    def known(**files: str) -> None:
        for name, text in files.items():
            write(name.replace("__", "/") + ".py", text)
        write("pyproject.toml", '[tool.kdacheck]\nbaseline = "known.json"\n')
        assert kdacheck("--update-baseline").status == 0

    return known


def entries(name: str = "known.json") -> list[dict[str, Any]]:
    return json.loads(pathlib.Path(name).read_text())["findings"]


def test_only_what_is_new_is_reported(kdacheck, found, known, write, wrong):
    known(old=wrong)
    ran = kdacheck()
    assert ran.status == 0
    assert ran.out == "No other broken call found (1 file checked; 1 known to the baseline).\n"
    assert ran.err == ""
    write("new.py", wrong)
    assert found() == ["new.py:7"]
    assert found("--no-baseline") == ["new.py:7", "old.py:7"]
    assert found("--isolated") == ["new.py:7", "old.py:7"]


def test_the_option_stands_in_place_of_the_setting(kdacheck, found, known, write, wrong):
    known(old=wrong)
    write("new.py", wrong)
    assert kdacheck("--update-baseline", "--baseline", "other.json").status == 0
    assert len(entries("other.json")) == 2
    assert len(entries()) == 1
    assert found("--baseline", "other.json") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"import os\n\n\n{text}",
        lambda text: text.replace("    return", "    if g:\n        return"),
        lambda text: text.replace("chunk_kda(q, q, q, g,", "chunk_kda(\n        q, q, q, g,"),
        lambda text: text.replace("256]))", "256]),\n    )"),
        lambda text: text.replace("256]))", "256]))  # why not"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("def run", "class A:\n  pass\n\n\ndef other"),
    ],
    ids=["down", "in", "laid out", "comma", "comment", "line ends", "other function"],
)
def test_code_that_only_moved_is_known_again(found, known, write, wrong, change):
    known(old=wrong)
    assert change(wrong) != wrong
    write("old.py", change(wrong))
    assert found() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("256]))", "256, 256]))"),
        lambda text: text.replace("chunk_kda(q, q, q", "chunk_kda(q, q, g"),
    ],
)
def test_a_call_that_changed_is_new(found, known, write, wrong, change):
    known(old=wrong)
    assert change(wrong) != wrong
    write("old.py", change(wrong))
    assert found() == ["old.py:7"]


def test_a_file_that_was_renamed_is_known_again(kdacheck, found, known, wrong):
    known(old=wrong)
    pathlib.Path("package").mkdir()
    os.rename("old.py", "package/young.py")
    assert found() == []
    assert kdacheck("--prune-baseline").status == 0
    assert [entry["path"] for entry in entries()] == ["package/young.py"]
    assert found() == []


def test_a_copy_is_new(found, known, write, wrong):
    known(old=wrong)
    write("copy.py", wrong)
    assert found() == ["copy.py:7"]


def test_code_that_went_to_another_file_is_known_again(found, known, write, wrong, right):
    known(old=wrong)
    write("other.py", wrong)
    write("old.py", right)
    assert found() == []
    assert found("other.py") == ["other.py:7"], "this run cannot know that it left the other file"


def test_equal_findings_are_counted(found, known, write, wrong):
    twice = wrong + wrong.partition("\n\n\n")[2].replace("run", "again")
    known(old=twice)
    assert [entry["count"] for entry in entries()] == [2]
    assert found() == []
    write("old.py", twice + wrong.partition("\n\n\n")[2].replace("run", "more"))
    assert len(found()) == 1


def test_what_is_gone_is_said_and_can_be_taken_out(kdacheck, known, write, wrong, right):
    known(old=wrong, gone=wrong, kept=wrong)
    write("old.py", right)
    os.unlink("gone.py")
    before = pathlib.Path("known.json").read_bytes()
    ran = kdacheck()
    assert ran.status == 0
    assert "known.json: 2 findings of this baseline are there no more" in ran.err
    assert "gone.py: KDA001, old.py: KDA001" in ran.err
    assert pathlib.Path("known.json").read_bytes() == before, "a run that only looks writes nothing"
    assert kdacheck("--quiet").err == ""
    ran = kdacheck("--prune-baseline")
    assert ran.status == 0
    assert "known.json: now holds 1 finding" in ran.err
    assert [entry["path"] for entry in entries()] == ["kept.py"]
    assert kdacheck().err == ""


def test_taking_out_takes_nothing_in(kdacheck, known, write, wrong, right):
    known(old=wrong)
    write("old.py", right)
    write("new.py", wrong.replace("256]", "250]"))
    ran = kdacheck("--prune-baseline")
    assert ran.status == 1
    assert entries() == []


def test_a_run_on_a_part_leaves_the_rest_alone(kdacheck, found, known, write, wrong, right):
    known(a__one=wrong, b__two=wrong)
    write("a/one.py", right)
    assert kdacheck("b").err == "", "not looked at is not gone"
    assert kdacheck("--update-baseline", "b").status == 0
    assert [entry["path"] for entry in entries()] == ["a/one.py", "b/two.py"]
    assert kdacheck("--prune-baseline", "a").status == 0
    assert [entry["path"] for entry in entries()] == ["b/two.py"]


def test_rules_that_are_off_are_not_gone(kdacheck, known, wrong):
    known(old=wrong)
    for options in (["--select", "KDA1"], ["--per-file-ignores", "old.py:KDA001"]):
        assert kdacheck(*options).err == ""
        assert kdacheck("--prune-baseline", *options).status == 0
        assert len(entries()) == 1


def test_a_file_that_cannot_be_parsed_is_never_known(kdacheck, found, known, write, wrong):
    known(old=wrong)
    write("old.py", wrong + "def broken(:\n")
    ran = kdacheck("--update-baseline")
    assert ran.status == 1
    assert "KDA901" in ran.out
    assert len(entries()) == 1, "what it held before is not taken out either"


def test_the_file_is_the_same_whatever_the_order(kdacheck, known, write, wrong):
    known(b__c=wrong, a__d=wrong, a__b__c=wrong)
    text = pathlib.Path("known.json").read_text()
    assert [entry["path"] for entry in entries()] == ["a/b/c.py", "a/d.py", "b/c.py"]
    assert text.endswith("}\n")
    assert len([line for line in text.splitlines() if "KDA001" in line]) == 3, "a line for each"
    times = os.stat("known.json").st_mtime_ns
    ran = kdacheck("--update-baseline", "b", "a")
    assert "holds, as before, 3 findings" in ran.err
    assert pathlib.Path("known.json").read_text() == text
    assert os.stat("known.json").st_mtime_ns == times
    assert str(pathlib.Path.cwd()) not in text


def test_paths_start_at_the_baseline(kdacheck, found, known, wrong, monkeypatch):
    known(src__old=wrong)
    assert [entry["path"] for entry in entries()] == ["src/old.py"]
    monkeypatch.chdir("src")
    assert found() == []
    assert found("old.py") == []
    assert found(str(pathlib.Path("old.py").absolute())) == []


def test_each_folder_may_have_its_own(kdacheck, found, write, wrong):
    for folder in ("a", "b"):
        write(f"{folder}/pyproject.toml", '[tool.kdacheck]\nbaseline = "known.json"\n')
        write(f"{folder}/old.py", wrong)
    assert kdacheck("--update-baseline", "a", "b").status == 0
    assert [e["path"] for e in entries("a/known.json")] == ["old.py"]
    assert [e["path"] for e in entries("b/known.json")] == ["old.py"]
    assert found("a", "b") == []


def test_standard_input_is_known_by_its_name(process, known, wrong):
    known(src__old=wrong)
    ran = process("-", "--stdin-filename", "src/old.py", stdin=wrong.encode())
    assert ran.status == 0
    assert process("-", "--stdin-filename", "src/x.py", stdin=wrong.encode()).status == 1


def test_a_reporting_format_leaves_them_out_too(kdacheck, known, wrong):
    known(old=wrong)
    for form in ("json", "gitlab"):
        assert json.loads(kdacheck("--output-format", form).out) == []
    assert kdacheck("--statistics").out == ""


def test_fixes_go_before_the_baseline(kdacheck, known, write):
    """What --fix repairs is repaired, known or not, and its entry is gone then."""
    unused = "from fla.ops.kda import chunk_kda\nx = 1  # kdacheck: ignore[KDA001]\n"
    known(old=unused)
    assert kdacheck().status == 0
    ran = kdacheck("--fix", "--prune-baseline")
    assert ran.status == 0
    assert "ignore" not in pathlib.Path("old.py").read_text()
    assert entries() == []


def test_likely_findings_are_known_while_they_are_asked_for(kdacheck, write):
    likely = (
        "import torch\nfrom fla.ops.kda import chunk_kda\n\n\n"
        "def run(q, k, v, g, beta, lengths):\n"
        "    cu = lengths.cumsum(0)\n"
        "    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)\n"
    )
    write("old.py", likely)
    assert kdacheck("--likely").status == 1
    assert kdacheck("--likely", "--baseline", "k.json", "--update-baseline").status == 0
    assert [entry["likely"] for entry in entries("k.json")] == [True]
    assert kdacheck("--likely", "--baseline", "k.json").status == 0
    assert kdacheck("--baseline", "k.json").err == "", "not asked for is not gone"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "there is no such baseline; --update-baseline makes it"),
        (b"", "not JSON"),
        (b"<<<<<<< HEAD\n{", "not JSON"),
        (b"[]", "no baseline of kdacheck"),
        (b'{"findings": []}', "no baseline of kdacheck"),
        (b'{"kdacheck-baseline": "1", "findings": []}', "no baseline of kdacheck"),
        (b'{"kdacheck-baseline": 99, "findings": []}', "a later kdacheck"),
        (b'{"kdacheck-baseline": 1}', "broken at finding 1"),
        (b'{"kdacheck-baseline": 1, "findings": [{"path": "x"}]}', "broken at finding 1"),
        ('{"kdacheck-baseline": 1, "findings": []}'.encode("utf-16"), "not UTF-8"),
        (b'{"kdacheck-baseline": 1, "caf\xe9": []}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
@pytest.mark.parametrize("option", [[], ["--prune-baseline"]], ids=["read", "prune"])
def test_what_is_no_baseline_is_status_2_and_a_sentence(
    kdacheck, write, wrong, data, words, option
):
    write("model.py", wrong)
    if data is not None:
        write("known.json", data)
    ran = kdacheck("--baseline", "known.json", *option)
    assert ran.status == 2
    assert "known.json: " in ran.err
    assert words in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    "entry",
    [
        {"path": 1},
        {"code": None},
        {"fingerprint": []},
        {"count": 0},
        {"count": True},
        {"count": "2"},
        {"likely": 1},
        {"message": {}},
    ],
)
def test_a_broken_entry_is_named(kdacheck, known, write, wrong, entry):
    known(old=wrong)
    whole = {"kdacheck-baseline": 1, "findings": [*entries(), {**entries()[0], **entry}]}
    write("known.json", json.dumps(whole))
    ran = kdacheck()
    assert ran.status == 2
    assert "known.json: this baseline is broken at finding 2" in ran.err


def test_a_byte_order_mark_is_no_trouble(found, known, write, wrong):
    known(old=wrong)
    write("known.json", b"\xef\xbb\xbf" + pathlib.Path("known.json").read_bytes())
    assert found() == []


def test_a_broken_one_is_not_overwritten(kdacheck, write, wrong):
    write("model.py", wrong)
    write("known.json", "precious")
    assert kdacheck("--baseline", "known.json", "--update-baseline").status == 2
    assert pathlib.Path("known.json").read_text() == "precious"


def test_contradictions_are_refused(kdacheck, write, wrong):
    write("model.py", wrong)
    ran = kdacheck("--update-baseline")
    assert ran.status == 2
    assert "which baseline?" in ran.err
    ran = kdacheck("--update-baseline", "--prune-baseline", "--baseline", "x.json")
    assert "--update-baseline and --prune-baseline exclude each other" in ran.err
    ran = kdacheck("--update-baseline", "--diff", "--baseline", "x.json")
    assert "exclude each other" in ran.err
    ran = kdacheck("--update-baseline", "--baseline", "x.json", "-")
    assert "--update-baseline takes files, not standard input" in ran.err
    assert not pathlib.Path("x.json").exists()


def test_a_place_that_cannot_be_written_is_status_2(kdacheck, write, wrong):
    write("model.py", wrong)
    for place in (f"no{os.sep}such.json", os.curdir):
        ran = kdacheck("--baseline", place, "--update-baseline")
        assert ran.status == 2
        assert ran.err.startswith("kdacheck: error: ")
        assert ran.out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_tree_that_may_not_be_written(project, known, write, wrong):
    known(old=wrong)
    write("new.py", wrong)
    project.chmod(0o555)
    os.chmod("known.json", 0o444)
    script = "import sys; from kdacheck.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "--update-baseline"]
    if os.geteuid() == 0:
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            pytest.skip("root writes everything, and setpriv does not work")
        command = [*prefix, *command]
    done = subprocess.run(command, capture_output=True, text=True)
    project.chmod(0o755)
    assert done.returncode == 2
    assert "known.json: not written: " in done.stderr
    assert "Traceback" not in done.stderr
    assert len(entries()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_new_file_has_the_rights_of_new_files(kdacheck, known, write, wrong):
    known(old=wrong)
    plain = pathlib.Path("plain")
    plain.touch()
    mode = stat.S_IMODE(os.stat("known.json").st_mode)
    assert mode == stat.S_IMODE(plain.stat().st_mode)
    os.chmod("known.json", 0o640)
    write("new.py", wrong)
    assert kdacheck("--update-baseline").status == 0
    assert stat.S_IMODE(os.stat("known.json").st_mode) == 0o640
