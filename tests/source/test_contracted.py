"""A contract on a function of one's own: the linter and the runtime hold its calls to it, in the same words."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import kdacheck
from kdacheck.finding import Finding
from kdacheck.linter import lint
from kdacheck.source import analyse, examine

HEAD = """\
import functools
import torch
import jaxtyping as jt
import kdacheck
from kdacheck import clauses as kc, contract as law
from kdacheck.clauses import (
    Dense, Gate, GateParameters, Indices, Needs, Packed, PerSequence, SameDevice, States, Within,
)
from jaxtyping import Float, Float32, Int, Int32
from torch import Tensor

OPERANDS = ("q", "k", "v")
COMMON = (Packed(OPERANDS, by="cu"), SameDevice())
QUERY = "B T H K"
Value = Float[Tensor, "B T HV V"]

@kdacheck.contract(*COMMON, GateParameters(("bias",)), Dense(("bias",)),
                   States(("state",)), PerSequence("state", by="cu", dense="B"))
def kernel(q: Float[Tensor, QUERY], k: "jt.Float[torch.Tensor, 'B T H K']", v: Value,
           bias: Float32[Tensor, "HV*K"] | None = None, state: Float[Tensor, "N HV K V"] | None = None,
           cu: Int[Tensor, "N+1"] | None = None, *, scale: float = 1.0) -> Float[Tensor, "B T HV V"]:
    return torch.empty_like(v)

PACKED = kdacheck.contract(Packed(("x",), "cu"))

@PACKED
def named(x: Float[Tensor, "B T D"], *more, cu=None, **rest):
    return x

class Layer:
    @law(kc.Packed(("x",), by="cu"), kc.Dense(("x",)))
    def forward(self, x: Float[Tensor, "B T D"], cu: Int[Tensor, "n"] | None = None):
        return x

    @staticmethod
    @law(kc.Dense(("x",)))
    def static(x: Float[Tensor, "B T D"]):
        return x

    @law(kc.Dense(("x",)))
    @classmethod
    def build(cls, x: Float[Tensor, "B T D"]):
        return x

    def hands_on(self, rows, cu):
        return self.forward(rows, cu)

def wrapper(x, *, cu_seqlens=None):
    return named(x, cu=cu_seqlens)

q = torch.randn(1, 8, 4, 16)
cu = torch.tensor([0, 8])
layer = Layer()
rows = torch.randn(2, 4, 6)

def run():
    return """

BROKEN = {
    "kernel(torch.cat((q, q)), torch.cat((q, q)), torch.cat((q, q)), cu=cu)": "KDA001",
    "kernel(q, q, torch.randn(1, 8, 3, 16), bias=torch.zeros(64))": "KDA103",
    "kernel(q, q, q, torch.zeros(1).expand(64))": "KDA101",
    "kernel(q, q, q, state=torch.zeros(2, 4, 16, 16), cu=cu)": "KDA401",
    "kernel(q, q[..., :8], q)": "KDA203",
    "kernel(q, q, q.double().long())": "KDA205",
    "kernel(q, q, q[0])": "KDA204",
    "kernel(q, q, q, bias=torch.zeros(64, dtype=torch.bfloat16))": "KDA106",
    "kernel(q, q, q, biass=None)": "KDA501",
    "kernel(q, q, kernel(q, q, q)[0])": "KDA204",
    "functools.partial(kernel, q, q)(q, torch.zeros(1).expand(64))": "KDA101",
    "named(rows, 1, 2, cu=cu, other=3)": "KDA001",
    "layer.forward(rows, cu)": "KDA001",
    "Layer().forward(x=rows.transpose(1, 2))": "KDA201",
    "Layer.static(rows.transpose(1, 2))": "KDA201",
    "layer.static(rows.transpose(1, 2))": "KDA201",
    "Layer.build(rows.transpose(1, 2))": "KDA201",
    "layer.build(rows.transpose(1, 2))": "KDA201",
    "layer.hands_on(rows, cu)": "KDA001",
    "wrapper(rows, cu_seqlens=cu)": "KDA001",
}

KEPT = (
    "kernel(q, q, q, cu=cu)",
    "kernel(q, q, q, bias=torch.zeros(4, 16).view(-1), scale=0.5)",
    "kernel(q, q, q, state=torch.zeros(1, 4, 16, 16), cu=cu)",
    "kernel(torch.cat((q, q)), torch.cat((q, q)), torch.cat((q, q)))",
    "named(rows, 1, 2, cu=None, other=3)",
    "layer.forward(rows)",
    "Layer.static(rows)",
    "Layer.build(rows)",
    "wrapper(rows)",
)


def linted(text: str) -> list[Finding]:
    return analyse("model.py", text.encode(), {})


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """What a program raises at run time, None where it keeps the contract."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(text: str) -> kdacheck.ContractError | None:
        (tmp_path / "model.py").write_text(text)
        monkeypatch.delitem(sys.modules, "model", raising=False)
        importlib.invalidate_caches()
        with kdacheck.checking("meta"):
            try:
                importlib.import_module("model").run()
            except kdacheck.ContractError as error:
                return error
        return None

    return run


