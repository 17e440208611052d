"""What the interpreter proves: each line that ends in a code is reported with it, and no other line is."""

from __future__ import annotations

import re

import pytest

from kdacheck.source import Unreadable, analyse

HEADER = """\
import functools
from dataclasses import dataclass
from typing import NamedTuple, Optional

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from fla.ops.kda import chunk_kda
from elsewhere import other

CU = torch.empty(int(other()), dtype=torch.int64)
ROWS = (2, 64, 4, 32)
"""

PROGRAMS = """
### branches that agree
def run(k, v, g, beta, flag):
    if flag:
        q = torch.randn(2, 64, 4, 32)
    elif flag is None:
        q = torch.randn(3, 64, 4, 32)
    else:
        q = torch.randn(4, 64, 4, 32)
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### an early exit leaves one branch
def run(k, v, g, beta, flag):
    q = torch.randn(1, 64, 4, 32)
    if flag:
        q = torch.randn(2, 64, 4, 32)
    else:
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### a loop over a literal
def run(k, v, g, beta):
    for rows in (2, 3):
        chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)  # KDA001

### a loop of unknown length keeps what it does not touch
def run(k, v, g, beta, xs):
    q = torch.randn(2, 64, 4, 32)
    total = 0
    for x in xs:
        if x is None:
            continue
        total += other(x)
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### a while loop keeps what it does not touch
def run(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    while True:
        chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
        if other():
            break
    else:
        q = None

### try without a rebinding
def run(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    try:
        other()
    except ValueError:
        q = torch.randn(3, 64, 4, 32)
    finally:
        other()
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### with, walrus and match
def run(k, v, g, beta, mode):
    with torch.no_grad():
        if (q := torch.randn(2, 64, 4, 32)) is not None:
            match mode:
                case "a" | "b":
                    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### comprehensions and unpacking
def run(g, beta):
    q, *rest = [torch.randn(n, 64, 4, 32) for n in (2, 1, 1)]
    chunk_kda(q, *rest, g, beta, cu_seqlens=CU)  # KDA001

### offsets that are known to be given, and to be absent
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
    if cu is None:
        chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
    else:
        chunk_kda(q, k, v, g, beta, cu_seqlens=cu)  # KDA001
    if isinstance(cu, torch.Tensor):
        chunk_kda(q, k, v, g, beta, cu_seqlens=cu)  # KDA001
    if not isinstance(cu, torch.Tensor):
        chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
    chunk_kda(q, k, v, g, beta, cu_seqlens=cu if cu is not None else CU)  # KDA001

### comparisons of shapes
def run(q, k, v, g, beta):
    if q.shape[0] > 1:
        chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
    elif q.shape[0] == 1:
        chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    B, T, H, K = q.shape
    if B in (2, 4):
        chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
    if not B < 2 and q.size(1) > 5:
        chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### asserts and raising guards
def run(q, k, v, g, beta):
    assert all(t.shape[0] == 2 for t in (q, k))
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
def guarded(q, k, v, g, beta):
    if q.shape[0] != 2:
        raise ValueError(q.shape)
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### helpers, lambdas, closures and partials
def double(t):
    return torch.cat([t, t])
def run(k, v, g, beta):
    one = torch.randn(1, 64, 4, 32)
    chunk_kda(double(one), k, v, g, beta, cu_seqlens=CU)  # KDA001
    call = lambda q: chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    call(double(one))  # KDA001
    call(one)
    def closure():
        return chunk_kda(two, k, v, g, beta, cu_seqlens=CU)  # KDA001
    two = double(one)
    closure()
    packed = functools.partial(chunk_kda, beta=beta, cu_seqlens=CU)
    packed(two, k, v, g)  # KDA001
    packed(one, k, v, g)
    packed(two, k, v, g, cu_seqlens=None)

### defaults, star arguments and keywords of helpers
def kernel(q, *rest, cu=None, **options):
    return chunk_kda(q, *rest, cu_seqlens=cu, **options)
def run(k, v, g, beta):
    q = torch.randn(ROWS[0], *ROWS[1:])
    kernel(q, k, v, g, beta)
    kernel(q, k, v, g, beta, cu=CU)  # KDA001
    kernel(q, k, v, g, beta=beta, cu=CU, scale=None)  # KDA001

### attributes from the constructor, buffers and inheritance
class Base(nn.Module):
    rows = 2
    def __init__(self, heads):
        super().__init__()
        self.size = (self.rows, 64, heads, 32)
        self.register_buffer("offsets", torch.zeros(3, dtype=torch.int64))
    def make(self):
        return torch.randn(self.size)
class Layer(Base):
    def forward(self, k, v, g, beta):
        chunk_kda(self.make(), k, v, g, beta, cu_seqlens=self.offsets)  # KDA001
        chunk_kda(self.make(), k, v, g, beta)

### objects of dataclasses and named tuples
@dataclass
class Inputs:
    q: torch.Tensor
    cu: Optional[torch.Tensor] = None
class Sizes(NamedTuple):
    rows: int
    tokens: int = 64
def run(k, v, g, beta):
    rows, tokens = Sizes(2)
    x = Inputs(torch.randn(rows, tokens, 4, 32), cu=CU)
    chunk_kda(x.q, k, v, g, beta, cu_seqlens=x.cu)  # KDA001
    y = Inputs(x.q)
    chunk_kda(y.q, k, v, g, beta, cu_seqlens=y.cu)

### dicts by key
def run(k, v, g, beta, flag):
    inputs = dict(q=torch.randn(2, 64, 4, 32), k=k, v=v, g=g, beta=beta)
    if flag:
        inputs["cu_seqlens"] = CU
    chunk_kda(**inputs)
    inputs.update(cu_seqlens=CU)
    chunk_kda(**inputs)  # KDA001
    inputs["q"] = inputs["q"].view(1, 128, 4, 32)
    chunk_kda(**inputs)

### parameters and fixtures of tests
@pytest.fixture
def rows():
    return 2
@pytest.fixture
def q(rows):
    yield torch.randn(rows, 64, 4, 32)
def test_fixture(q, k, v, g, beta):
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
@pytest.mark.parametrize("n", [2, pytest.param(3, id="three")])
def test_parameters(n, k, v, g, beta):
    chunk_kda(torch.randn(n, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)  # KDA001

### annotations of shapes
def run(q: Float[Tensor, "2 t h k"], p: Float[Tensor, "b t h k"], k, v, g, beta):
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
    chunk_kda(p, k, v, g, beta, cu_seqlens=CU)

### one unknown statement does not blind the rest
def run(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    other[...] @= other() if other else lambda: (yield)
    print(f"{q!r:>{10}}", file=other)
    chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001

### async functions and generators
async def run(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    await other(q)
    async with other() as x:
        async for y in x:
            chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
def steps(k, v, g, beta):
    q = torch.randn(2, 64, 4, 32)
    yield chunk_kda(q, k, v, g, beta, cu_seqlens=CU)  # KDA001
"""


