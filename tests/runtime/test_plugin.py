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


LAYERS = {
    "pkg/__init__.py": "",
    "pkg/ops.py": """\
import functools

from fla.ops.kda import chunk_kda
from fla.ops.kda import fused_recurrent_kda as recurrent


def logged(function):
    @functools.wraps(function)
    def inner(*args, **keywords):
        return function(*args, **keywords)

    return inner


KERNEL = chunk_kda
LOGGED = logged(chunk_kda)


def attend(x, beta):
    return KERNEL(
        x, x, x, x, beta
    )
""",
    "pkg/layer.py": """\
import functools

from pkg import ops
from pkg.ops import KERNEL, LOGGED, attend


class Layer:
    def __init__(self, fast=True):
        self._kernel = KERNEL if fast else ops.recurrent
        self._scaled = functools.partial(ops.chunk_kda, scale=1.0)

    def forward(self, x, beta):
        return self._kernel(x, x, x, x, beta)

    def scaled(self, x, beta):
        return self._scaled(x, x, x, x, beta)

    def renamed(self, x, beta):
        kernel = self._kernel
        return kernel(x, x, x, x, beta)

    def wrapped(self, x, beta):
        return attend(x, beta)

    def logged(self, x, beta):
        return LOGGED(x, x, x, x, beta)
""",
    "test_layer.py": """\
import pytest
import torch

from pkg.layer import Layer


@pytest.mark.parametrize("name", ["forward", "wrapped", "logged"])
def test_layer(name):
    getattr(Layer(), name)(torch.zeros(1, 8, 2, 4), torch.zeros(1, 8, 2))
""",
}


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


def test_coverage_names_every_call_that_the_linter_resolves(tmp_path: pathlib.Path) -> None:
    for name, text in LAYERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    # workers of pytest-xdist count for the process that tells it
    lines = run(tmp_path, "--kdacheck=dry", "--kdacheck-coverage", "-n", "1").splitlines()
    assert [line for line in lines if "was not reached" in line] == [
        "pkg/layer.py:16: fla.ops.kda.chunk_kda was not reached",
        "pkg/layer.py:20: fla.ops.kda.chunk_kda or fla.ops.kda.fused_recurrent_kda was not reached",
    ]
    assert "2 of 4 contracted call sites reached" in lines
    assert "fla.ops.kda.chunk_kda (0.6.0): 3 calls" in lines


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
