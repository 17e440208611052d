"""einops patterns on facts, compared with einops on tensors where torch is asked."""

from __future__ import annotations

import einops
import pytest
import torch

from kdacheck.facts import Dim, Literal, TensorFacts, Unknown, show
from kdacheck.facts.dims import symbol
from kdacheck.source import torch_semantics as semantics
from kdacheck.source.values import Items, Value
from tests.programs.claims import Mismatch
from tests.programs.operations import pattern
from tests.source.torch_programs import Program

T = symbol("T")


def tensor(*shape: Dim) -> TensorFacts:
    return TensorFacts.of(shape, dense=True, dtype="float32", device="cpu")


def call(name: str, value: Value, text: str, *rest: Value, **sizes: int) -> Value | None:
    given = {key: Literal(size) for key, size in sizes.items()}
    return semantics.call_function("einops." + name, [value, Literal(text), *rest], given)


def rearrange(value: Value, text: str, **sizes: int) -> TensorFacts:
    result = call("rearrange", value, text, **sizes)
    assert isinstance(result, TensorFacts)
    return result


def test_heads() -> None:
    x = tensor(2, T, 1024)
    assert rearrange(x, "b t (h d) -> b t h d", d=128).shape == (2, T, 8, 128)
    assert rearrange(x, "b t (h d) -> 1 (b t) h d", h=8).shape == (1, 2 * T, 8, 128)
    assert rearrange(x, "b t ... -> (b t) ...").shape == (2 * T, 1024)
    assert rearrange(x, "b t (h d) -> b t h d", d=128).dense is True


def test_the_pattern_fixes_the_rank() -> None:
    result = rearrange(Unknown(), "n (h d) -> 1 n h d", d=128)
    assert result.shape is not None
    assert [show(size) for size in result.shape] == ["1", "n", "h", "128"]
    result = rearrange(TensorFacts(partial={0: 7}), "n d -> 1 n d")
    assert result.shape is not None
    assert result.shape[:2] == (1, 7)


def test_an_ellipsis_leaves_the_rank_open() -> None:
    result = rearrange(Unknown(), "b t ... -> 1 (b t) ...")
    assert result.shape is None
    assert result.partial == {0: 1}


def test_head_first_is_strided() -> None:
    x = tensor(2, 64, 1024)
    moved = rearrange(x, "b t (h d) -> b h t d", d=128)
    assert moved.shape == (2, 8, 64, 128)
    assert moved.dense is False
    merged = rearrange(moved, "b h t d -> (b h t) d")
    assert merged.dense is True
    assert rearrange(tensor(1, 64, 8), "1 t h -> t h").dense is True


def test_lists_are_stacked() -> None:
    parts = Items((tensor(4, 8), tensor(4, 8), tensor(4, 8)), "list")
    assert rearrange(parts, "n t d -> t (n d)").shape == (4, 24)


def test_repeat() -> None:
    assert call("repeat", tensor(8), "h -> (h d)", d=4) == semantics.call_method(
        "repeat_interleave", tensor(8), [Literal(4)], {}
    )
    result = call("repeat", tensor(8), "h -> h d", d=4)
    assert isinstance(result, TensorFacts)
    assert result.dense is False
    assert result.shape == (8, 4)


def test_reduce() -> None:
    result = call("reduce", tensor(2, T, 8), "b t d -> b d", Literal("mean"))
    assert isinstance(result, TensorFacts)
    assert result.shape == (2, 8)


def test_einsum() -> None:
    result = semantics.call_function(
        "einops.einsum", [tensor(2, T, 8), tensor(8, 5), Literal("b t c, c out -> b out t")], {}
    )
    assert isinstance(result, TensorFacts)
    assert result.shape == (2, 5, T)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("b t d -> b d", {}),
        ("b t -> t b", {}),
        ("b t (h d) -> b t h d", {}),
        ("b t (h d) -> b t h d", {"d": 7}),
        ("b t d", {}),
        ("b (t d -> b t d", {}),
        ("b t d -> b t d e", {}),
    ],
)
def test_patterns_that_do_not_fit_are_unknown(text: str, sizes: dict[str, int]) -> None:
    with pytest.raises((einops.EinopsError, ValueError)):
        einops.rearrange(torch.zeros(2, 3, 8), text, **sizes)
    assert call("rearrange", tensor(2, 3, 8), text, **sizes) is None


@pytest.mark.parametrize("name", ["rearrange", "repeat", "reduce"])
@pytest.mark.parametrize("mode", ["known", "symbolic", "unknown"])
def test_random_patterns(name: str, mode: str) -> None:
    ran = 0
    for seed in range(400):
        program = Program(seed, mode)
        x = program.start()
        chosen = pattern(program, x, name)
        try:
            ran += chosen is not None and program.step(chosen) is not None
        except Mismatch as error:
            raise AssertionError(f"seed {seed}: {error}") from None
    assert ran > 200
