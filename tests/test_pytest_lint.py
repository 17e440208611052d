"""`pytest --kdacheck-lint`, in runs of pytest of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

from kdacheck.config import Configuration
from kdacheck.linter import lint_text
from tests.conftest import Ran

pytest_plugins = ["pytester"]

ROOT = pathlib.Path(__file__).parents[1]

#: The imports stand where they are not run: the library need not be installed.
TEST = """\
def call(g, beta):
    import torch
    from fla.ops.kda import chunk_kda

    q = torch.randn(2, 128, 8, 64)
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))


def test_nothing():
    pass
"""

PLUGIN = (
    []
    if any(point.name == "kdacheck" for point in entry_points(group="pytest11"))
    else ["-p", "kdacheck.pytest_plugin"]
)
OPTIONS = ["-p", "no:cacheprovider", *PLUGIN, "--strict-markers", "--color=no"]


@pytest.fixture(scope="module", autouse=True)
def linter() -> None:
    """Import all of the linter first: `pytester` takes away what is imported in its time, which may be a half of it."""
    assert lint_text("model.py", TEST.encode(), Configuration()).findings


@pytest.fixture
def project(pytester: pytest.Pytester) -> pathlib.Path:
    """An empty folder, and the current one."""
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    return pytester.path


@pytest.fixture
def run(pytester: pytest.Pytester, project: pathlib.Path) -> Callable[..., Ran]:
    def run(*options: str) -> Ran:
        done = pytester.runpytest_inprocess(*OPTIONS, *options)
        out, err = done.stdout.str(), done.stderr.str()
        assert "INTERNALERROR" not in out + err
        return Ran(int(done.ret), out, err)

    return run


def test_a_file_with_findings_fails_and_shows_them_in_full(run, write, right) -> None:
    write("tests/test_model.py", TEST)
    write("tests/helper.py", right)
    ran = run("--kdacheck-lint", "-v")
    assert ran.status == 1
    assert "tests/helper.py::kdacheck PASSED" in ran.out
    assert "tests/test_model.py::kdacheck FAILED" in ran.out
    assert "tests/test_model.py::test_nothing PASSED" in ran.out
    assert "KDA001 unflattened-batch: `chunk_kda`" in ran.out
    assert "--> tests/test_model.py:6:22" in ran.out
    assert "= origin: `q`: randn made it [2, 128, 8, 64]" in ran.out
    assert "Traceback" not in ran.out
    assert "Error" not in ran.out.partition("short test summary")[0]


def test_nothing_is_linted_unless_asked(run, write) -> None:
    write("test_model.py", TEST)
    ran = run("-v")
    assert ran.status == 0
    assert "kdacheck " not in ran.out.partition("collecting")[2]


def test_items_are_chosen_by_marker_and_by_path(run, write) -> None:
    write("test_model.py", TEST)
    write("test_other.py", "def test_other():\n    pass\n")
    ran = run("--kdacheck-lint", "-m", "kdacheck_lint", "-v")
    assert "1 failed, 1 passed, 2 deselected" in ran.out
    assert "1 passed" in run("--kdacheck-lint", "-m", "kdacheck_lint", "test_other.py").out
    assert "1 failed" in run("--kdacheck-lint", "test_model.py::kdacheck").out


def test_callers_of_wrappers_outside_the_tests_are_judged(run, write) -> None:
    write("src/pkg/__init__.py", "")
    write(
        "src/pkg/layers.py",
        "from fla.ops.kda import chunk_kda\n\n\n"
        "def layer(q, k, v, g, beta, cu):\n"
        "    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)\n",
    )
    write(
        "src/pkg/test_layers.py",
        "def call(g, beta):\n    import torch\n    from pkg.layers import layer\n\n"
        "    q = torch.randn(2, 8, 4, 64)\n"
        "    return layer(q, q, q, g, beta, torch.tensor([0, 8, 16]))\n",
    )
    ran = run("--kdacheck-lint", "src/pkg/test_layers.py", "-m", "kdacheck_lint")
    assert ran.status == 1, ran.out
    assert "(via layer)" in ran.out


def test_it_goes_with_the_runtime_and_with_workers(project: pathlib.Path, write) -> None:
    pytest.importorskip("xdist")
    write("test_model.py", TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "--kdacheck-lint", "--kdacheck", "-n", "1"],
        # Options of the outer run, its coverage say, are not for the project's own.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "KDACHECK": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "KDA001 unflattened-batch" in done.stdout


def test_excluded_files_and_settings_of_the_project_count(run, write) -> None:
    write("test_model.py", TEST)
    write("third_party/test_theirs.py", TEST)
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nexclude = ["third_party"]\nignore = ["KDA001"]\n',
    )
    ran = run("--kdacheck-lint", "-m", "kdacheck_lint", "-v")
    assert ran.status == 0, ran.out
    assert "test_model.py::kdacheck PASSED" in ran.out
    assert "third_party/test_theirs.py::kdacheck" not in ran.out


def test_settings_that_cannot_be_used_end_the_run(run, write) -> None:
    write("test_model.py", TEST)
    write("pyproject.toml", "[tool.kdacheck]\nselekt = []\n")
    ran = run("--kdacheck-lint")
    assert ran.status == 4
    assert "unknown key `tool.kdacheck.selekt`" in ran.err


def test_a_file_that_cannot_be_read_as_python_fails_with_its_place(run, write) -> None:
    write("helper.py", "from fla.ops.kda import chunk_kda\ndef half(:\n")
    ran = run("--kdacheck-lint")
    assert ran.status == 1
    assert "KDA901 unreadable-file" in ran.out
    assert "--> helper.py:2:1" in ran.out
