"""The hook as pre-commit runs it: from a clone, in an environment that pre-commit makes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.clones import clone, git


@pytest.fixture(scope="module")
def hooks(tmp_path_factory) -> tuple[pathlib.Path, str]:
    """A clone of the project with the working tree's state in its last commit."""
    pytest.importorskip("pre_commit")
    made = clone(tmp_path_factory.mktemp("hooks") / "clone")
    return made, git("rev-parse", "HEAD", cwd=made)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> pathlib.Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def commit(hooks, home, project):
    """Runs the hook on files that are about to be committed; gives status and output."""
    repository, revision = hooks
    git("init", "-q", ".", cwd=project)

    def commit(hook: str = "kdacheck", **files: str) -> tuple[int, str]:
        config = f"repos:\n- repo: {repository}\n  rev: {revision}\n  hooks:\n  - id: {hook}\n"
        (project / ".pre-commit-config.yaml").write_text(config)
        for name, text in files.items():
            (project / name.replace("_", ".")).write_text(text)
        git("add", "-A", cwd=project)
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run"],
            cwd=project,
            env={**os.environ, "PRE_COMMIT_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        output = done.stdout + done.stderr
        if "No matching distribution" in output or "Could not find a version" in output:
            pytest.skip("the package index cannot be reached")
        assert "Traceback" not in output
        return done.returncode, output

    return commit


def test_a_wrong_call_is_stopped_with_its_code(commit, wrong):
    status, output = commit(model_py=wrong)
    assert status == 1
    assert "KDA001" in output
    assert "model.py:7:22" in output


def test_a_right_call_passes(commit, right):
    status, output = commit(model_py=right)
    assert status == 0
    assert "Passed" in output


def test_no_python_file_passes(commit):
    status, output = commit(notes_txt="chunk_kda")
    assert status == 0
    assert "Skipped" in output


def test_excluded_files_pass_though_they_are_named(commit, wrong):
    status, output = commit(
        model_py=wrong, pyproject_toml='[tool.kdacheck]\nexclude = ["model.py"]\n'
    )
    assert status == 0, output


FIXABLE = """\
import flash_kda
import torch


def run(q, k, v, g, beta, out, A_log, dt_bias):
    cu = torch.arange(0, 50, 10, device="cuda")[::2]
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
"""


def test_the_fixing_hook_writes_what_is_safe_and_passes_once_that_is_added(commit, project, wrong):
    status, output = commit("kdacheck-fix", model_py=FIXABLE)
    assert status == 1
    assert "files were modified by this hook" in output
    fixed = (project / "model.py").read_text("utf-8")
    assert fixed == FIXABLE.replace("cu_seqlens=cu)", "cu_seqlens=cu.contiguous())")
    status, output = commit("kdacheck-fix")
    assert status == 0, output
    # what is not safe to fix is left alone, and stops the commit
    status, output = commit("kdacheck-fix", model_py=wrong)
    assert status == 1
    assert "KDA001" in output
    assert (project / "model.py").read_text("utf-8") == wrong
