"""Input that no linter likes; each names a kernel, so that it is really read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig

import pytest

from kdacheck.report import FORMATS

pytestmark = pytest.mark.usefixtures("project")

IMPORT = "from fla.ops.kda import chunk_kda\n"


def reported(ran) -> list[tuple[str, str, int]]:
    return [
        (finding["code"], os.path.basename(finding["filename"]), finding["location"]["row"])
        for finding in json.loads(ran.out)
    ]


@pytest.fixture
def check(kdacheck, write, wrong):
    """The findings in a file, which is checked beside a wrong one that must still be found."""

    def check(data: str | bytes, name: str = "odd.py") -> list[tuple[str, int]]:
        write(name, data)
        write("zz_wrong.py", wrong)
        ran = kdacheck("--output-format", "json")
        assert ran.status == 1
        assert ran.err == ""
        findings = reported(ran)
        assert findings.pop() == ("KDA001", "zz_wrong.py", 7)
        assert {file for _, file, _ in findings} <= {name}
        if len(data) < 500:
            for form in FORMATS:
                assert kdacheck("--output-format", form).status == 1
        return [(code, row) for code, _, row in findings]

    return check


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("chunk_kda(\n", 1),
        ("x = 1\nchunk_kda(q, q, q) =\n", 2),
        ("def f():\nchunk_kda()\n", 2),
        ("chunk_kda('never closed\n", 1),
        ("print 'chunk_kda'\n", 1),
        ("chunk_kda = <<<<<<< HEAD\n", 1),
    ],
)
def test_a_syntax_error_is_reported_at_its_line(check, text, row):
    ((code, found),) = check(f"{IMPORT}{text}")
    row += 1
    assert code == "KDA901"
    assert abs(found - row) <= 1, "parsers differ by a line over where a block goes wrong"


def test_a_block_that_ends_nowhere(check):
    ((code, _),) = check(f"{IMPORT}if x:\n    chunk_kda()\n  y\n")
    assert code == "KDA901"


def test_syntax_of_a_python_to_come(check):
    ((code, _),) = check(f"{IMPORT}frobnicate x with chunk_kda as y:\n    pass\n")
    assert code == "KDA901"


def test_latin_1_without_a_coding_line(check, wrong):
    assert check(f"# caf\xe9\n{wrong}".encode("latin-1")) == [("KDA901", 1)]


def test_latin_1_with_a_coding_line(check, wrong):
    data = f"# -*- coding: latin-1 -*-\n# caf\xe9\n{wrong}".encode("latin-1")
    assert check(data) == [("KDA001", 9)]


def test_an_unknown_coding(check, wrong):
    assert [code for code, _ in check(f"# coding: klingon\n{wrong}")] == ["KDA901"]


def test_a_byte_order_mark(check, wrong):
    assert check(b"\xef\xbb\xbf" + wrong.encode()) == [("KDA001", 7)]


def test_utf_16(check, wrong):
    findings = check(wrong.encode("utf-16"))
    assert {code for code, _ in findings} <= {"KDA901"}


def test_carriage_returns(check, wrong):
    assert check(wrong.replace("\n", "\r\n")) == [("KDA001", 7)]
    suppressed = wrong.replace("256]))", "256]))  # kdacheck: ignore[KDA001]")
    assert check(suppressed.replace("\n", "\r\n")) == []


def test_form_feeds_do_not_shift_the_lines(check, wrong):
    assert check(wrong.replace("\n\ndef", "\n\x0c\ndef")) == [("KDA001", 7)]


def test_null_bytes(check, wrong):
    assert [code for code, _ in check(wrong.encode() + b"\0\n")] == ["KDA901"]
    assert [code for code, _ in check(b"\0" * 100 + b"chunk_kda" + b"\0" * 100)] == ["KDA901"]


def test_empty_files(check):
    assert check("") == []
    assert check("\n") == []
    assert check("# chunk_kda") == []
    assert check("chunk_kda\\\n") in ([], [("KDA901", 1)], [("KDA901", 2)])


def test_no_newline_at_the_end(check, wrong):
    assert check(wrong.rstrip("\n")) == [("KDA001", 7)]


def test_a_folder_called_like_a_file(kdacheck, write, wrong):
    write("x.py/inner.py", wrong)
    for paths in ([], ["x.py"]):
        assert reported(kdacheck("--output-format", "json", *paths)) == [("KDA001", "inner.py", 7)]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links_that_lead_nowhere_are_reported(kdacheck, write, wrong):
    write("a.py", wrong)
    os.symlink("loop.py", "loop.py")
    os.symlink("nobody", "gone.py")
    os.symlink(".", "folder")
    ran = kdacheck("--output-format", "json")
    assert ran.status == 2
    assert reported(ran) == [
        ("KDA001", "a.py", 7),
        ("KDA901", "gone.py", 1),
        ("KDA901", "loop.py", 1),
    ]
    assert "gone.py: No such file or directory" in ran.err
    assert kdacheck("--ignore", "KDA901").status == 1, "who does not want to know need not"


@pytest.fixture
def unreadable(project, write, wrong):
    """A file and a folder that nobody but root may read."""
    write("a.py", wrong)
    write("b.py", wrong).chmod(0)
    write("c/d.py", wrong)
    (project / "c").chmod(0)
    yield
    (project / "c").chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
@pytest.mark.usefixtures("unreadable")
def test_what_may_not_be_read_is_named():
    script = (
        "import sys; from kdacheck.cli import main; sys.exit(main(['--output-format', 'concise']))"
    )
    command = [sys.executable, "-c", script]
    if os.geteuid() == 0:
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        try:
            subprocess.run([*prefix, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("root reads everything, and setpriv is missing")
        command = [*prefix, *command]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert "a.py:7:22: KDA001" in done.stdout
    assert "b.py:1:1: KDA901 cannot be read: Permission denied" in done.stdout
    assert "b.py: Permission denied" in done.stderr
    assert "c: Permission denied" in done.stderr


def test_fifty_thousand_lines(check, wrong):
    lines = "\n".join(f"x{number} = {number}" for number in range(50_000))
    assert check(f"{lines}\n{wrong}") == [("KDA001", 50_007)]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("[", "]"), ("f(", ")"), ("-", ""), ("x if y else ", ""), ("{1: ", "}")],
)
def test_five_hundred_levels_of_nesting(check, wrong, opening, closing):
    text = f"{wrong}\nz = {opening * 500}q{closing * 500}\n"
    assert check(text) in ([("KDA001", 7)], [("KDA901", 1)], [("KDA901", 9)])


@pytest.mark.parametrize(
    "text",
    [
        "z = q" + " + q" * 500 + "\n",
        "z = q" + ".a" * 500 + "\n",
        "z = q" + "[0]" * 500 + "\n",
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 500,
        "z = chunk_kda" + "(q)" * 500 + "\n",
        "z = " + "lambda: " * 500 + "q\n",
        "z = q.a()" + ".reshape(1)" * 500 + "\n",
    ],
)
def test_five_hundred_in_a_row(check, wrong, text):
    findings = check(f"{wrong}\n{text}")
    assert findings in ([("KDA001", 7)], [("KDA901", 1)], [("KDA901", 9)])


def test_ninety_blocks_in_each_other(check, wrong):
    blocks = "".join(" " * depth + "if x:\n" for depth in range(90)) + " " * 90 + "chunk_kda(x)\n"
    assert check(wrong + blocks) in ([("KDA001", 7)], [("KDA901", 1)])


def test_a_line_of_a_million_characters(check, wrong):
    assert check(f"{wrong}\nz = '{'x' * 1_000_000}'\n") == [("KDA001", 7)]


def test_a_device_is_read_like_a_file(process, write, wrong):
    write("model.py", wrong)
    assert process("model.py", os.devnull, "--output-format", "concise").status == 1


@pytest.mark.parametrize("place", ["stdlib", "purelib"])
def test_the_files_of_this_python_are_checked_without_a_crash(process, place):
    ran = process(
        sysconfig.get_path(place),
        "--isolated",
        "--no-respect-gitignore",
        "--exclude",
        "__pycache__",
    )
    assert ran.status in (0, 1), ran.err
    assert ran.err == ""
