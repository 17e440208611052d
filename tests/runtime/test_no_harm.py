"""A contract never changes a program that keeps it: results, memory, errors, threads, processes, introspection."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import gc
import inspect
import itertools
import logging
import multiprocessing
import os
import pickle
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float, Int
from torch import Tensor

import kdacheck
from kdacheck.clauses import Dense, Packed, PerSequence, SameDevice, States
from tests.runtime.contracted import arguments, attend

LEVELS = ("off", "meta", "values")


def recur(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T H V"],
    beta: Float[Tensor, "B T H"],
    state: Float[Tensor, "N H K V"] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    *,
    out: Float[Tensor, "B T H V"] | None = None,
    scale: float = 1.0,
) -> Any:
    """The delta rule, step by step; the state and `out` are written in place."""
    rows, tokens = q.shape[:2]
    edges = [0, tokens] if cu_seqlens is None else cu_seqlens.tolist()
    kept, parts = [], []
    for row in range(rows):
        for number, (start, end) in enumerate(itertools.pairwise(edges)):
            index = row if cu_seqlens is None else number
            now = q.new_zeros(*q.shape[2:], v.shape[-1]) if state is None else state[index].clone()
            for t in range(start, end):
                seen = torch.einsum("hk,hkv->hv", k[row, t], now)
                step = torch.einsum("hk,hv->hkv", k[row, t], v[row, t] - seen)
                now = now + beta[row, t][:, None, None] * step
                parts.append(torch.einsum("hk,hkv->hv", q[row, t], now) * scale)
            kept.append(now)
    result = torch.stack(parts).view(rows, tokens, *v.shape[2:])
    if state is not None:
        with torch.no_grad():
            state.copy_(torch.stack(kept))
    if out is not None:
        with torch.no_grad():
            out.copy_(result)
    return result, torch.stack(kept)


contracted_recur = kdacheck.contract(
    Packed(("q", "k", "v", "beta"), by="cu_seqlens"),
    States(("state",)),
    PerSequence("state", by="cu_seqlens", dense="B"),
    Dense(("state",), trailing=2),
    SameDevice(),
)(recur)


@st.composite
def calls(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    """A seed, and what the call is made of."""
    dims = {name: draw(st.integers(1, 3)) for name in ("H", "K", "V")}
    packed = draw(st.booleans())
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return draw(st.integers(0, 2**31)), {
        **dims,
        "packed": packed,
        "lengths": lengths if packed else lengths[:1],
        "batch": 1 if packed else draw(st.integers(1, 2)),
        "dtype": draw(st.sampled_from([torch.float32, torch.float64, torch.bfloat16])),
        "state": draw(st.booleans()),
        "out": draw(st.booleans()),
        "grad": draw(st.booleans()),
        "strided": draw(st.booleans()),
        "cursors": draw(st.sampled_from([torch.int32, torch.int64])),
        "scale": draw(st.sampled_from([1, 0.5])),
    }


def made(seed: int, what: dict[str, Any]) -> dict[str, Any]:
    """The same arguments for the same draw, in memory of their own."""
    torch.manual_seed(seed)
    batch, tokens = what["batch"], sum(what["lengths"])
    heads, key, value = what["H"], what["K"], what["V"]

    def operand(*shape: int) -> Tensor:
        tensor = torch.randn(*shape, 2 if what["strided"] else 1, dtype=what["dtype"])[..., 0]
        return tensor.requires_grad_(what["grad"])

    given: dict[str, Any] = {
        "q": operand(batch, tokens, heads, key),
        "k": operand(batch, tokens, heads, key),
        "v": operand(batch, tokens, heads, value),
        "beta": operand(batch, tokens, heads),
        "scale": what["scale"],
    }
    sequences = len(what["lengths"]) if what["packed"] else batch
    if what["packed"]:
        edges = [sum(what["lengths"][:end]) for end in range(len(what["lengths"]) + 1)]
        given["cu_seqlens"] = torch.tensor(edges, dtype=what["cursors"])
    if what["state"]:
        given["state"] = torch.randn(sequences, heads, key, value, dtype=what["dtype"])
    if what["out"]:
        given["out"] = torch.empty(batch, tokens, heads, value, dtype=what["dtype"])
    return given


def observed(function: Callable[..., Any], given: dict[str, Any]) -> list[Tensor]:
    """Everything that a call leaves: results, what it wrote in place, gradients, the state of the generator."""
    result = function(**given)
    if result[0].requires_grad:
        (result[0].sum() + result[1].sum()).backward()
    tensors = [value for value in given.values() if isinstance(value, Tensor)]
    gradients = [value.grad for value in tensors if value.grad is not None]
    return [*result, *tensors, *gradients, torch.get_rng_state()]


@given(calls())
@settings(max_examples=60, deadline=None)
def test_results_gradients_and_mutations_are_the_same_bits(
    call: tuple[int, dict[str, Any]],
) -> None:
    expected = observed(recur, made(*call))
    for level in LEVELS:
        with kdacheck.checking(level):  # type: ignore[arg-type]
            found = observed(contracted_recur, made(*call))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert one.stride() == other.stride()
            assert torch.equal(one, other)


def test_results_are_the_very_objects_of_the_function() -> None:
    same = object()

    @kdacheck.contract()
    def handing(q: Float[Tensor, "T K"]) -> Any:
        return q, same

    q = torch.zeros(2, 3)
    first, second = handing(q)
    assert first is q
    assert second is same
    assert q._version == 0


# memory


@pytest.fixture
def counted() -> Iterator[None]:
    """References alone decide what lives: no collector runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def watched(given: dict[str, Any]) -> list[weakref.ref[Any]]:
    return [weakref.ref(value) for value in given.values() if isinstance(value, Tensor)]