@pytest.mark.parametrize(("call", "code"), BROKEN.items())
def test_linter_and_runtime_say_the_same(call: str, code: str, ran) -> None:
    found = linted(HEAD + call + "\n")
    error = ran(HEAD + call + "\n")
    assert error is not None
    assert [finding.code for finding in found] == list(error.codes) == [code]
    for finding, law in zip(found, error.broken, strict=True):
        sentence = finding.message.partition(" (via ")[0]
        assert sentence == f"`{error.callee}`: {law.message}"
        assert finding.parameter == law.parameter
        assert finding.remedy == law.remedy
        assert finding.callee == error.path


@pytest.mark.parametrize("call", KEPT)
def test_what_keeps_its_contract_passes_both(call: str, ran) -> None:
    assert linted(HEAD + call + "\n") == []
    assert ran(HEAD + call + "\n") is None


@pytest.mark.parametrize(
    "decorators",
    [
        "@kdacheck.contract(Packed(names(), by='cu'))",
        "@kdacheck.contract(*clauses_of(config))",
        "@kdacheck.contract(Packed(('x',), by='cu'), extra)",
        "@kdacheck.contract(Packed(('x',), by='boundaries'))",
        "@kdacheck.contract(Packed(('x',), by='cu', operands=()))",
        "@my_decorator\n@kdacheck.contract(Packed(('x',), by='cu'))",
        "@kdacheck.contract(Packed(('x',), by='cu'))\n@my_decorator",
        "@other.contract(Packed(('x',), by='cu'))",
    ],
)
def test_what_cannot_be_read_is_silence(decorators: str) -> None:
    program = f"{decorators}\ndef f(x: Float[Tensor, 'B T D'], cu=None):\n    return x\n"
    assert linted(HEAD + f"f(rows, cu=cu)\n\n{program}") == []


@pytest.mark.parametrize(
    "decorators",
    [
        "@kdacheck.contract(Packed(('x',), by='cu'), Dense(names()))",
        "@torch.compile\n@kdacheck.contract(Packed(('x',), by='cu'))",
        "@torch.no_grad()\n@kdacheck.contract(Packed(('x',), by='cu'))",
        "@kdacheck.contract(Packed(('x',), by='cu'))\n@helion.kernel(config=c)",
        "@kdacheck.contract(Dense(('x',)))\n@kdacheck.contract(Packed(('x',), by='cu'))",
    ],
)
def test_what_is_left_still_holds(decorators: str) -> None:
    program = f"{decorators}\ndef f(x: Float[Tensor, 'B T D'], cu=None):\n    ...\n"
    assert [f.code for f in linted(HEAD + f"f(rows, cu=cu)\n\n{program}")] == ["KDA001"]


def test_a_default_that_is_not_known_is_no_fact() -> None:
    program = (
        "@law(Needs(('fused',), ('lower',)))\n"
        "def f(x: Float[Tensor, 'B T D'], fused: bool = False, lower={default}):\n    return x\n"
    )
    call = HEAD + "f(rows, fused=True)\n\n"
    assert linted(call + program.format(default="DEFAULTS.lower")) == []
    assert [f.code for f in linted(call + program.format(default="None"))] == ["KDA503"]


