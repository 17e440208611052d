"""Code that is linted is only read; what it and its settings say reaches nothing else and acts nowhere."""

from __future__ import annotations

import html.parser
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from kdacheck import cache as caches
from kdacheck.source.limits import MAX_BYTES

SCRIPT = pathlib.Path(sys.executable).with_name("kdacheck")
POSIX = pytest.mark.skipif(os.name == "nt", reason="names and links that Windows has not")

#: Code that leaves a mark when it is run.
MARK = "open(__import__('os').environ['MARK'], 'a').write(__file__ + '\\n')\n"

#: Modules that kdacheck and Python import on the way, the early and the late ones.
SHADOWS = (
    *(
        "libcst",
        "torch",
        "json",
        "ast",
        "tokenize",
        "tomllib",
        "hashlib",
        "multiprocessing",
        "argparse",
        "difflib",
    ),
    *(
        "concurrent",
        "dataclasses",
        "jaxtyping",
        "beartype",
        "kdacheck_plugin",
        "decimal",
        "logging",
    ),
)
#: Files that other tools run without being asked.
RUN_BY_OTHERS = (
    *(
        "sitecustomize.py",
        "usercustomize.py",
        "conftest.py",
        "setup.py",
        "noxfile.py",
        "__main__.py",
        "manage.py",
    ),
    *("package/__init__.py", "package/__main__.py", "encodings/evil.py", "evil.py"),
)


@pytest.fixture
def mark(tmp_path_factory) -> pathlib.Path:
    return tmp_path_factory.mktemp("marks") / "mark"


@pytest.fixture
def hostile(write, wrong) -> None:
    """A project in which everything leaves a mark when it is run, and one call is wrong."""
    for name in SHADOWS:
        write(f"{name}.py", f"{MARK}{wrong}" if name == "torch" else MARK)
    for name in RUN_BY_OTHERS:
        write(name, f"{MARK}from package import *\n{wrong}")
    write("x.pth", f"import os; {MARK}")
    write(
        "pyproject.toml",
        '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n[tool.kdacheck]\n',
    )
    command = MARK.strip().replace('"', "'")
    write(
        "model.py",
        f'''# -*- coding: utf-8 -*-
"""
>>> {command}
"""
from __future__ import annotations
import torch, einops, pytest, kdacheck
from jaxtyping import Float
from fla.ops.kda import chunk_kda
from evil import *
from package.helper import make

{command}
@kdacheck.contract(eval({command!r}))
def run(q: Float[torch.Tensor, {command!r}], g: "{command}", n=eval({command!r})) -> "{command}":
    x = f"{{{command}}}"
    einops.rearrange(q, {command!r})
    exec({command!r}); globals()["a"] = 1; q.__class__.__init_subclass__()
    return chunk_kda(make(q), q, q, g, n, cu_seqlens=torch.tensor(eval({command!r})))

@pytest.mark.parametrize("q", eval({command!r}))
def test_run(q): run(q)
''',
    )
    write(
        "package/helper.py",
        f"{MARK}import torch\ndef make(q):\n    return torch.zeros(2, 8, 1, 16)\n",
    )
    write("codec.py", f"# coding: evil\n{wrong}")
    write(".kdacheck_cache/old.pickle", pickle.dumps(print))


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    "command",
    [
        [str(SCRIPT)],
        [sys.executable, "-m", "kdacheck"],
        [sys.executable, "-P", "-m", "kdacheck"],
    ],
    ids=["script", "module", "safe path"],
)
def test_nothing_that_is_read_is_run(command, mark, unmeasured) -> None:
    if command[0] == str(SCRIPT) and not SCRIPT.exists():
        pytest.skip("the command is not installed")
    for extra in (
        ["-j", "1"],
        ["-j", "2", "--likely"],
        ["--diff"],
        ["--explain", "model.py:18"],
        ["."],
    ):
        done = subprocess.run(
            [*command, *extra],
            capture_output=True,
            text=True,
            env={**unmeasured, "MARK": str(mark)},
        )
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 2)
        assert not mark.exists(), mark.read_text("utf-8")
    assert (
        "torch.py:8:22"
        in subprocess.run(
            [*command, "--output-format", "concise"],
            capture_output=True,
            text=True,
            env={**unmeasured, "MARK": str(mark)},
        ).stdout
    )


