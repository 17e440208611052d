"""FLA and SGLang as they are published: a wrong call raises before any kernel is reached, a right one reaches it.

Each runs in a process of its own and is skipped where the library, or what it imports, is not installed:
docs/runtime.md says how to install them without a GPU.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

#: `outcome` of a call: the codes and the release, or "reached" where the library's own code ran.
COMMON = """\
import importlib
import sys
import torch
import kdacheck


def outcome(kernel, *args, **keywords):
    home = sys.modules[kernel.__module__].__file__
    ran = []

    def watch(frame, event, argument):
        if frame.f_code.co_filename == home:
            ran.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        kernel(*args, **keywords)
    except kdacheck.ContractError as error:
        assert not ran, ran
        return f"{' '.join(error.codes)} {error.version}"
    except Exception:
        # there is no GPU
        pass
    finally:
        sys.setprofile(None)
    return "reached" if ran else "not reached"
"""

FLA = """\
kdacheck.enforce("fla")
try:
    from fla.ops.kda import chunk_kda, fused_recurrent_kda
    ops = importlib.import_module("fla.ops")
except Exception as error:
    raise SystemExit(f"skip {error!r}")

x, beta, cu = torch.randn(2, 64, 2, 16), torch.rand(2, 64, 2), torch.tensor([0, 64, 128])
flat, rows = x.reshape(1, 128, 2, 16), beta.reshape(1, 128, 2)
for kernel in (chunk_kda, fused_recurrent_kda, ops.chunk_kda):
    print(outcome(kernel, x, x, x, x, beta, cu_seqlens=cu))
    print(outcome(kernel, flat, flat, flat, flat, rows, cu_seqlens=cu))
"""

SGLANG = """\
kdacheck.enforce("sglang")
try:
    from sglang.kernels.ops.attention.fla.fused_recurrent import fused_recurrent_kda_packed_decode as triton
    from sglang.kernels.ops.attention.helion.kda_decode import (
        helion_fused_recurrent_kda_packed_decode as helion,
    )
    from sglang.kernels.ops.attention.helion.kda_prefill import (
        chunk_kda,
        gate_chunk_cumsum_operands,
    )
    from sglang.kernels.ops.attention.helion.kda_replayssm import (
        helion_fused_recurrent_kda_replayssm_decode as replayssm,
    )
except Exception as error:
    raise SystemExit(f"skip {error!r}")

x, beta, cu = torch.randn(2, 64, 2, 64), torch.rand(2, 64, 2), torch.tensor([0, 64, 128])
pool = {"initial_state": torch.zeros(4, 2, 64, 64), "initial_state_indices": torch.arange(2)}
print(outcome(chunk_kda, x, x, x, x, beta, cu_seqlens=cu, **pool))
more = {"q_scale": 1.0, "a_log": None, "dt_bias": None}
print(outcome(gate_chunk_cumsum_operands, x, x, x, beta, cu_seqlens=cu, **more))
flat = x.reshape(1, 128, 2, 64)
print(outcome(chunk_kda, flat, flat, flat, flat, beta.reshape(1, 128, 2), cu_seqlens=cu, **pool))

rows, heads, dim, length = 4, 8, 64, 16
dense = torch.zeros(heads * dim)
operands = torch.randn(rows, 3 * heads * dim), torch.randn(rows, heads * dim), torch.randn(rows, heads)
state, out, slots = torch.zeros(16, heads, dim, dim), torch.empty(rows, 1, heads, dim), torch.arange(rows)
for kernel in (helion, triton):
    for dt_bias in (torch.zeros(1).expand(heads * dim), torch.zeros(heads, dim), dense):
        print(outcome(kernel, *operands, torch.zeros(heads), dt_bias, 0.088, state, out, slots))
rings = (torch.zeros(16, heads, length, dim),) * 3
for dt_bias in (torch.zeros(heads, dim).unsqueeze(0).expand(4, -1, -1), torch.zeros(2 * heads, dim)[::2], dense):
    ring = *rings, out, slots, torch.zeros(rows, dtype=torch.int32)
    print(outcome(replayssm, *operands, torch.zeros(heads), dt_bias, 0.088, state, *ring))
"""

DRY = """\
with kdacheck.dry():
    try:
        from fla.layers import KimiDeltaAttention
    except Exception as error:
        raise SystemExit(f"skip {error!r}")
    layer = KimiDeltaAttention(hidden_size=64, head_dim=32, num_heads=2).train()
    # the one Triton kernel of the layer that has no contract
    del layer.o_norm
    layer.o_norm = lambda out, gate: out * gate.sigmoid()
    x = torch.randn(1, 128, 64, requires_grad=True)
    out = layer(x)[0]
    out.sum().backward()
    print(tuple(out.shape), tuple(x.grad.shape))
    try:
        layer(torch.randn(2, 64, 64), cu_seqlens=torch.tensor([0, 64, 128]))
    except kdacheck.ContractError as error:
        print(error.code)
"""


def run(code: str) -> list[str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-c", COMMON + code],
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
    assert run(FLA) == ["KDA001 fla-core 0.6.0", "reached"] * 3


def test_sglang() -> None:
    assert run(SGLANG) == [
        "KDA001 sglang 0.5.23",
        "KDA001 sglang 0.5.23",
        "reached",
        *["KDA101 sglang 0.5.23", "KDA102 sglang 0.5.23", "reached"] * 2,
        "KDA101 KDA102 sglang 0.5.23",
        "KDA101 sglang 0.5.23",
        "reached",
    ]


def test_a_layer_of_fla_runs_dry() -> None:
    assert run(DRY) == ["(1, 128, 64) (1, 128, 64)", "KDA001"]