@pytest.mark.parametrize("level", LEVELS)
def test_arguments_and_results_live_no_longer(counted: None, level: Any) -> None:
    with kdacheck.checking(level):
        given: dict[str, Any] = arguments()
        result = attend(**given)
        refs = [*watched(given), weakref.ref(result)]
        del given, result
        assert not [ref for ref in refs if ref() is not None]


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize(
    "changes", [{"dt_bias": torch.zeros(3)}, {"scale": "half"}, {"strange": 1}]
)
def test_a_broken_call_keeps_nothing_alive(
    counted: None, level: Any, changes: dict[str, Any]
) -> None:
    refs: list[weakref.ref[Any]] = []

    def call() -> None:
        given: dict[str, Any] = {**arguments(), **changes}
        refs.extend(watched({k: v for k, v in given.items() if k not in changes}))
        attend(**given)

    codes: tuple[str, ...] = ()
    with kdacheck.checking(level):
        try:
            call()
        except kdacheck.ContractError as error:
            codes = error.codes
    assert codes
    assert not [ref for ref in refs if ref() is not None]


def test_an_error_of_the_kernel_keeps_nothing_alive(counted: None) -> None:
    refs: list[weakref.ref[Any]] = []

    def call() -> None:
        q = torch.zeros(2, 3)
        refs.append(weakref.ref(q))
        failing(q)

    with contextlib.suppress(ZeroDivisionError):
        call()
    assert refs[0]() is None


def test_dry_calls_keep_nothing_alive(counted: None) -> None:
    with kdacheck.dry():
        given: dict[str, Any] = arguments()
        result = attend(**given)
        refs = [*watched(given), weakref.ref(result)]
        del given, result
        assert not [ref for ref in refs if ref() is not None]


def test_broken_calls_take_no_memory_in_the_long_run() -> None:
    import tracemalloc

    def many() -> None:
        for _ in range(30):
            with pytest.raises(kdacheck.ContractError):
                attend(**arguments(beta=torch.zeros(1, 8, 3)))
            with pytest.raises(kdacheck.ContractError):
                attend(**arguments(scale="half"))

    many()
    gc.collect()
    tracemalloc.start()
    try:
        many()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        many()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000


# errors


@kdacheck.contract(SameDevice())
def failing(q: Float[Tensor, "T K"]) -> Tensor:
    """Raises by itself."""
    return q / (1 // 0)


@kdacheck.contract(Packed(("q",), by="cu"))
def taking(q: Float[Tensor, "B T"], k: Float[Tensor, "B T"], *, cu: Any = None) -> Any:
    """Takes two tensors."""
    return q


WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((torch.zeros(1, 2),), {}),
    ((torch.zeros(1, 2),) * 3, {}),
    ((torch.zeros(1, 2),) * 2, {"j": 1}),
    ((torch.zeros(1, 2),) * 2, {"q": torch.zeros(1, 2)}),
    ((torch.zeros(2, 2),), {"cu": torch.zeros(3)}),
    ((torch.zeros(2, 2),), {"cu": torch.zeros(3), "j": 1}),
]


