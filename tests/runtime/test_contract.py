"""A decorated function: what passes, what raises, and what of the function stays as it was."""

from __future__ import annotations

import functools
import inspect
import pickle
import subprocess
import sys
from typing import Any, Generic, TypeVar

import numpy
import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

import kdacheck
from kdacheck.clauses import Dense, Gate, Packed, PerSequence, SameDevice, States
from tests.runtime.contracted import arguments, attend, step
from tests.runtime.contracted_objects import of_width

META = torch.device("meta")
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("KDA001", {"q": torch.zeros(2, 4, 2, 4)}),
    ("KDA101", {"dt_bias": torch.zeros(1).expand(16)}),
    ("KDA101", {"dt_bias": torch.zeros(32)[::2]}),
    ("KDA102", {"dt_bias": torch.zeros(4, 4)}),
    ("KDA103", {"dt_bias": torch.zeros(4)}),
    ("KDA103", {"A_log": torch.zeros(2)}),
    ("KDA104", {"beta": torch.zeros(1, 8, 2)}),
    ("KDA104", {"g": torch.zeros(1, 8, 4)}),
    ("KDA106", {"A_log": torch.zeros(4, dtype=torch.bfloat16)}),
    ("KDA203", {"k": torch.zeros(1, 7, 2, 4)}),
    ("KDA204", {"q": torch.zeros(8, 2, 4)}),
    ("KDA205", {"v": torch.zeros(1, 8, 4, 16, dtype=torch.int64)}),
    ("KDA206", {"dt_bias": torch.zeros(16, device=META)}),
    ("KDA304", {"cu_seqlens": torch.tensor([0.0, 3.0, 8.0])}),
    ("KDA305", {"cu_seqlens": torch.tensor([[0, 3, 8]])}),
    ("KDA305", {"cu_seqlens": torch.tensor([0]), "initial_state": None}),
    ("KDA401", {"initial_state": torch.zeros(3, 4, 4, 16)}),
    ("KDA403", {"initial_state": torch.zeros(2, 4, 16, 4)}),
    ("KDA205", {"q": None}),
    ("KDA205", {"beta": [1.0]}),
    ("KDA205", {"scale": "half"}),
]


def test_a_right_call_passes_and_returns_what_the_function_returns() -> None:
    given = arguments()
    assert torch.equal(attend(**given), given["v"] * 0.5)
    assert attend(**arguments(initial_state=None)).shape == (1, 8, 4, 16)
    dense = arguments(cu_seqlens=None, initial_state=torch.zeros(1, 4, 4, 16), scale=1)
    assert attend(**dense).shape == (1, 8, 4, 16)


@pytest.mark.parametrize(("code", "changes"), BROKEN)
def test_a_broken_call_raises_the_code(code: str, changes: dict[str, Any]) -> None:
    with pytest.raises(kdacheck.ContractError) as raised:
        attend(**arguments(**changes))
    assert code in raised.value.codes
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_the_state_follows_the_flag() -> None:
    x, v, slots = torch.zeros(2, 3, 4), torch.zeros(2, 3, 8), torch.tensor([0, 1])
    step(x, torch.zeros(5, 3, 4, 8), slots, v)
    step(x, torch.zeros(5, 3, 8, 4), slots, v, v_first=True)
    with pytest.raises(kdacheck.ContractError, match="KDA403"):
        step(x, torch.zeros(5, 3, 8, 4), slots, v)
    with pytest.raises(kdacheck.ContractError, match="KDA105"):
        step(x, torch.zeros(5, 3, 4, 8), slots, v, dt_bias=torch.zeros(12))
    step(x, torch.zeros(5, 3, 4, 8), slots, v, torch.zeros(3), torch.zeros(3, 4), use_gate=True)
    with pytest.raises(kdacheck.ContractError, match="KDA503"):
        step(x, torch.zeros(5, 3, 4, 8), slots, v, use_gate=True)
    step(x, torch.zeros(5, 3, 4, 8), slots, v, host=torch.zeros(1, device="meta"))


def test_name_doc_signature_and_module_stay() -> None:
    assert attend.__name__ == "attend"
    assert attend.__doc__ == "Gated attention, or what passes for it here."
    assert list(inspect.signature(attend).parameters)[:2] == ["q", "k"]
    assert attend.__module__ == "tests.runtime.contracted"


def test_it_pickles_by_name() -> None:
    assert pickle.loads(pickle.dumps(attend)) is attend


def test_what_cannot_be_bound_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        _one(torch.zeros(2, 2))  # type: ignore[call-arg]