def programs() -> list[tuple[str, str]]:
    parts = re.split(r"^### (.+)\n", PROGRAMS, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def found(program: str) -> set[tuple[int, str]]:
    return {(f.location.row, f.code) for f in analyse("case.py", program.encode(), {})}


@pytest.mark.parametrize(("title", "program"), programs(), ids=[t for t, _ in programs()])
def test_what_is_proved_is_reported(title: str, program: str) -> None:
    text = HEADER + program
    marked = {
        (row, match[1])
        for row, line in enumerate(text.splitlines(), 1)
        if (match := re.search(r"# (KDA\d{3})$", line))
    }
    assert found(text) == marked


CALL = "chunk_kda({q}, k, v, g, beta, cu_seqlens=CU)"
DEFAULTS = """
def run(k, v, g, beta):
    A_log = torch.zeros(4)
    q = torch.zeros(1, 64, 4, 32, device="cuda")
    return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, A_log=A_log, lower_bound=None)
"""


@pytest.mark.parametrize(
    "statement",
    [
        'torch.set_default_device("cuda")',
        'torch.set_default_tensor_type("torch.cuda.FloatTensor")',
        'with torch.device("cuda"):\n    pass',
    ],
)
def test_a_default_device_set_in_the_file_is_unknown(statement: str) -> None:
    assert {code for _, code in found(HEADER + DEFAULTS)} == {"KDA206"}
    assert found(HEADER + statement + DEFAULTS) == set()
    assert {code for _, code in found(HEADER + DEFAULTS)} == {"KDA206"}, "of that file only"


def test_a_default_dtype_set_in_the_file_is_unknown() -> None:
    program = """
def run(k, v, g, beta):
    h0 = torch.zeros(1, 4, 32, 32)
    half = torch.zeros(1, 4, 32, 32, dtype=torch.bfloat16)
    x = h0 if h0.dtype == torch.float64 else half
    flash_kda.fwd(k, k, v, g, beta, 1.0, k, torch.zeros(4), torch.zeros(4, 128), -5.0, cu_seqlens=h0[0, 0, 0])
"""
    header = HEADER + "import flash_kda\n"
    assert (21, "KDA304") in found(header + program)
    assert found(header + "torch.set_default_dtype(torch.float64)" + program) == set()


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 150 + "2" + ")" * 150,
        "+".join(["0"] * 1500) + "+2",
        "-" * 1000 + "2",
        "[" * 90 + "2" + "]" * 90 + "[0]" * 90,
    ],
    ids=["parentheses", "additions", "signs", "brackets"],
)
def test_deep_expressions_do_not_blind_the_rest(expression: str) -> None:
    program = f"x = {expression}\ndef run(k, v, g, beta):\n    " + CALL.format(
        q="torch.zeros(2, 8, 1, 16)"
    )
    assert [code for _, code in found(HEADER + program)] == ["KDA001"]


def chain_of_branches(count: int) -> str:
    lines = [
        "def run(n, k, v, g, beta):",
        "    q = torch.zeros(2, 8, 1, 16)",
        "    if n == 0: pass",
    ]
    lines += [f"    elif n == {i}: other({i})" for i in range(1, count)]
    return "\n".join([*lines, "    " + CALL.format(q="q")])


def nested_branches(count: int) -> str:
    lines = ["def run(n, k, v, g, beta):", " q = torch.zeros(2, 8, 1, 16)"]
    lines += [" " * (i + 1) + f"if n > {i}:" for i in range(count)]
    return "\n".join([*lines, " " * (count + 1) + "pass", " " + CALL.format(q="q")])


@pytest.mark.parametrize(
    "program", [chain_of_branches(1000), nested_branches(90)], ids=["elif", "if"]
)
def test_many_branches_do_not_blind_the_rest(program: str) -> None:
    assert [code for _, code in found(HEADER + program)] == ["KDA001"]


@pytest.mark.parametrize(
    "program",
    ["x = " + "(" * 500 + "2" + ")" * 500, nested_branches(1000), "x = " + "a." * 1500 + "b"],
    ids=["parentheses", "if", "attributes"],
)
def test_what_is_too_deep_is_analysed_or_said_to_be(program: str) -> None:
    text = HEADER + program + "\n" + "def f(k, v, g, beta):\n    " + CALL.format(q="k")
    try:
        said = "" if found(text) == set() else "reported"
    except Unreadable as error:
        said = error.message
    assert said == "" or "too deeply" in said or "cannot be parsed" in said
