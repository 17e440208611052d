"""`--add-ignore`: what is written, where, and that a second look finds nothing left to write."""

from __future__ import annotations

import ast
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("project")

CORPUS = pathlib.Path(__file__).parent / "corpus" / "gate_parameters"
HEAD = """\
import torch
from fla.ops.kda import chunk_kda


def run(g, beta, cu: torch.Tensor):
    q = torch.randn(2, 128, 8, 64)
"""


@pytest.fixture
def silenced(kdacheck, write):
    """A text after `--add-ignore`; it is the same program, silent, and stays as it is the next time."""

    def silenced(text: str | bytes, *arguments: str, option: str = "--add-ignore") -> str:
        data = text.encode() if isinstance(text, str) else text
        path = write("model.py", data)
        ran = kdacheck(option, *arguments, "model.py")
        assert ran.status == 0, ran
        after = path.read_bytes()
        assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(data))
        ran = kdacheck("model.py")
        assert (ran.status, ran.err) == (0, "")
        ran = kdacheck(option, *arguments, "model.py")
        assert ran.err == "kdacheck: wrote comments for 0 findings in 0 files\n"
        assert path.read_bytes() == after
        return after.decode("utf-8-sig")

    return silenced


def body(text: str, comment: str = "  # kdacheck: ignore[KDA001]") -> str:
    """The function with a comment in the place of the mark."""
    return HEAD + text.replace("¶", comment)


@pytest.mark.parametrize(
    "text",
    [
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)¶\n",
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)¶",
        "    return chunk_kda(\n        q,¶\n        q,\n        q,\n        g,\n        beta,\n        cu_seqlens=cu,\n    )\n",
        # after what stands on the line already
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)  # the old way¶\n",
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)  # type: ignore¶\n",
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)  # noqa: E501¶\n",
        # a line that is continued takes no comment
        "    return chunk_kda(q, q, q, g, \\\n        beta, cu_seqlens=cu)¶\n",
        "    x = \\\n        chunk_kda(q, q, q, g, beta, cu_seqlens=cu)¶\n",
        "    x = chunk_kda(q, q, q, g, beta, cu_seqlens=cu), \\\n        1¶\n",
        # nor one inside a string
        '    x = chunk_kda(q, q, q, g, beta, cu_seqlens=cu), """\n    a # b\n    """¶\n',
        '    x = chunk_kda(q, q, q, g, beta, cu_seqlens=cu), f"""\n    {g}\n    """¶\n',
        '    x = chunk_kda(q, q, q, g, beta, """\n  """, cu_seqlens=cu)¶\n',
        # decorators, with, nested calls, several statements
        "    @torch.no_grad()\n    def f():\n        return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)¶\n    f()\n",
        "    class A(chunk_kda(q, q, q, g, beta, cu_seqlens=cu)[0]):¶\n        pass\n",
        "    with chunk_kda(q, q, q, g, beta, cu_seqlens=cu):¶\n        pass\n",
        "    if chunk_kda(q, q, q, g, beta, cu_seqlens=cu)[0] is None:¶\n        pass\n",
        "    x = 1; y = chunk_kda(q, q, q, g, beta, cu_seqlens=cu); z = 2¶\n",
        "    print(len(chunk_kda(q, q, q, g, beta, cu_seqlens=cu)[0]))¶\n",
        "    x = [\n        chunk_kda(q, q, q, g, beta, cu_seqlens=cu)¶\n        for _ in g\n    ]\n",
        "    return chunk_kda(  # why\n\n        # say\n        q, q, q, g, beta,¶\n        cu_seqlens=cu)\n",
    ],
)
def test_the_comment_stands_where_it_can(silenced, text):
    assert silenced(body(text, "")) == body(text)


def test_blanks_at_the_end_of_the_line_go(silenced):
    call = "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"
    assert silenced(f"{HEAD}{call}  \t\n") == f"{HEAD}{call}  # kdacheck: ignore[KDA001]\n"