@pytest.mark.usefixtures("hostile")
def test_a_module_of_the_name_kdacheck_is_not_run_by_the_command(write, mark, unmeasured) -> None:
    if not SCRIPT.exists():
        pytest.skip("the command is not installed")
    write("kdacheck.py", MARK)
    write("typing.py", MARK)
    for command in ([str(SCRIPT)], [sys.executable, "-P", "-m", "kdacheck"]):
        done = subprocess.run(
            [*command, "."], capture_output=True, env={**unmeasured, "MARK": str(mark)}
        )
        assert done.returncode in (1, 2)
        assert not mark.exists()


# Settings


@POSIX
@pytest.mark.parametrize(
    "given", ["../kept.json", "/tmp/../{0}/kept.json", "a/../../kept.json", "link/kept.json"]
)
def test_a_file_of_settings_names_no_baseline_elsewhere(
    kdacheck, write, wrong, given, tmp_path_factory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    write("project/model.py", wrong)
    os.symlink(outside, "project/link")
    baseline = given.format(outside)
    write("project/pyproject.toml", f'[tool.kdacheck]\nbaseline = "{baseline}"\n')
    for arguments in (["project"], ["--update-baseline", "project"]):
        ran = kdacheck(*arguments)
        assert ran.status == 2
        assert "`baseline` must lie below the folder of this file" in ran.err
    assert list(outside.iterdir()) == []
    assert sorted(os.listdir()) == ["project"]


@POSIX
def test_settings_and_ignore_files_without_end(kdacheck, write, wrong) -> None:
    write("model.py", wrong)
    for name in (".gitignore", "pyproject.toml", "requirements.txt", "uv.lock"):
        for target in ("/dev/zero", "pipe"):
            if not os.path.exists("pipe"):
                os.mkfifo("pipe")
            os.symlink(target, name)
            assert kdacheck("--no-cache").status in (1, 2)
            os.unlink(name)
    write("pyproject.toml", '[tool.kdacheck]\nextend = "/dev/zero"\n')
    ran = kdacheck()
    assert (ran.status, "not a regular file" in ran.err) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        "[tool]\nkdacheck = 1\n",
        "[tool.kdacheck]\nselect = [1]\n",
        "[tool.kdacheck]\nexclude = [" + '"*a*a*a*a*a*a*b", ' * 50 + "]\n",
        '[tool.kdacheck.per-file-ignores]\n"' + "**/" * 60 + '*.py" = ["KDA001"]\n',
        '[tool.kdacheck]\nexclude = ["[a", "\\u0000", "..", "/", "[!", "{", "**"]\n',
        "[tool.kdacheck]\nversions = {fla-core = '../../x'}\n",
        "[tool.kdacheck]\nextend = 'pyproject.toml'\n",
        "[tool.kdacheck]\nlikely = 9" + "9" * 5_000 + "\n",
        "[tool.kdacheck]\nselect = " + "[" * 5_000 + "\n",
        "[tool.kdacheck]\n\x00\n",
    ],
)
def test_odd_settings_are_clear(process, write, wrong, text) -> None:
    write("a" * 60 + "/" + "a" * 60 + "/model.py", wrong)
    write("pyproject.toml", text)
    ran = process()
    assert ran.status in (0, 1, 2)
    assert ran.status != 2 or ran.err.startswith("kdacheck: error: ")


# The cache


@POSIX
def test_a_cache_that_others_may_write_is_left_alone(kdacheck, write, wrong, right) -> None:
    path = write("model.py", wrong)
    os.utime(path, (0, 0))
    assert kdacheck().status == 1
    folder = pathlib.Path(caches.FOLDER)
    (file,) = folder.glob("*.json")
    poisoned = json.loads(file.read_text("utf-8"))
    for outcome in poisoned["outcomes"].values():
        outcome["findings"] = []
    file.write_text(json.dumps(poisoned), "utf-8")
    assert kdacheck().status == 0, "what this user wrote is believed"
    for shared in (file, folder):
        mode = shared.stat().st_mode
        shared.chmod(0o777)
        assert kdacheck().status == 1
        shared.chmod(mode)
    assert folder.stat().st_mode & 0o022 == 0


