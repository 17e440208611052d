"""What a finding tells: the layout, the cause, the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kdacheck.contracts import Call
from kdacheck.facts import Dim, TensorFacts
from kdacheck.facts.dims import symbol
from kdacheck.rule import Violation
from kdacheck.rules import catalogue, find
from kdacheck.rules._judge import describe_layout, dtypes, falls, show_values, strided
from kdacheck.source import analyse

from .conftest import tensor
from .test_verdicts import FLA, PACKED, TRITON, flash, flash_packed, operands, packed, pool_call

Build = Callable[..., Call]
N = symbol("n")


def told(call: Call, code: str) -> list[Violation]:
    rule = find(code)
    assert rule is not None
    assert rule.check is not None
    return list(rule.check(call))


@pytest.mark.parametrize(
    ("shape", "strides", "text"),
    [
        ((8, 128), (1, 8), "[8, 128] with strides (1, 8), a transpose"),
        ((4, 8), (0, 1), "[4, 8] with strides (0, 1), an expanded tensor (stride 0)"),
        ((1, 8), (0, 2), "[1, 8] with strides (0, 2), every second element"),
        ((8,), (2,), "[8] with strides (2,), every second element"),
        ((8,), (3,), "[8] with strides (3,), a column slice"),
        ((4, 8), (16, 2), "[4, 8] with strides (16, 2), a column slice"),
        ((4, 8), (16, 1), "[4, 8] with strides (16, 1), a slice of wider rows"),
        ((4, 8), (16, None), "[4, 8] with strides (16, ?)"),
        ((4, 8), (None, 2), "[4, 8] with strides (?, 2), every second element"),
        ((4, 8), (None, None), "[4, 8] with strides (?, ?)"),
        ((4, N), (N, 2), "[4, n] with strides (n, 2)"),
        ((1,), (7,), "[1] with strides (7,)"),
    ],
)
def test_layouts(shape: tuple[Dim, ...], strides: tuple[Dim | None, ...], text: str) -> None:
    assert describe_layout(TensorFacts(shape=shape, strides=strides)) == text


def test_a_layout_of_which_no_strides_are_known() -> None:
    assert describe_layout(TensorFacts(shape=(4, 8), dense=False)) == "[4, 8] and strided"


def test_contents() -> None:
    assert show_values((0, 1, 2, 3, 4, 5, 6, 7)) == "[0, 1, 2, 3, 4, 5, 6, 7]"
    assert show_values(tuple(range(9))) == "[0, 1, 2, 3, 4, ..., 7, 8]"
    assert falls((0, 3, 2))
    assert not falls((0, 3, 3, 4))


def test_what_is_strided() -> None:
    assert strided(TensorFacts(shape=(4, 8), dense=False))
    assert not strided(TensorFacts(shape=(4, 8), dense=False), 1)
    assert not strided(TensorFacts(dense=True))
    assert not strided(tensor(4, 8, strides=(16, 1)), 1)
    assert strided(tensor(4, 8, strides=(16, 2)), 1)
    assert strided(tensor(4, 8, strides=(16, 1)), 2)
    assert not strided(tensor(8, strides=(2,)), 2)
    assert not strided(TensorFacts(shape=(0, 8), strides=(0, 3)), 1)
    assert strided(TensorFacts(shape=(4, N), strides=(0, None)))
    assert not strided(TensorFacts(shape=(N, 8), strides=(0, None)))


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.code)
def test_a_rule_is_found_by_code_and_by_name(rule: object) -> None:
    assert find(rule.code) is rule  # type: ignore[attr-defined]
    assert find(rule.name) is rule  # type: ignore[attr-defined]


def test_no_rule_has_another_name() -> None:
    assert find("KDA999") is None


def test_words_of_layouts(build: Build) -> None:
    q = tensor(1, 64, 4, 32, strides=(24576, 384, 32, 1))
    (found,) = told(build(TRITON, **pool_call(q=q)), "KDA201")
    assert found.message == (
        "`q` must be dense but is [1, 64, 4, 32] with strides (24576, 384, 32, 1), "
        "a slice of wider rows; its values are misread in silence"
    )
    assert found.remedy == "pass a dense copy: `q.contiguous()`"
    (found,) = told(build(PACKED, **packed(a=tensor(4, 512, strides=(1024, 2)))), "KDA201")
    assert found.message == (
        "`a` must be dense in its last axis but is [4, 512] with strides (1024, 2), "
        "a column slice; the call is refused"
    )
    out = tensor(4, 1, 8, 32, strides=(512, 256, 32, 1))
    (found,) = told(build(PACKED, **packed(out=out)), "KDA201")
    assert (
        found.remedy == "make `out` dense where it is allocated: what is written to a copy is lost"
    )


def test_words_of_counts(build: Build) -> None:
    three = {"initial_state": tensor(3, 4, 32, 32), "cu_seqlens": tensor(3, dtype="int64")}
    (found,) = told(build(FLA, **operands() | three), "KDA401")
    assert found.message == (
        "`initial_state` has 3 entries in [3, 4, 32, 32], but `cu_seqlens` marks 2 sequences"
    )
    assert found.remedy == "pass one state per sequence"
    dense = {"initial_state": tensor(3, 4, 32, 32)}
    (found,) = told(build(FLA, **operands(batch=2) | dense), "KDA401")
    assert found.message.endswith("has 2 sequences")
    (found,) = told(build(PACKED, **packed(ssm_state_indices=tensor(3, dtype="int32"))), "KDA401")
    assert found.message.startswith("`ssm_state_indices` has 3 slot indices in [3], but ")
    assert found.remedy == "pass one index per sequence"


def test_words_of_a_state_that_goes_back_in_another_order() -> None:
    text = """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, pool, slots):
    o, state = chunk_kda(q, k, v, g, beta, initial_state=pool[slots], output_final_state=True)
    pool[slots] = state.transpose(-1, -2)
    return o
"""
    (found,) = analyse("scatter.py", text.encode(), {})
    assert (found.code, found.message) == (
        "KDA403",
        "`chunk_kda` (fla-core 0.6.0): the state was read from here as it lies, [..., K, V], "
        "and is written back [..., V, K]",
    )
    text = text.replace("pool[slots], ", "pool[slots].transpose(-1, -2), ")
    assert analyse("scatter.py", text.encode(), {}) == []


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("float32",), "float32"),
        (("int64", "int32"), "int32 or int64"),
        (("float32", "bfloat16", "float16"), "bfloat16 or float16 or float32"),
        (("float32", "bfloat16", "float16", "float64"), "a floating-point tensor"),
        (("float32", "bfloat16", "float16", "int8"), "bfloat16 or float16 or float32 or int8"),
        (("int8", "int16", "int32", "int64"), "an integer tensor"),
    ],
)
def test_dtypes(names: tuple[str, ...], text: str) -> None:
    assert dtypes(frozenset(names)) == text


def test_fixed_sizes_of_flash(build: Build) -> None:
    assert told(build("flash_kda.fwd", **flash()), "KDA203") == []
    assert told(build("flash_kda.fwd", **flash_packed()), "KDA203") == []