@pytest.mark.parametrize(("args", "keywords"), WRONG)
@pytest.mark.parametrize("level", LEVELS)
def test_what_python_does_not_take_stays_a_type_error(
    level: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    with kdacheck.checking(level), pytest.raises(TypeError) as raised:
        taking(*args, **keywords)
    if isinstance(raised.value, kdacheck.ContractError):
        again = pickle.loads(pickle.dumps(raised.value))
        assert type(again) is type(raised.value)
        assert str(again) == str(raised.value)
        assert traceback.format_exception_only(again)[0].startswith("kdacheck.ContractError: KDA")


def test_a_broken_call_that_python_takes_is_no_type_error() -> None:
    with pytest.raises(kdacheck.ContractError) as raised:
        taking(torch.zeros(2, 2), torch.zeros(2, 2), cu=torch.zeros(3))
    assert not isinstance(raised.value, TypeError)


@pytest.mark.parametrize("level", LEVELS)
def test_errors_of_the_kernel_pass_as_they_are(level: Any) -> None:
    with kdacheck.checking(level), pytest.raises(ZeroDivisionError) as raised:
        failing(torch.zeros(1, 1))
    assert raised.value.__cause__ is raised.value.__context__ is None
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.name for frame in frames][-1] == "failing"
    ours = os.path.dirname(inspect.getfile(type(attend.__kdacheck_guard__())))  # type: ignore[attr-defined]
    assert sum(frame.filename.startswith(ours) for frame in frames) == 1


# failures of the check itself


class Stubborn(Tensor):
    """A tensor that does not say how it lies in memory."""

    def stride(self, dim: Any = None) -> Any:
        raise LookupError("no strides today")

    def is_contiguous(self, *_: Any, **__: Any) -> Any:
        raise LookupError("no strides today")


def stubborn() -> dict[str, Any]:
    return arguments(dt_bias=torch.zeros(16).as_subclass(Stubborn))


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no pytest ran."""
    monkeypatch.delenv("PYTEST_VERSION")


def fresh() -> Any:
    """A function with a contract like that of `attend`, that has logged nothing yet."""
    return kdacheck.contract(*attend.__kdacheck_clauses__)(attend.__wrapped__)  # type: ignore[attr-defined]


def test_a_check_that_fails_lets_the_call_through_and_is_logged_once(
    production: None, caplog: pytest.LogCaptureFixture
) -> None:
    function = fresh()
    with caplog.at_level(logging.WARNING, "kdacheck"):
        for _ in range(3):
            given = stubborn()
            assert torch.equal(function(**given), given["v"] * 0.5)
        with pytest.raises(kdacheck.ContractError, match="KDA101"):
            function(**arguments(dt_bias=torch.zeros(1).expand(16)))
    (record,) = caplog.records
    assert record.name == "kdacheck"
    assert "failed to check a call of `attend`" in record.getMessage()
    assert "LookupError: no strides today" in record.getMessage()
    # with the exception in it a record would keep the arguments
    assert record.exc_info is None


def test_a_check_that_finds_the_stack_full_raises_nothing_of_its_own(production: None) -> None:
    @kdacheck.contract()
    def kernel(q: Float[Tensor, "B T"], n: int) -> Tensor:
        return q

    q = torch.zeros(2, 3)
    room = sys.getrecursionlimit()

    def deep(left: int, function: Callable[..., Any]) -> str:
        if left:
            return deep(left - 1, function)
        try:
            function(q, "n")
        except kdacheck.ContractError:
            return "refused"
        except RecursionError:
            return "no room"
        return "passed"

    def found(function: Callable[..., Any]) -> list[str]:
        seen = []
        for left in range(room - 250, room):
            try:
                seen.append(deep(left, function))
            except RecursionError:
                seen.append("no room")
        return seen

    bare, ours = found(lambda q, n: kernel.__wrapped__(q, n)), found(kernel)  # type: ignore[attr-defined]
    assert {"refused", "passed"} <= set(ours)
    # a check takes a few frames more than a call, and asks for no more where there are none
    lost = [a for a, b in zip(ours, bare, strict=True) if a == "no room" and b == "passed"]
    assert len(lost) < 8


def test_a_check_that_fails_surfaces_under_pytest() -> None:
    with pytest.raises(LookupError, match="no strides today"):
        fresh()(**stubborn())


def test_a_check_that_fails_surfaces_at_values(production: None) -> None:
    with kdacheck.checking("values"), pytest.raises(LookupError, match="no strides today"):
        fresh()(**stubborn())


def test_a_contract_that_cannot_be_made_lets_calls_through(
    production: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crooked:
        def __repr__(self) -> str:
            raise LookupError("no words")

    def kernel(q: Tensor) -> Tensor:
        return q

    kernel.__annotations__["q"] = Crooked()
    function: Any = kdacheck.contract(SameDevice())(kernel)
    q = torch.zeros(2, 3)
    with caplog.at_level(logging.WARNING, "kdacheck"):
        assert function(q) is q
        assert function(q) is q
    assert len(caplog.records) == 1
    monkeypatch.setenv("PYTEST_VERSION", "9")
    other: Any = kdacheck.contract(SameDevice())(kernel)
    with pytest.raises(LookupError, match="no words"):
        other(q)


PRODUCTION = """\
import logging
import torch
import kdacheck
from tests.runtime.test_no_harm import fresh, stubborn

