"""Which release of a library a finding is about, and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kdacheck.releases import resolve

WRONG_FROM_0_4_1 = """\
from fla.ops.kda.gate import fused_kda_gate

def run(g, A, head_dim, bias):
    return fused_kda_gate(g, A, head_dim, g_bias=bias)
"""


def lint(folder: Path) -> list[dict[str, str]]:
    command = [sys.executable, "-m", "kdacheck", "--output-format", "json", "--exit-zero", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "torch\nfla-core==0.4.0  # pinned\n"),
        ("requirements-gpu.txt", "flash_linear_attention == 0.4.0\n"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["fla-core==0.4.0"]\n'),
        ("pyproject.toml", '[dependency-groups]\ngpu = ["fla-core[cuda]==0.4.0"]\n'),
        ("uv.lock", '[[package]]\nname = "fla-core"\nversion = "0.4.0"\n'),
    ],
)
def test_pins_of_the_project_choose_the_release(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "layer.py").write_text(WRONG_FROM_0_4_1)
    assert [finding["code"] for finding in lint(tmp_path)] == ["KDA501"]
    (tmp_path / name).write_text(text)
    assert lint(tmp_path) == []


def test_the_configuration_goes_before_pins(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(WRONG_FROM_0_4_1)
    (tmp_path / "requirements.txt").write_text("fla-core==0.4.0\n")
    (tmp_path / "pyproject.toml").write_text('[tool.kdacheck.versions]\nfla-core = "0.6.0"\n')
    (finding,) = lint(tmp_path)
    assert "fla-core 0.6.0, configured" in finding["message"]


WRITTEN_BACK = """\
from fla.ops.kda import chunk_kda as prefill

def run(q, k, v, g, beta, pool, slots, cu):
    o, state = prefill(
        q, k, v, g, beta, initial_state=pool[slots], output_final_state=True, cu_seqlens=cu
    )
    pool[slots] = state.transpose(-1, -2)
    return o
"""


def test_a_finding_where_a_state_is_written_back_names_the_release(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(WRITTEN_BACK)
    (tmp_path / "requirements.txt").write_text("fla-core==0.5.1\n")
    (finding,) = lint(tmp_path)
    assert finding["code"] == "KDA403"
    assert finding["version"] == "0.5.1"
    said = "`chunk_kda` (fla-core 0.5.1, pinned in requirements.txt): the state was read"
    assert finding["message"].startswith(said)


def test_a_lock_file_goes_before_a_requirement(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("fla-core==0.6.0\n")
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "fla-core"\nversion = "0.5.1"\n')
    releases = resolve({}, str(tmp_path))
    assert releases["fla-core"] == "0.5.1"
    assert releases.reasons["fla-core"] == "pinned in uv.lock"


@pytest.mark.parametrize("text", ["fla-core>=0.4.0\n", "fla-core\n", "-r other.txt\n", "\0\n"])
def test_what_does_not_pin_is_not_read_as_a_pin(tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    assert "fla-core" not in resolve({}, str(tmp_path))


def test_broken_toml_pins_nothing(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("[[package\n")
    assert "fla-core" not in resolve({}, str(tmp_path))
