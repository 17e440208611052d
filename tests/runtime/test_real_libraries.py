"""FLA and SGLang as they are published: a wrong call raises before any kernel is reached.

Each runs in a process of its own and is skipped where the library, or the Triton it imports, is not installed.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

FLA = """\
import importlib
import torch
import kdacheck

kdacheck.enforce("fla")
try:
    from fla.ops.kda import chunk_kda, fused_recurrent_kda
except Exception as error:
    raise SystemExit(f"skip {error!r}")

x, beta, cu = torch.randn(2, 64, 2, 16), torch.rand(2, 64, 2), torch.tensor([0, 64, 128])
for kernel in (chunk_kda, fused_recurrent_kda, importlib.import_module("fla.ops").chunk_kda):
    try:
        kernel(x, x, x, x, beta, cu_seqlens=cu)
    except kdacheck.ContractError as error:
        print(error.code, error.version)
"""

SGLANG = """\
import torch
import kdacheck

kdacheck.enforce("sglang")
try:
    from sglang.kernels.ops.attention.fla.fused_recurrent import fused_recurrent_kda_packed_decode as triton
    from sglang.kernels.ops.attention.helion.kda_decode import (
        helion_fused_recurrent_kda_packed_decode as helion,
    )
except Exception as error:
    raise SystemExit(f"skip {error!r}")

rows, heads, dim = 4, 8, 64
for kernel in (helion, triton):
    for dt_bias in (torch.zeros(1).expand(heads * dim), torch.zeros(heads, dim)):
        try:
            kernel(
                torch.randn(rows, 3 * heads * dim),
                torch.randn(rows, heads * dim),
                torch.randn(rows, heads),
                torch.zeros(heads),
                dt_bias,
                0.088,
                torch.zeros(16, heads, dim, dim),
                torch.empty(rows, 1, heads, dim),
                torch.arange(rows),
            )
        except kdacheck.ContractError as error:
            print(error.code, error.version)
"""


def run(code: str) -> list[str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "KDACHECK": "meta"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.stderr.startswith("skip") or "\nskip" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_fla() -> None:
    assert run(FLA) == ["KDA001 fla-core 0.6.0"] * 3


def test_sglang() -> None:
    assert run(SGLANG) == ["KDA101 sglang 0.5.23", "KDA102 sglang 0.5.23"] * 2