logging.basicConfig(format="%(name)s %(levelname)s %(message).60s")
function = fresh()
print(tuple(function(**stubborn()).shape), tuple(function(**stubborn()).shape))
"""


def _path() -> str:
    """Where a process of our own finds this checkout, and all that this one finds."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


def test_a_process_without_pytest() -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTION],
        env={**kept, "PYTHONPATH": _path(), "KDACHECK": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "(1, 8, 4, 16) (1, 8, 4, 16)\n", done.stderr
    assert done.stderr.count("kdacheck ERROR kdacheck failed to check a call of `attend`") == 1


def test_a_contract_that_its_author_must_change_raises_everywhere(production: None) -> None:
    @kdacheck.contract(Dense(("bias",)))
    def function(dt_bias: Float[Tensor, "K"]) -> Tensor:
        return dt_bias

    for _ in range(2):
        with pytest.raises(TypeError, match="Dense names `bias`"):
            function(torch.zeros(2))


# threads, processes, tasks


def test_a_pool_of_threads_that_start_together() -> None:
    function = fresh()

    def run(number: int) -> str:
        if number % 2:
            return str(function(**arguments()).shape)
        try:
            function(**arguments(dt_bias=torch.zeros(1).expand(16)))
        except kdacheck.ContractError as error:
            return error.code
        return "passed"

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, range(64)))
    assert found == ["KDA101", "torch.Size([1, 8, 4, 16])"] * 32


