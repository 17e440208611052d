"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

MODULE = """\
import pytest
import torch


def call(batch=1, **keywords):
    from fla.ops.kda import chunk_kda

    x = torch.zeros(batch, 8, 2, 4)
    return chunk_kda(x, x, x, x, torch.zeros(batch, 8, 2), **keywords)


def test_right():
    assert call(output_final_state=True)[1].shape == (1, 2, 4, 4)


def test_contents():
    call(cu_seqlens=torch.tensor([1, 8]))


def test_broken():
    call(2, cu_seqlens=torch.tensor([0, 8, 16]))


@pytest.mark.kdacheck("off")
def test_unchecked():
    call(2, cu_seqlens=torch.tensor([0, 8, 16]))


def never(x):
    from fla.ops import kda

    return kda.fused_recurrent_kda(
        x, x, x, x, x
    )
"""


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "test_model.py").write_text(MODULE)
    return tmp_path


def run(project: pathlib.Path, *options: str, ini: str = "") -> str:
    """What pytest prints in a process of its own."""
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}")
    installed = [] if _is_installed() else ["-p", "kdacheck.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *installed, *options],
        cwd=project,
        # Options of the outer run, its coverage say, are not for the project's own.
        env={**os.environ, "PYTHONPATH": str(ROOT), "KDACHECK": "", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout + done.stderr


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.name == "kdacheck" for point in entry_points(group="pytest11"))


def test_dry_runs_where_nothing_is_installed(project: pathlib.Path) -> None:
    out = run(project, "--kdacheck=dry", "--kdacheck-coverage")
    assert "1 failed, 3 passed" in out
    assert "FAILED test_model.py::test_broken - kdacheck.ContractError: KDA001" in out
    assert "fla.ops.kda.chunk_kda (0.6.0): 4 calls, 1 broken" in out
    assert "test_model.py:32: fla.ops.kda.fused_recurrent_kda was not reached" in out
    assert "1 of 2 contracted call sites reached" in out
    assert "decorate.py" not in out


def test_off_unless_asked(project: pathlib.Path) -> None:
    out = run(project)
    assert "4 failed" in out
    assert "No module named 'fla'" in out
    assert "kdacheck (" not in out


def test_levels_by_option_and_ini(project: pathlib.Path) -> None:
    (project / "conftest.py").write_text("import kdacheck\n\nstand_in = kdacheck.dry('fla')\n")
    assert "2 failed, 2 passed" in run(project, "--kdacheck=values", "--kdacheck-coverage")
    assert "1 failed, 3 passed" in run(project, "--kdacheck")
    assert "2 failed, 2 passed" in run(project, ini="kdacheck = values\n")
    assert "1 failed, 3 passed" in run(
        project, ini="kdacheck = meta\nkdacheck_libraries = fla sglang\n"
    )


@pytest.mark.parametrize(
    ("options", "ini", "message"),
    [
        (["--kdacheck=loud"], "", "invalid choice: 'loud'"),
        ([], "kdacheck = loud\n", "kdacheck: no level 'loud': it is one of off, meta, values, dry"),
        (
            ["--kdacheck"],
            "kdacheck_libraries = flaa\n",
            "kdacheck_libraries: no contracts for flaa",
        ),
        (["--kdacheck-coverage"], "", "--kdacheck-coverage needs --kdacheck"),
    ],
)
def test_what_cannot_be_done_is_said(
    project: pathlib.Path, options: list[str], ini: str, message: str
) -> None:
    assert message in run(project, *options, ini=ini)


def test_the_plugin_alone_imports_nothing_heavy() -> None:
    code = (
        "import sys, kdacheck.pytest_plugin; "
        "assert not {'torch', 'libcst', 'kdacheck.contracts', 'kdacheck.runtime'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