def test_a_refused_call_runs_nothing() -> None:
    program = """
from fla.ops.kda import chunk_kda

@law(Packed(("q",), by="cu"))
def f(q: Float[Tensor, "B T H K"], g: Float[Tensor, "B T H K"], beta: Float[Tensor, "B T H"], cu=None):
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)
"""
    call = "f(torch.cat((q, q)), q, q[..., 0], cu)\n"
    (finding,) = linted(HEAD + call + program)
    assert finding.callee == "model.f"
    assert linted(HEAD + "f(q, q, q[..., 0], cu)\n" + program) == []
    (inside,) = linted(HEAD + "f(q, q, q, cu)\n" + program)
    assert inside.code == "KDA204"
    assert inside.callee == "model.f"


def test_what_a_kernel_says_it_returns_goes_on(ran) -> None:
    program = """
@law(Dense(("x",)))
def stub(x: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "T B D"], Float[Tensor, "B D"]]: ...
"""
    call = "layer.forward(stub(rows)[0], cu), layer.forward(stub(rows)[1])\n"
    codes = [f.code for f in linted(HEAD + call + program)]
    assert codes == ["KDA001", "KDA204"]


def test_contracts_are_found_in_other_files(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from .kernels import kernel as reexported\n")
    (package / "kernels.py").write_text(HEAD + "None\n")
    (package / "model.py").write_text("""\
import torch
from . import kernels
from . import reexported
from .kernels import Layer, kernel as attend, PACKED
import pkg.kernels as K

@PACKED
def own(x, cu=None):
    return x

def run():
    q, cu = torch.randn(2, 8, 4, 16), torch.tensor([0, 8])
    attend(q, q, q, cu=cu)
    kernels.kernel(q, q, q, cu=cu)
    K.kernel(q, q, q, cu=cu)
    reexported(q, q, q, cu=cu)
    Layer.static(q.transpose(1, 2)[0])
    own(q, cu)
    attend(q, q, q)
""")
    (tmp_path / "script.py").write_text("""\
import torch
from pkg.kernels import named as own

own(torch.randn(2, 3, 4), cu=torch.tensor([0, 3]))
""")
    found = lint([str(tmp_path)]).findings
    assert [(Path(f.filename).name, f.location.row, f.code) for f in found] == [
        *(("model.py", row, "KDA001") for row in (13, 14, 15, 16)),
        ("model.py", 17, "KDA201"),
        ("model.py", 18, "KDA001"),
        ("script.py", 4, "KDA001"),
    ]


def test_the_bundled_kernels_are_held_to_their_contracts() -> None:
    program = """\
import torch
from kdacheck.kernels import chunk_kda
import kdacheck.kernels as kernels

def run(g, beta):
    q = torch.randn({batch}, 64, 4, 128)
    chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 64]))
    kernels.chunk_kda(q, q, q, g, beta, {bias}=None)
"""
    found = linted(program.format(batch=2, bias="bias"))
    assert [finding.code for finding in found] == ["KDA001", "KDA501"]
    assert linted(program.format(batch=1, bias="dt_bias")) == []


def test_a_file_that_only_defines_hands_its_functions_on() -> None:
    text = HEAD.partition("q = torch.randn")[0]
    analysis = examine("model.py", text.encode(), {})
    assert {"model.kernel", "model.named", "model.Layer", "model.PACKED"} <= analysis.exports
    assert not analysis.findings


def test_the_examples_say_the_same_at_run_time(monkeypatch) -> None:
    examples = Path(__file__).parents[2] / "examples"
    monkeypatch.syspath_prepend(str(examples))
    (finding,) = lint([str(examples / "wrong" / "own_kernel.py")]).findings
    wrong = importlib.import_module("wrong.own_kernel")
    with kdacheck.checking("meta"), pytest.raises(kdacheck.ContractError) as raised:
        wrong.prefill()
    sentence = str(raised.value).partition("\n")[0]
    assert sentence.endswith(f"{finding.code} {finding.name}: {finding.message}")
    importlib.import_module("right.own_kernel").prefill()