@POSIX
def test_links_in_the_place_of_the_cache(kdacheck, write, wrong, tmp_path_factory) -> None:
    victim = tmp_path_factory.mktemp("victim") / "file"
    victim.write_text("kept", "utf-8")
    write("model.py", wrong)
    kdacheck()
    (file,) = pathlib.Path(caches.FOLDER).glob("*.json")
    file.unlink()
    file.symlink_to(victim)
    (file.parent / "CACHEDIR.TAG").unlink()
    (file.parent / "CACHEDIR.TAG").symlink_to(victim)
    assert kdacheck().status == 1
    assert victim.read_text("utf-8") == "kept"
    assert kdacheck("clean").status == 0
    assert victim.read_text("utf-8") == "kept"


# What is shown

ESCAPES = ("\x1b]0;owned\x07", "\x1b[2J", "\u202e", "\x9b31m", "\x08")
NASTY = "a\n::error::owned\r%0A,:]]><script>alert(1)<img src=x onerror=alert(1)>&\"'`|\x1b[2J\u202e\udcff.py"


@pytest.fixture
def nasty(write, wrong) -> None:
    """A wrong call in a file with a name, comments and strings that try to be more than text."""
    text = wrong.replace(
        "    return",
        f"    # {''.join(ESCAPES)} </script><script>alert(1)</script> <!-- ]]> ##[error]\n    return",
    ).replace("beta, cu_", '**{"x\\n::error::owned\\x1b[2J</script>": 1}, beta=beta, cu_')
    path = os.path.join(os.getcwd(), NASTY)
    with open(os.fsencode(path), "wb") as file:
        file.write(text.encode())


@POSIX
@pytest.mark.usefixtures("nasty")
@pytest.mark.parametrize("form", ["full", "concise", "github", "pylint"])
def test_lines_of_text_stay_lines_of_text(process, form) -> None:
    ran = process("--output-format", form, "--no-cache", "--quiet")
    assert ran.status == 1
    for escape in ESCAPES:
        assert escape not in ran.out + ran.err
    assert set(re.findall(r"[^ -~\n\ufffd]", ran.out)) == set()
    starts = [line.lstrip()[:8] for line in ran.out.splitlines()]
    commands = [start for start in starts if start.startswith("::")]
    assert set(commands) <= {"::error "}
    assert bool(commands) is (form == "github")


@POSIX
def test_errors_about_odd_names_are_one_line(process) -> None:
    ran = process("gone\n::error::owned\x1b[2J.py")
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err


@POSIX
@pytest.mark.usefixtures("nasty")
def test_json_formats_hold_the_name_as_it_is(process) -> None:
    for form in ("json", "gitlab", "sarif", "rdjson"):
        text = process("--output-format", form, "--no-cache").out
        json.loads(text)
        assert text.isprintable() or set(re.findall(r"[^ -~\n]", text)) == set()
    log = json.loads(process("--output-format", "sarif", "--no-cache").out)
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    jsonschema.validate(uri, {"type": "string", "pattern": r"^[A-Za-z0-9%._~/\-]*$"})


@POSIX
@pytest.mark.usefixtures("nasty")
def test_xml_and_html_hold_no_more_tags_than_their_own(process) -> None:
    ET.fromstring(process("--output-format", "junit", "--no-cache").out)
    page = process("--output-format", "html", "--no-cache").out
    scripts: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "script":
                scripts.append(tag)
            for name, _ in attrs:
                assert not name.startswith("on")

    Reader().feed(page)
    assert len(scripts) == 1, "the page's own"
    assert "<script>alert" not in page
    assert "default-src 'none'" in page


def test_a_limit_is_a_finding_and_not_the_end(kdacheck, write, wrong) -> None:
    write("large.py", f"from fla.ops.kda import chunk_kda\n# {'x' * MAX_BYTES}\n")
    write("model.py", wrong)
    ran = kdacheck("--output-format", "concise")
    assert ran.status == 1
    assert "large.py:1:1: KDA901 the file is larger than 1 MiB" in ran.out
    assert "model.py:7:22: KDA001" in ran.out