def test_a_reason(silenced):
    call = "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"
    text = silenced(f"{HEAD}{call}\n", option="--add-ignore=the kernel is old, see #12")
    assert text == f"{HEAD}{call}  # kdacheck: ignore[KDA001]  the kernel is old, see #12\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# kdacheck: ignore[KDA900]", "# kdacheck: ignore[KDA900, KDA001]"),
        ("# kdacheck: ignore[ KDA900 ]  so", "# kdacheck: ignore[ KDA900, KDA001 ]  so"),
        ("#kdacheck:ignore[]", "#kdacheck:ignore[KDA001]"),
    ],
)
def test_a_comment_of_ours_takes_the_code(silenced, before, after):
    call = "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"
    text = silenced(f"{HEAD}{call}  {before}\n", option="--add-ignore=again")
    assert text == f"{HEAD}{call}  {after}\n"


def test_one_on_another_line_of_the_call_takes_it_too(silenced):
    text = "    return chunk_kda(\n        q, q, q, g,\n        beta,  # kdacheck: ignore[KDA900{}]\n        cu_seqlens=cu)\n"
    assert silenced(HEAD + text.format("")) == HEAD + text.format(", KDA001")


def test_two_rules_share_a_line_and_one_rule_a_statement(silenced):
    text = """\
import torch
from sglang.kernels.ops.attention.helion.kda_replayssm import helion_fused_recurrent_kda_replayssm_decode as step


def run(layer, mixed, a, b, scale, pool, d, k, g, pos, flush, out, slots):
    bias = layer.dt_bias.unsqueeze(0).expand(4, -1, -1)
    return step(mixed, a, b, layer.A_log, bias, scale, pool, d, k, g, pos, flush, out, slots)
"""
    assert silenced(text).splitlines()[-1].endswith("slots)  # kdacheck: ignore[KDA101, KDA102]")


def test_line_ends_encoding_and_mark_stay(silenced, kdacheck, write):
    call = "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"
    crlf = f"{HEAD}{call}\n".replace("\n", "\r\n")
    assert silenced(crlf) == crlf.replace("cu)\r", "cu)  # kdacheck: ignore[KDA001]\r")
    latin = f"# coding: latin-1\n# caf\xe9\n{HEAD}{call}\n".encode("latin-1")
    path = write("latin.py", latin)
    assert kdacheck("--add-ignore=d\xe9j\xe0", "latin.py").status == 0
    expected = latin.rstrip() + "  # kdacheck: ignore[KDA001]  d\xe9j\xe0\n".encode("latin-1")
    assert path.read_bytes() == expected
    marked = b"\xef\xbb\xbf" + f"{HEAD}{call}\n".encode()
    silenced(marked)
    assert pathlib.Path("model.py").read_bytes().startswith(b"\xef\xbb\xbfimport")


def test_a_reason_that_the_encoding_cannot_hold(kdacheck, write):
    call = "    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"
    data = f"# coding: latin-1\n{HEAD}{call}\n".encode()
    path = write("latin.py", data)
    ran = kdacheck("--add-ignore=漢字", "latin.py")
    assert ran.status == 1
    assert "no comment was written for KDA001: the reason cannot be written in" in ran.err
    assert path.read_bytes() == data