def _in_child(queue: Any) -> None:
    try:
        attend(**arguments(cu_seqlens=torch.tensor([1, 3, 8])))
        queue.put("passed")
    except kdacheck.ContractError as error:
        queue.put(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_the_level_that_held() -> None:
    attend(**arguments())
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with kdacheck.checking("values"):
        child = context.Process(target=_in_child, args=(queue,))
        child.start()
    found = queue.get()
    child.join(60)
    assert child.exitcode == 0
    assert isinstance(found, kdacheck.ContractError)
    assert found.code == "KDA302"


@kdacheck.contract(Packed(("q",), by="cu"))
async def later(q: Float[Tensor, "B T"], cu: Tensor | None = None) -> Tensor:
    """A kernel that is awaited."""
    await asyncio.sleep(0)
    return q


def test_coroutine_functions_stay_what_they_are() -> None:
    assert inspect.iscoroutinefunction(later)

    async def main() -> list[Any]:
        right, wrong = torch.zeros(1, 2), torch.zeros(2, 2)
        with pytest.raises(kdacheck.ContractError, match="KDA001") as raised:
            await later(wrong, torch.zeros(3))
        assert raised.value.filename == __file__
        waiting = (
            later(right),
            later(wrong, torch.zeros(3)),  # kdacheck: ignore[KDA001]
            later(wrong),
        )
        return [*await asyncio.gather(*waiting, return_exceptions=True)]

    first, second, third = asyncio.run(main())
    assert first.shape == (1, 2)
    assert isinstance(second, kdacheck.ContractError)
    assert third.shape == (2, 2)


def test_generators_are_checked_when_they_are_called() -> None:
    @kdacheck.contract(Packed(("q",), by="cu"))
    def rows(q: Float[Tensor, "B T"], cu: Tensor | None = None) -> Iterator[Tensor]:
        yield from q

    assert len(list(rows(torch.zeros(2, 3)))) == 2
    with pytest.raises(kdacheck.ContractError, match="KDA001"):
        rows(torch.zeros(2, 3), torch.zeros(3))


# introspection


class Layer(torch.nn.Module):
    """Holds contracted functions in every way."""

    kernel = staticmethod(attend)

    def __init__(self) -> None:
        super().__init__()
        self.chosen = attend

    @property
    @kdacheck.contract()
    def width(self) -> int:
        """The width."""
        return 4

    @kdacheck.contract()
    def forward(self, q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        """Adds."""
        return q + k


def test_what_holds_it_is_copied_and_pickled() -> None:
    layer = Layer()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other.chosen is other.kernel is attend
        assert other.width == 4
        assert torch.equal(other(torch.ones(2, 3), torch.ones(2, 3)), torch.full((2, 3), 2.0))
        with pytest.raises(kdacheck.ContractError, match="KDA203"):
            other(torch.ones(2, 3), torch.ones(2, 4))


BY_VALUE = """\
import cloudpickle
import torch
import kdacheck
from jaxtyping import Float
from torch import Tensor

@kdacheck.contract(kdacheck.clauses.SameDevice())
def kernel(q: Float[Tensor, "B T"], k: Float[Tensor, "B T"]) -> Tensor:
    return q + k

q = torch.ones(2, 3)
kernel(q, q)
again = cloudpickle.loads(cloudpickle.dumps(kernel))
assert again is not kernel
assert torch.equal(again(q, q), q + q)
for function in (kernel, again):
    try:
        function(q, torch.ones(2, 4))
    except kdacheck.ContractError as error:
        print(error.code)
with kdacheck.checking("off"):
    print(again(q, q[:1]).shape)
"""


def test_a_function_of_a_script_is_pickled_by_value() -> None:
    pytest.importorskip("cloudpickle")
    done = subprocess.run(
        [sys.executable, "-c", "import kdacheck.clauses\n" + BY_VALUE],
        env={**os.environ, "PYTHONPATH": _path(), "KDACHECK": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["KDA203", "KDA203", "torch.Size([2, 3])"], done.stderr


def test_signatures_hints_and_sources_are_those_of_the_function() -> None:
    assert inspect.signature(contracted_recur) == inspect.signature(recur)
    assert inspect.getsource(contracted_recur) == inspect.getsource(recur)
    assert inspect.unwrap(contracted_recur) is recur
    assert contracted_recur.__wrapped__ is recur  # type: ignore[attr-defined]
    assert inspect.getdoc(Layer.forward) == "Adds."
    assert inspect.getdoc(Layer.width) == "The width."
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(contracted_recur, name) == getattr(recur, name)


@pytest.mark.parametrize("thing", [recur, "q", Dense])
def test_what_is_no_clause_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"takes clauses of kdacheck\.clauses, not .*@contract\(\)"):
        kdacheck.contract(thing)


def test_a_function_without_a_signature_is_refused(production: None) -> None:
    with pytest.raises(TypeError, match="a contract needs a signature"):
        kdacheck.contract()(torch.add)(torch.zeros(1), torch.zeros(1))


@pytest.mark.parametrize("thing", [Layer, property(lambda self: 1)])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="a contract goes on functions and methods, not on a "):
        kdacheck.contract()(thing)


def test_jaxtyped_below_checks_what_is_returned() -> None:
    import beartype
    from jaxtyping import TypeCheckError, jaxtyped

    @kdacheck.contract(SameDevice())
    @jaxtyped(typechecker=beartype.beartype)
    def narrowing(q: Float[Tensor, "T K"], *, by: int = 0) -> Float[Tensor, "T K"]:
        return q[:, by:]

    assert narrowing(torch.zeros(2, 3)).shape == (2, 3)
    with pytest.raises(TypeCheckError):
        narrowing(torch.zeros(2, 3), by=1)
    with pytest.raises(kdacheck.ContractError, match="KDA204"):
        narrowing(torch.zeros(2))