@kdacheck.contract(SameDevice())
def _one(q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
    return q


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(kdacheck.ContractError) as raised:
        attend(**arguments(), cu_seqlen=None)  # type: ignore[call-arg]
    assert raised.value.code == "KDA501"
    assert "did you mean `cu_seqlens`" in str(raised.value)


class Layer:
    """Methods of every kind."""

    @kdacheck.contract(SameDevice())
    def method(self, q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        return q

    @staticmethod
    @kdacheck.contract(SameDevice())
    def static(q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        return q

    @kdacheck.contract(SameDevice())
    @staticmethod
    def static_inside(q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        return q

    @classmethod
    @kdacheck.contract(SameDevice())
    def of_class(cls, q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> type:
        return cls

    @kdacheck.contract()
    def keyword_only(self, *, q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        return q


@pytest.mark.parametrize("name", ["method", "static", "static_inside", "of_class", "keyword_only"])
def test_methods(name: str) -> None:
    function = getattr(Layer(), name)
    function(q=torch.zeros(2, 3), k=torch.zeros(2, 3))
    if name != "keyword_only":
        function(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(kdacheck.ContractError, match="axis 1 is 4"):
        function(q=torch.zeros(2, 3), k=torch.zeros(2, 4))


def test_class_methods_get_their_class() -> None:
    assert Layer.of_class(torch.zeros(1, 1), torch.zeros(1, 1)) is Layer


D = TypeVar("D", bound=Float[Tensor, "T K"])


class Generics(Generic[D]):
    """Dimensions by a type variable's bound, and by a number known when the function is made."""

    @kdacheck.contract()
    def method(self, q: D, k: Float[Tensor, "T K"]) -> D:
        return q


def test_generics_of_dimensions() -> None:
    Generics().method(torch.zeros(2, 3), torch.zeros(2, 3))  # type: ignore[type-var]
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        Generics().method(torch.zeros(2, 3), torch.zeros(2, 4))  # type: ignore[type-var]

    of_width(3)(torch.zeros(2, 3))
    with pytest.raises(kdacheck.ContractError, match="axis 1 is 3, but must be 4"):
        of_width(4)(torch.zeros(2, 3))


def test_variadic_callers() -> None:
    @kdacheck.contract(Packed(("q",), by="cu"))
    def taking(q: Float[Tensor, "B T"], *more: Any, cu: Tensor | None = None, **rest: Any) -> Any:
        return more, rest

    assert taking(torch.zeros(1, 2), 1, 2, cu=torch.zeros(2), other=3) == ((1, 2), {"other": 3})
    with pytest.raises(kdacheck.ContractError, match="KDA001"):
        taking(torch.zeros(2, 2), 1, cu=torch.zeros(2), other=3)


def test_positional_only() -> None:
    @kdacheck.contract()
    def taking(q: Float[Tensor, "T K"], /, k: Float[Tensor, "T K"]) -> Any:
        return q

    taking(torch.zeros(2, 3), k=torch.zeros(2, 3))
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        taking(torch.zeros(2, 3), torch.zeros(3, 3))
    with pytest.raises(TypeError):
        taking(q=torch.zeros(2, 3), k=torch.zeros(2, 3))  # type: ignore[call-arg]


def test_stacks_of_decorators() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        return inner

    @logged
    @kdacheck.contract(SameDevice())
    @logged
    @torch.no_grad()
    def stacked(q: Float[Tensor, "T K"], k: Float[Tensor, "T K"]) -> Tensor:
        return q

    stacked(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        stacked(torch.zeros(2, 3), torch.zeros(2, 4))


Rows = Float[Tensor, "T K"]


def test_names_for_annotations_are_followed() -> None:
    @kdacheck.contract()
    def aliased(q: Rows, k: Rows) -> Tensor:
        return q

    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        aliased(torch.zeros(2, 3), torch.zeros(2, 4))


def test_annotations_that_are_objects() -> None:
    def plain(q, k=None, n=1):  # type: ignore[no-untyped-def]
        return q

    plain.__annotations__ = {
        "q": Float[Tensor, "T K"],
        "k": Int[Tensor, "T"] | Int[Tensor, "T 1"] | None,  # type: ignore[operator]
        "n": int,
    }
    contracted: Any = kdacheck.contract()(plain)
    contracted(torch.zeros(2, 3))
    contracted(torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.int64), n=2)
    for k, n in ((torch.zeros(3, dtype=torch.int64), 1), (torch.zeros(2), 1), (None, "x")):
        with pytest.raises(kdacheck.ContractError):
            contracted(torch.zeros(2, 3), k, n)


#: Axes of jaxtyping that are not plain names: shapes of `q` and `k` that fit, and shapes that do not.
AXES: list[tuple[Any, Any, list[tuple[Any, Any]], list[tuple[Any, Any]]]] = [
    (
        Float[Tensor, "#B K"],
        Float[Tensor, "#B K"],
        [((1, 2), (3, 2)), ((3, 2), (1, 2))],
        [((1, 2), (3, 4))],
    ),
    (Float[Tensor, "_T K"], Float[Tensor, "_T K"], [((1, 2), (3, 2))], [((1, 2), (1, 3))]),
    (
        Float[Tensor, "*rows K"],
        Float[Tensor, "*rows K"],
        [((2,), (2,)), ((3, 4, 2), (3, 4, 2))],
        [((3, 4, 2), (4, 2)), ((3, 4, 2), (3, 5, 2)), ((3, 2), (3, 1))],
    ),
    (
        Float[Tensor, "B *rows"],
        Float[Tensor, "*rows"],
        [((5, 3, 4), (3, 4)), ((5,), ())],
        [((5, 3), (4,)), ((5,), (1,))],
    ),
    (
        Float[Tensor, "*rows K"],
        Float[Tensor, "*rows"] | None,  # type: ignore[operator]
        [((3, 2), (3,)), ((3, 2), None)],
        [((3, 2), (2,))],
    ),
    (Float[Tensor, "rows=4 K"], Float[Tensor, "K"], [((4, 2), (2,))], [((5, 2), (2,))]),
]


@pytest.mark.parametrize(("q", "k", "right", "wrong"), AXES)
def test_axes_that_are_no_plain_names(
    q: Any, k: Any, right: list[tuple[Any, Any]], wrong: list[tuple[Any, Any]]
) -> None:
    def plain(q, k):  # type: ignore[no-untyped-def]
        return q

    plain.__annotations__ = {"q": q, "k": k}
    function: Any = kdacheck.contract()(plain)

    def made(shape: Any) -> Tensor | None:
        return None if shape is None else torch.zeros(shape)

    for first, second in right:
        function(made(first), made(second))
        assert function.__kdacheck_guard__().passes((made(first), made(second)), {})
    for first, second in wrong:
        with pytest.raises(kdacheck.ContractError):
            function(made(first), made(second))


def test_arrays_of_other_libraries_are_left_to_jaxtyping() -> None:
    @kdacheck.contract()
    def mixed(x: Float[numpy.ndarray, "T K"], y: Float[Tensor, "T K"]) -> Tensor:
        return y

    mixed(numpy.zeros((2, 3)), torch.zeros(2, 3))
    with pytest.raises(kdacheck.ContractError, match="`x` does not fit its annotation"):
        mixed(torch.zeros(2, 3), torch.zeros(2, 3))  # type: ignore[arg-type]


def test_a_clause_that_names_no_parameter_is_refused() -> None:
    @kdacheck.contract(Dense(("bias",)))
    def function(dt_bias: Float[Tensor, "K"]) -> Tensor:
        return dt_bias

    with pytest.raises(TypeError, match="Dense names `bias`"):
        function(torch.zeros(2))


def test_the_largest_of_the_traps_of_jaxtyping() -> None:
    """A computed axis stands before what binds its names; an axis has names that only an absent argument binds."""

    @kdacheck.contract(Gate(("a",)), States(("pool",)), PerSequence("pool", by="cu", dense=None))
    def decode(
        a: Float[Tensor, "B HV*K"],
        pool: Float[Tensor, "N HV K V"] | None = None,
        cu: Int[Tensor, "N+1"] | None = None,
    ) -> None: ...

    decode(torch.zeros(2, 12))
    decode(torch.zeros(2, 12), cu=torch.tensor([0, 1]))
    decode(torch.zeros(2, 12), torch.zeros(1, 3, 4, 5), torch.tensor([0, 1]))
    with pytest.raises(kdacheck.ContractError, match="KDA104"):
        decode(torch.zeros(2, 12), torch.zeros(1, 3, 5, 5))


OFF = """
import sys
import kdacheck
def f(q): return q
assert kdacheck.contract()(f) is f
s = staticmethod(f)
assert kdacheck.contract()(s) is s
assert not {"torch", "jaxtyping", "beartype"} & sys.modules.keys()
with kdacheck.enforce("fla"):
    pass
"""


def test_off_is_the_very_same_function() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFF], env={"KDACHECK": "off"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


LIGHT = """
import sys
import kdacheck
assert kdacheck.__version__
heavy = {"torch", "jaxtyping", "beartype", "helion", "libcst", "ast", "kdacheck.contracts"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
@kdacheck.contract()
def f(q): return q
assert not {"torch", "jaxtyping", "beartype"} & sys.modules.keys()
"""


def test_importing_and_decorating_stay_light() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_level_that_is_none_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import kdacheck; kdacheck.contract"],
        env={"KDACHECK": "loud"},
        capture_output=True,
        text=True,
    )
    assert "no level 'loud': it is one of off, meta, values" in done.stderr