def test_no_line_to_write_on_is_said(kdacheck, write):
    text = HEAD + (
        "    x = chunk_kda(q, q, q, g, beta, cu_seqlens=cu), '''\n"
        "    ''' ; y = 1 # kdacheck: ignore[KDA001\n"
    )
    path = write("model.py", text)
    other = write("other.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    ran = kdacheck("--add-ignore", "--ignore", "KDA900")
    assert ran.status == 1
    assert "model.py:7:19: no comment was written for KDA001: " in ran.err
    assert "wrote comments for 1 finding in 1 file" in ran.err
    assert "KDA001" in ran.out
    assert path.read_text() == text
    assert "ignore[KDA001]" in other.read_text()


def test_every_wrong_call_of_a_corpus(kdacheck, project):
    shutil.copytree(CORPUS, project / "corpus")
    programs = {path: ast.dump(ast.parse(path.read_bytes())) for path in project.rglob("*.py")}
    assert kdacheck("--likely", "--add-ignore", "--no-respect-gitignore").status == 0
    ran = kdacheck("--likely", "--no-respect-gitignore")
    assert ran.status == 0
    for path, program in programs.items():
        assert ast.dump(ast.parse(path.read_bytes())) == program


def test_only_selected_rules(kdacheck, write):
    path = write("model.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    before = path.read_bytes()
    assert kdacheck("--add-ignore", "--select", "KDA1").status == 0
    assert path.read_bytes() == before


def test_what_the_baseline_knows_is_left_alone(kdacheck, write):
    path = write("old.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    before = path.read_bytes()
    assert kdacheck("--baseline", "k.json", "--update-baseline").status == 0
    write("new.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu, scale=1.0)\n")
    ran = kdacheck("--baseline", "k.json", "--add-ignore")
    assert ran.status == 0
    assert path.read_bytes() == before
    assert "ignore[KDA001]" in pathlib.Path("new.py").read_text()


def test_callers_of_a_wrapper_that_spoke_for_them(kdacheck, write):
    """A wrapper that is wrong itself keeps its callers quiet; allowed, it does not, and they get their comments too."""
    write(
        "wrapper.py",
        "from fla.ops.kda import chunk_kda\n\n\n"
        "def attend(q, g, beta, cu):\n"
        "    return chunk_kda(q, q, q, g, beta, cu_seqlen=cu)\n",
    )
    write(
        "model.py",
        "import torch\nfrom wrapper import attend\n\n\n"
        "def run(g, beta, cu: torch.Tensor):\n"
        "    return attend(torch.randn(2, 8, 4, 64), g, beta, cu)\n",
    )
    assert kdacheck("--add-ignore").status == 0
    ran = kdacheck()
    assert ran.out == "No broken call found (2 files checked).\n"


def test_rows_about_comments_and_files_get_none(kdacheck, write):
    unused = write(
        "unused.py", "from fla.ops.kda import chunk_kda\nx = 1  # kdacheck: ignore[KDA001]\n"
    )
    broken = write("broken.py", "from fla.ops.kda import chunk_kda\ndef f(:\n")
    texts = unused.read_bytes(), broken.read_bytes()
    ran = kdacheck("--add-ignore", "--output-format", "concise")
    assert ran.status == 1
    assert "KDA900" in ran.out
    assert "KDA901" in ran.out
    assert (unused.read_bytes(), broken.read_bytes()) == texts


def test_contradictions_are_refused(kdacheck, write):
    path = write("model.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    before = path.read_bytes()
    for others in (["--fix"], ["--diff"], ["--update-baseline"]):
        ran = kdacheck("--add-ignore", *others)
        assert ran.status == 2
        assert f"--add-ignore and {others[0]} exclude each other" in ran.err
    assert "takes files, not standard input" in kdacheck("--add-ignore", "-").err
    for reason in ("two\nlines", "a\rb", "\x0c"):
        ran = kdacheck(f"--add-ignore={reason}")
        assert ran.status == 2
        assert "the reason must be one line of text" in ran.err
    assert path.read_bytes() == before


def test_a_path_behind_the_option_is_no_reason(kdacheck, write):
    path = write("model.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    assert kdacheck("--add-ignore", "model.py").status == 0
    assert path.read_text().endswith("# kdacheck: ignore[KDA001]\n")


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions")
def test_mode_and_links_stay(kdacheck, write):
    path = write("real.py", HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n")
    path.chmod(0o750)
    os.symlink("real.py", "link.py")
    assert kdacheck("--add-ignore", "link.py").status == 0
    assert os.path.islink("link.py")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert "ignore[KDA001]" in path.read_text()
    assert sorted(os.listdir()) == [".kdacheck_cache", "link.py", "real.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_tree_that_may_not_be_written(project, write):
    text = HEAD + "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)\n"
    write("model.py", text).chmod(0o444)
    project.chmod(0o555)
    script = "import sys; from kdacheck.cli import main; sys.exit(main(['--add-ignore']))"
    command = [sys.executable, "-c", script]
    if os.geteuid() == 0:
        prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            pytest.skip("root writes everything, and setpriv does not work")
        command = [*prefix, *command]
    done = subprocess.run(command, capture_output=True, text=True)
    project.chmod(0o755)
    assert done.returncode == 2
    assert "model.py: no comment written: not writable" in done.stderr
    assert "Traceback" not in done.stderr
    assert pathlib.Path("model.py").read_text() == text
