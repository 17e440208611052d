"""A project that defines a callee of the catalogue itself is held to its own signature, and to the laws that stay."""

from __future__ import annotations

import pytest

from kdacheck.linter import forget

KERNEL = """\
def chunk_kda(q, k, v, g, beta, scale=None, cu_seqlens=None, fresh_flag=False{more}):
    return launch(q, k, v)
"""

CALL = """\
import torch
from fla.ops.kda import chunk_kda

def run(k, v, g, beta, lengths):
    q = torch.randn({rows}, 128, 4, 64)
    cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu, {keywords})
"""


def write_library(write, at: str = "", kernel: str = KERNEL.format(more="")) -> None:
    for folder in ("fla", "fla/ops", "fla/layers", "fla/ops/kda"):
        write(f"{at}{folder}/__init__.py", "")
    write(f"{at}fla/ops/kda/__init__.py", "from .chunk import chunk_kda\n")
    write(f"{at}fla/ops/kda/chunk.py", kernel)


@pytest.mark.parametrize(
    ("rows", "keywords", "codes"),
    [
        (1, "fresh_flag=True", []),
        (2, "fresh_flag=True", ["KDA001"]),
        (1, "freshflag=True", ["KDA501"]),
        (1, "use_gate_in_kernel=True", ["KDA501"]),
    ],
)
@pytest.mark.parametrize(
    ("at", "caller"),
    [
        ("", "fla/layers/kda.py"),
        ("", "tests/ops/test_kda.py"),
        ("src/", "benchmarks/run.py"),
        ("python/", "test/srt/run.py"),
    ],
)
def test_its_own_parameters_count(kdacheck, write, at, caller, rows, keywords, codes):
    write_library(write, at)
    write(caller, CALL.format(rows=rows, keywords=keywords))
    ran = kdacheck("--output-format", "concise")
    assert [line.split()[1] for line in ran.out.splitlines()[:-1] if "KDA" in line] == codes


def test_a_library_that_is_only_used_has_the_parameters_of_its_release(kdacheck, write):
    write("run.py", CALL.format(rows=1, keywords="fresh_flag=True"))
    assert "KDA501" in kdacheck("--output-format", "concise").out


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL.format(more=", **options"),
        KERNEL.format(more="").replace("q, k", "*operands, k"),
        "chunk_kda = compiled(whatever)\n",
        "def _kda(q, k, v, g, beta, cu_seqlens=None, other=0):\n    ...\n\nchunk_kda = _kda\n",
        "def chunk_kda(:\n",
    ],
)
def test_a_keyword_that_its_own_signature_may_take_is_no_mistake(kdacheck, write, kernel):
    write_library(write, kernel=kernel)
    write("fla/layers/kda.py", CALL.format(rows=1, keywords="other=1"))
    ran = kdacheck("--output-format", "concise", "fla/layers")
    assert ran.status == 0, ran.out


def test_positions_are_those_of_its_own_signature(kdacheck, write):
    write_library(write, kernel="def chunk_kda(q, k, v, beta, g, cu_seqlens=None):\n    ...\n")
    write(
        "fla/layers/kda.py",
        "import torch\nfrom fla.ops.kda import chunk_kda\n\ndef run():\n"
        "    q, beta = torch.randn(2, 128, 4, 64), torch.randn(2, 128, 4)\n"
        "    return chunk_kda(q, q, q, beta, q)\n",
    )
    assert kdacheck().status == 0


def test_a_caller_is_read_anew_when_the_signature_changes(kdacheck, write):
    write_library(write)
    write("fla/layers/kda.py", CALL.format(rows=1, keywords="fresh_flag=True"))
    assert kdacheck().status == 0
    write_library(write, kernel=KERNEL.format(more="").replace("fresh_flag", "fresh_flags"))
    forget()
    ran = kdacheck("--output-format", "concise")
    assert "`chunk_kda` (fla-core of this project): there is no parameter `fresh_flag`" in ran.out
    assert "did you mean `fresh_flags`?" in ran.out


POOL = """\
import torch
from sglang.kernels.ops.attention.fla.kda import chunk_kda

def run(q, k, v, g, beta, states, indices, cu):
    return chunk_kda(q, k, v, g, beta, initial_state=states[indices], cu_seqlens=cu)
"""


@pytest.mark.parametrize(("more", "status"), [("", 0), (", initial_state_indices=None", 1)])
def test_what_its_own_signature_lacks_is_not_missing(kdacheck, write, more, status):
    folder = "python/sglang/kernels/ops/attention/fla"
    for parent in ("", "/kernels", "/kernels/ops", "/kernels/ops/attention", ""):
        write(f"python/sglang{parent}/__init__.py", "")
    write(f"{folder}/__init__.py", "")
    head = "def chunk_kda(q, k, v, g, beta, scale=None, initial_state=None, cu_seqlens=None"
    write(f"{folder}/kda.py", f"{head}{more}, **kwargs):\n    ...\n")
    write("test/run.py", POOL)
    ran = kdacheck("--output-format", "concise", "test")
    assert (ran.status, "KDA404" in ran.out) == (status, bool(status))


@pytest.mark.parametrize(("more", "codes"), [("", []), (None, ["KDA402"])])
def test_another_release_may_keep_states_in_another_precision(kdacheck, write, more, codes):
    if more is not None:
        write_library(write, kernel=KERNEL.format(more=", initial_state=None"))
    write(
        "fla/layers/kda.py" if more is not None else "run.py",
        "import torch\nfrom fla.ops.kda import chunk_kda\n\ndef run(q, k, v, g, beta):\n"
        "    h0 = torch.zeros(2, 4, 64, 64, dtype=torch.bfloat16)\n"
        "    return chunk_kda(q, k, v, g, beta, initial_state=h0)\n",
    )
    ran = kdacheck("--output-format", "concise")
    assert [line.split()[1] for line in ran.out.splitlines() if "KDA" in line] == codes
