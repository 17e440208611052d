"""Claims about torch operations, compared with torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown, equal
from kdacheck.facts.dims import symbol
from kdacheck.source import torch_semantics as semantics
from kdacheck.source.values import (
    NONE,
    UNKNOWN,
    AnyOf,
    Device,
    DType,
    External,
    Items,
    Span,
    Value,
)
from tests.programs.claims import Assignment, Claims, check
from tests.source.torch_programs import Program, run_programs

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Programs


@pytest.mark.parametrize("start", range(0, 3000, 500))
def test_random_programs_of_known_inputs(start: int) -> None:
    claims, operations = run_programs(range(start, start + 500), "known")
    assert operations > 1500
    assert claims.rate("result") > 0.99
    assert claims.rate("size") > 0.99
    assert claims.rate("dtype") > 0.98
    assert claims.rate("device") > 0.99
    assert claims.rate("dense") > 0.95


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_random_programs_of_symbolic_sizes(start: int) -> None:
    claims, operations = run_programs(range(start, start + 250), "symbolic")
    assert operations > 700
    assert claims.rate("size") > 0.95
    assert claims.rate("dense") > 0.7


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_random_programs_of_tensors_of_unknown_rank(start: int) -> None:
    claims, operations = run_programs(range(start, start + 250), "unknown")
    assert operations > 700
    assert claims.rate("size") > 0.6


# Expressions, evaluated in torch and on facts


class Both:
    """A tensor with its facts; every operation is done on both, and compared."""

    def __init__(self, real: torch.Tensor, facts: TensorFacts) -> None:
        self.real, self.facts = real, facts

    @classmethod
    def of(cls, *shape: int, dtype: torch.dtype = torch.float32) -> Both:
        real = torch.zeros(shape, dtype=dtype)
        name = str(dtype).removeprefix("torch.")
        return cls(real, TensorFacts.of(shape, dense=True, dtype=name, device="cpu"))

    def _compared(self, real: Any, claim: Value | None) -> Any:
        check(claim, real, Assignment(), Claims())
        if isinstance(real, torch.Tensor):
            assert isinstance(claim, TensorFacts)
            return Both(real, claim)
        assert isinstance(claim, Items)
        return tuple(map(self._compared, real, claim.items))

    def __getattr__(self, name: str) -> Any:
        if name in ("T", "mT", "data"):
            return self._compared(getattr(self.real, name), semantics.attribute(self.facts, name))

        def call(*args: Any, **kwargs: Any) -> Any:
            real = getattr(self.real, name)(*map(_real, args), **kwargs)
            named = {key: lift(value) for key, value in kwargs.items()}
            claim = semantics.call_method(name, self.facts, [*map(lift, args)], named)
            return self._compared(real, claim)

        return call

    def __getitem__(self, index: Any) -> Both:
        real = self.real[tuple(map(_real, index)) if isinstance(index, tuple) else _real(index)]
        return self._compared(real, semantics.subscript(self.facts, lift(index)))

    def __add__(self, other: Any) -> Both:
        return self._compared(
            self.real + _real(other), semantics.binary("+", self.facts, lift(other))
        )

    def torch(self, path: str, *args: Any, **kwargs: Any) -> Any:
        function = torch
        for part in path.split("."):
            function = getattr(function, part)
        named = {key: lift(value) for key, value in kwargs.items()}
        claim = semantics.call_function("torch." + path, [self.facts, *map(lift, args)], named)
        assert callable(function)
        return self._compared(function(self.real, *map(_real, args), **kwargs), claim)


def _real(value: Any) -> Any:
    return value.real if isinstance(value, Both) else value


def lift(value: Any) -> Value:
    """An argument as the interpreter has it."""
    if isinstance(value, Both):
        return value.facts
    if isinstance(value, tuple | list):
        return Items(tuple(map(lift, value)), type(value).__name__)
    if isinstance(value, slice):
        return Span(lift(value.start), lift(value.stop), lift(value.step))
    if isinstance(value, torch.dtype):
        return DType(str(value).removeprefix("torch."))
    if isinstance(value, torch.Tensor):
        return TensorFacts.of(
            tuple(value.shape), tuple(value.stride()), dtype=str(value.dtype)[6:], device="cpu"
        )
    return Literal(value)


B, P, H = Both.of(32), Both.of(6, 32), Both.of(4)
G, G2, QKV = Both.of(1, 10, 4, 8), Both.of(2, 10, 4, 8), Both.of(10, 96)
MASK = torch.tensor([True, False, True, True, False, False])
ROWS = torch.tensor([0, 2])

DENSE = {
    "cut": lambda: B[2:9],
    "narrow": lambda: B.narrow(0, 2, 8),
    "chunk": lambda: B.chunk(4, 0)[1],
    "row of a view": lambda: B.view(4, 8)[1],
    "flip": lambda: B.flip(0),
    "rows of a view": lambda: B.view(4, 8)[1:3],
    "row": lambda: P[0],
    "chosen rows": lambda: P[[0, 2]],
    "index_select": lambda: P.index_select(1, ROWS),
    "chosen columns": lambda: P[:, [0, 2]],
    "column cut of one row": lambda: P[:1, :5],
    "one row transposed": lambda: P[1:2].t(),
    "transposed, contiguous": lambda: P.t().contiguous(),
    "transposed, reshaped": lambda: P.t().reshape(-1),
    "transposed, flattened": lambda: P.t().flatten(),
    "expanded to its size": lambda: B.expand(32),
    "expanded by an axis of 1": lambda: B.expand(1, 32),
    "new axis": lambda: B[None],
    "expanded to one column": lambda: H[:, None].expand(-1, 1),
    "repeat": lambda: B.repeat(3),
    "repeat_interleave": lambda: H.repeat_interleave(8),
    "expanded, reshaped": lambda: H[:, None].expand(-1, 8).reshape(-1),
    "expanded, cloned": lambda: H[:, None].expand(-1, 8).clone(),
    "expanded, added to": lambda: H[:, None].expand(-1, 8) + 0,
    "expanded, in double": lambda: H[:, None].expand(-1, 8).double(),
    "like an expanded one": lambda: H[:, None].expand(-1, 8).torch("zeros_like"),
    "column cut, cloned": lambda: P[:, :5].clone(),
    "column cut, in double": lambda: P[:, :5].double(),
    "token cut of one batch": lambda: G[:, :6],
    "later tokens of one batch": lambda: G[:, 2:6],
    "batch cut that cuts nothing": lambda: G[:6],
    "batch taken": lambda: G[0],
    "transposed past a 1": lambda: Both.of(5, 1, 4, 8).transpose(0, 1),
    "reshape that copies": lambda: Both.of(5, 16, 4).split([2, 2], -1)[1].reshape(5, 32),
    "unbound in front": lambda: Both.of(3, 10, 4, 8).unbind(0)[0],
    "no tokens": lambda: G[:, :0],
    "no columns": lambda: P[:, :0],
}

STRIDED = {
    "every second": lambda: B[::2],
    "column": lambda: P[:, 0],
    "column of a column cut": lambda: P[:, :5],
    "chunk of columns": lambda: P.chunk(2, -1)[0],
    "some of a column": lambda: P[:4, :1],
    "t": lambda: P.t(),
    "T": lambda: P.T,
    "t, detached": lambda: P.t().detach(),
    "t, cloned": lambda: P.t().clone(),
    "t, added to": lambda: P.t() + 0,
    "t, in double": lambda: P.t().double(),
    "like a transposed one": lambda: P.t().torch("empty_like"),
    "expanded rows": lambda: B.expand(3, 32),
    "expanded columns": lambda: H[:, None].expand(-1, 8),
    "broadcast, one head": lambda: Both.of(1)[:, None].torch("broadcast_to", (1, 8)),
    "expanded, still float": lambda: H[:, None].expand(-1, 8).float(),
    "column cut, still float": lambda: P[:, :5].float(),
    "token cut of two": lambda: G2[:, :6],
    "transposed past a 2": lambda: Both.of(5, 2, 4, 8).transpose(0, 1),
    "heads of a split": lambda: QKV.split(32, -1)[0].unflatten(-1, (4, 8)).unsqueeze(0),
    "heads of a cut by view": lambda: QKV[:, :32].view(1, 10, 4, 8),
    "heads of a cut by reshape": lambda: QKV[:, :32].reshape(1, 10, 4, 8),
    "reshape that does not copy": lambda: Both.of(5, 16, 2).split([1, 1], -1)[1].reshape(5, 16),
    "unbound in the middle": lambda: Both.of(1, 10, 3, 4, 8).unbind(2)[0],
    "strided, reshaped to 1-D": lambda: B[::2].reshape(-1),
    "strided, flattened": lambda: B[::2].flatten(),
    "expanded scalar, reshaped": lambda: Both.of(1).expand(32).reshape(-1),
    "packed triple": lambda: Both.of(64, 3072).split(1024, -1)[1].unflatten(-1, (8, 128)),
    "head first, cloned": lambda: Both.of(1, 8, 64, 128).transpose(1, 2).clone(),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense(name: str) -> None:
    result = DENSE[name]()
    assert result.real.is_contiguous()
    assert result.facts.dense is True


@pytest.mark.parametrize("name", STRIDED)
def test_strided(name: str) -> None:
    result = STRIDED[name]()
    assert not result.real.is_contiguous()
    assert result.facts.dense is False


def test_a_mask_leaves_dense_rows() -> None:
    rows = P[MASK]
    assert rows.facts.dense is True
    assert rows.facts.rank == 2


# Symbols


T, N = symbol("T"), symbol("N")


def tensor(*shape: Dim, **facts: Any) -> TensorFacts:
    return TensorFacts.of(shape, **({"dense": True, "dtype": "float32", "device": "cpu"} | facts))


def method(facts: TensorFacts, name: str, *args: Any, **kwargs: Any) -> TensorFacts:
    named = {key: lift(value) for key, value in kwargs.items()}
    result = semantics.call_method(name, facts, [_lifted(arg) for arg in args], named)
    assert isinstance(result, TensorFacts)
    return result


def function(path: str, *args: Any, **kwargs: Any) -> TensorFacts:
    named = {key: _lifted(value) for key, value in kwargs.items()}
    result = semantics.call_function(path, [_lifted(arg) for arg in args], named)
    assert isinstance(result, TensorFacts)
    return result


def _lifted(value: Any) -> Value:
    if isinstance(
        value, TensorFacts | Unknown | AnyOf | DType | Device | Items | Integer | External
    ):
        return value
    if isinstance(value, tuple | list):
        return Items(tuple(map(_lifted, value)), type(value).__name__)
    if value is T or value is N:
        return Integer(value)
    return lift(value)


def test_sizes_that_divide() -> None:
    x = tensor(1, T, 3072)
    assert method(x, "view", 1, T, -1, 128).shape == (1, T, 24, 128)
    assert method(x, "reshape", -1).shape == (3072 * T,)
    assert method(x, "flatten", 0, 1).shape == (T, 3072)
    assert method(x, "unflatten", -1, (24, -1)).shape == (1, T, 24, 128)
    assert method(tensor(6 * T), "view", -1, 3).shape == (2 * T, 3)


def test_a_size_that_may_be_a_hole() -> None:
    x = tensor(1, T, 8)
    width = Integer(symbol("width", low=None))
    result = method(x, "view", 1, width, 8)
    assert result.rank == 3
    size = result.dim(1)
    assert size is not None
    assert not equal(size, width.dim)


def test_slices_of_unknown_length() -> None:
    x = tensor(1, 64, 8)
    cut = semantics.subscript(x, Items((Span(NONE, NONE, NONE), Span(NONE, Integer(N), NONE))))
    assert isinstance(cut, TensorFacts)
    assert cut.dense
    size = cut.dim(1)
    assert size is not None
    assert not isinstance(size, int)
    (((sym,), _),) = size.terms
    assert sym.high == 64


def test_layout_that_depends_on_a_size() -> None:
    heads = tensor(T, 8, 4)
    assert method(heads, "transpose", 0, 1).dense is None
    assert method(tensor(2, T, 4), "transpose", 0, 1).dense is None
    assert method(tensor(1, T, 4), "transpose", 0, 1).dense is True
    several = symbol("several", low=2)
    assert method(tensor(several, 8, 4), "transpose", 0, 1).dense is False


def test_reshape_of_unknown_ratio_may_copy() -> None:
    ratio = symbol("ratio", low=1)
    parts = semantics.call_method(
        "split", tensor(5, 16, 2 * ratio), [Integer(ratio)], {"dim": Literal(-1)}
    )
    assert isinstance(parts, Items)
    part = parts.items[0]
    assert isinstance(part, TensorFacts)
    assert part.shape == (5, 16, ratio)
    flat = semantics.call_method("reshape", part, [Literal(5), Integer(16 * ratio)], {})
    assert isinstance(flat, TensorFacts)
    assert flat.dense is None


def test_unknown_rank() -> None:
    x = TensorFacts(partial={0: 4}, dtypes=frozenset(("bfloat16",)), handle=7)
    assert method(x, "unsqueeze", 0).partial == {0: 1, 1: 4}
    assert method(x, "contiguous").dense
    assert method(x, "contiguous").handle == 7
    assert method(x, "float").dtype == "float32"
    assert method(x, "float").partial == {0: 4}
    assert method(x, "view", 1, 4, 8).shape == (1, 4, 8)
    assert method(x, "transpose", 0, 2).partial == {2: 4}
    assert method(x, "transpose", -1, -2).partial == {}
    assert method(x, "reshape", Unknown()).shape is None
    row = semantics.subscript(x, Literal(0))
    assert isinstance(row, TensorFacts)
    assert row.partial == {}
    cut = semantics.subscript(method(x, "unsqueeze", 0), Span(NONE, Literal(3), NONE))
    assert isinstance(cut, TensorFacts)
    assert cut.partial[1] == 4
    assert semantics.call_method("dim", x, [], {}) is None


def test_alternatives() -> None:
    either = AnyOf((Literal(1), Literal(4)))
    result = semantics.call_function("torch.zeros", [either, Literal(8)], {})
    assert isinstance(result, AnyOf)
    assert [part.shape for part in result.values if isinstance(part, TensorFacts)] == [
        (1, 8),
        (4, 8),
    ]
    many = AnyOf(tuple(map(Literal, range(20))))
    assert semantics.call_function("torch.zeros", [many, Literal(8)], {}) is None
    inside = semantics.call_function("torch.zeros", [Items((either, Literal(8)))], {})
    assert isinstance(inside, TensorFacts)
    assert inside.rank == 2


# Contents and tags


def test_contents() -> None:
    lens = function("torch.tensor", [3, 4, 5])
    offsets = function("torch.nn.functional.pad", method(lens, "cumsum", 0), (1, 0))
    assert offsets.values == (0, 3, 7, 12)
    assert offsets.dtype == "int64"
    assert offsets.tags == {"cumsum", "padded-left"}
    padded_first = method(function("torch.nn.functional.pad", lens, (1, 0)), "cumsum", 0)
    assert padded_first.values == (0, 3, 7, 12)
    assert padded_first.tags == {"cumsum", "padded-left"}
    joined = function(
        "torch.cat", [function("torch.zeros", 1, dtype=torch.int64), method(lens, "cumsum", 0)]
    )
    assert joined.values == (0, 3, 7, 12)
    assert joined.tags == {"cumsum", "padded-left"}
    tail = semantics.subscript(offsets, Span(Literal(1), NONE, NONE))
    assert isinstance(tail, TensorFacts)
    assert tail.values == (3, 7, 12)
    assert tail.tags == {"cumsum"}
    assert method(offsets, "diff").values == (3, 4, 5)
    assert method(offsets, "diff").tags == {"difference"}
    assert method(offsets, "to", torch.int32).values == (0, 3, 7, 12)
    assert method(lens, "repeat_interleave", 2).values == (3, 3, 4, 4, 5, 5)
    assert semantics.call_method("tolist", offsets, [], {}) == Items(
        tuple(map(Literal, (0, 3, 7, 12))), "list"
    )
    last = semantics.subscript(offsets, Literal(-1))
    assert isinstance(last, TensorFacts)
    assert semantics.call_method("item", last, [], {}) == Literal(12)
    assert function("torch.arange", 0, 513, 128).values == (0, 128, 256, 384, 512)
    assert function("torch.full", [3], 2, dtype=torch.int32).values == (2, 2, 2)


def test_contents_that_do_not_fit_are_dropped() -> None:
    assert function("torch.tensor", [300], dtype=torch.uint8).values is None
    assert method(function("torch.tensor", [300]), "to", torch.int8).values is None


def test_division_of_offsets() -> None:
    even, odd = function("torch.tensor", [0, 4, 8]), function("torch.tensor", [0, 5, 8])
    half = semantics.binary("//", even, Literal(2))
    assert isinstance(half, TensorFacts)
    assert (half.values, half.tags) == ((0, 2, 4), {"divided"})
    half = semantics.binary("//", odd, Literal(2))
    assert isinstance(half, TensorFacts)
    assert half.tags == {"divided", "divided-unevenly"}


def test_tags_of_rows_and_clamps() -> None:
    table = function("torch.tensor", [[0, 3, 8], [0, 5, 8]])
    row = semantics.subscript(table, Literal(0))
    assert isinstance(row, TensorFacts)
    assert row.tags == {"row-of-2d", "one-row"}
    slots = function("torch.tensor", [-1, 2, 3])
    assert method(slots, "clamp", min=0).tags == {"clamped", "clamped-padding"}
    assert method(slots, "clamp", min=0).values == (0, 2, 3)
    assert method(tensor(4, dtype="int64"), "clamp", min=0).tags == {"clamped"}
    assert method(tensor(4, 8, dtype="bool"), "sum", -1, dtype=torch.int32).tags == {"sum"}


def test_in_place() -> None:
    slots = function("torch.tensor", [-1, 2, 3], dtype=torch.int32)
    clamped = method(slots, "clamp_", min=0)
    assert (clamped.values, clamped.dtype) == ((0, 2, 3), "int32")
    assert "clamped-padding" in clamped.tags
    assert method(slots, "fill_", 5).values is None
    assert method(tensor(4, 8), "uniform_").shape == (4, 8)
    assert method(method(tensor(4, 8), "t"), "add_", 1).dense is False
    assert semantics.call_method("resize_", tensor(4), [Literal(8)], {}) is None


def test_difference_of_neighbours() -> None:
    offsets = TensorFacts(handle=3)
    tail = semantics.subscript(offsets, Span(Literal(1), NONE, NONE))
    head = semantics.subscript(offsets, Span(NONE, Literal(-1), NONE))
    assert tail is not None
    assert head is not None
    lens = semantics.binary("-", tail, head)
    assert isinstance(lens, TensorFacts)
    assert lens.tags == {"difference"}
    other = semantics.subscript(TensorFacts(handle=4), Span(NONE, Literal(-1), NONE))
    assert other is not None
    mixed = semantics.binary("-", tail, other)
    assert isinstance(mixed, TensorFacts)
    assert mixed.tags == frozenset()


# dtypes and devices


@pytest.mark.parametrize(
    "left", [torch.float32, torch.bfloat16, torch.int32, torch.bool, torch.uint8]
)
@pytest.mark.parametrize(
    "right", [1, 2.5, True, torch.float64, torch.float16, torch.int64, torch.int8]
)
def test_promotion(left: torch.dtype, right: Any) -> None:
    for shape in ((2,), ()):
        for rank in ((2,), ()):
            x = torch.zeros(shape, dtype=left)
            y = torch.zeros(rank, dtype=right) if isinstance(right, torch.dtype) else right
            claim = semantics.binary("+", lift(x), lift(y))
            assert isinstance(claim, TensorFacts)
            assert claim.dtypes == {str((x + y).dtype)[6:]}


def test_integer_dtypes() -> None:
    lens = tensor(4, dtype="int32")
    assert method(lens, "cumsum", 0).dtype == "int64"
    assert method(lens, "cumsum", 0, dtype=torch.int32).dtype == "int32"
    assert method(lens, "sum").dtype == "int64"
    assert method(lens, "diff").dtype == "int32"
    assert method(lens, "repeat_interleave", 2).dtype == "int32"
    assert function("torch.arange", 3).dtype == "int64"
    assert function("torch.cat", [lens, tensor(1, dtype="int64")]).dtype == "int64"


def test_devices() -> None:
    x = tensor(4, 8)
    assert method(x, "cuda").device == "cuda"
    assert method(x, "to", "cuda:1", torch.float16).device == "cuda"
    assert method(x, "to", Device("cuda")).device == "cuda"
    assert method(x, "to", UNKNOWN).device is None
    assert function("torch.zeros", 3, device=Device("cuda")).device == "cuda"
    mixed = semantics.binary("*", method(x, "cuda"), tensor())
    assert isinstance(mixed, TensorFacts)
    assert mixed.device == "cuda"
    expanded = method(tensor(4, 1), "expand", 4, 8)
    assert expanded.dense is False
    assert method(expanded, "cuda").dense is True
    assert method(expanded, "cpu").dense is False
    assert method(expanded.with_(device=None), "cuda").dense is None


def test_defaults_can_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics.Defaults, "dtype", None)
    monkeypatch.setattr(semantics.Defaults, "device", None)
    made = function("torch.randn", 3)
    assert made.dtypes is None
    assert made.device is None
    assert function("torch.arange", 3).dtype == "int64"


def test_module_constants() -> None:
    assert semantics.module_constant("torch.long") == DType("int64")
    assert semantics.module_constant("torch.bfloat16") == DType("bfloat16")
    assert semantics.module_constant("torch.nn") is None


# Calls that torch refuses, and calls that nobody models


def test_what_torch_refuses_is_unknown() -> None:
    x = tensor(4, 8)
    assert semantics.call_method("view", x, [Literal(3), Literal(5)], {}) is None
    assert semantics.call_method("view", method(x, "t"), [Literal(-1)], {}) is None
    assert semantics.call_method("transpose", x, [Literal(0), Literal(5)], {}) is None
    assert semantics.call_method("squeeze", x, [Literal(2)], {}) is None
    assert semantics.call_method("expand", x, [Literal(4), Literal(9)], {}) is None
    assert semantics.subscript(x, Literal(4)) is None
    assert semantics.binary("+", x, tensor(3)) is None
    assert semantics.call_function("torch.cat", [Items((x, tensor(3)))], {}) is None
    assert semantics.call_method("view", x, [], {"nonsense": Literal(1)}) is None


def test_what_is_not_modelled_is_unknown() -> None:
    assert semantics.call_function("torch.fft.fft", [tensor(4)], {}) is None
    assert semantics.call_method("frobnicate", tensor(4), [], {}) is None
    assert semantics.attribute(tensor(4), "grad_fn") is None


ODD: list[Value] = [
    UNKNOWN,
    NONE,
    Literal("x"),
    Literal(1.5),
    Literal(True),
    Literal(...),
    Literal(-7),
    Integer(symbol("i", low=None)),
    Items(()),
    Items((UNKNOWN, Literal(2))),
    Span(UNKNOWN, Literal(2), UNKNOWN),
    DType(None),
    Device(None),
    AnyOf((Literal(0), UNKNOWN)),
    External("somewhere.thing"),
    tensor(2, 3),
    TensorFacts(),
]


def test_no_argument_makes_a_transfer_function_raise() -> None:
    from kdacheck.source.torch_registry import FUNCTIONS, METHODS

    receivers = [
        tensor(2, 3),
        tensor(),
        tensor(T, 0),
        TensorFacts(partial={1: 2}),
        tensor(4, dtype="int64", values=[1, 2, 3, 4]),
    ]
    for receiver in receivers:
        for first in ODD:
            for name in METHODS:
                semantics.call_method(name, receiver, [first], {})
                semantics.call_method(name, receiver, [first, Literal(1)], {})
                semantics.call_method(name, receiver, [], {"dim": first})
            semantics.subscript(receiver, first)
            for op in ("+", "//", "@", "**", "&"):
                semantics.binary(op, receiver, first)
                semantics.binary(op, first, receiver)
            semantics.compare("<", receiver, first)
    for first in ODD:
        for path in FUNCTIONS:
            semantics.call_function(path, [first], {})
            semantics.call_function(path, [first, first], {})
            semantics.call_function(path, [tensor(2, 3), first, first], {})


def test_importing_needs_no_torch() -> None:
    code = (
        "import sys; import kdacheck.source.torch_semantics; "
        "print([name for name in ('torch', 'einops', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_programs_are_the_same_every_time() -> None:
    first, second = Program(5, "symbolic"), Program(5, "symbolic")
    first.run(5)
    second.run(5)
    assert [line.split("TensorFacts")[0] for line in first.log] == [
        line.split("TensorFacts")[0] for line in second.log
    ]
