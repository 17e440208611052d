"""Calls built by hand, so that rules are driven without a linter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kdacheck.contracts import Call, choose
from kdacheck.facts import Fact, Literal, TensorFacts, Unknown
from kdacheck.rules import catalogue

FLA = "fla.ops.kda.chunk_kda"
HELION = "sglang.kernels.ops.attention.helion.kda_prefill.chunk_kda"


def tensor(*shape: Any, dense: bool | None = True, **aspects: Any) -> TensorFacts:
    """A tensor of this shape, dense unless said otherwise."""
    if "strides" in aspects:
        dense = None
    return TensorFacts.of(shape, aspects.pop("strides", None), dense=dense, **aspects)


def offsets(*values: int, dtype: str = "int64", **aspects: Any) -> TensorFacts:
    """Literal offsets."""
    return tensor(len(values), dtype=dtype, values=values, **aspects)


def fact(value: Any) -> Fact:
    if isinstance(value, (TensorFacts, Unknown)):
        return value
    return Literal(value)


@pytest.fixture(scope="session")
def build() -> Callable[..., Call]:
    """Bind facts to the contract behind an import path: plain values become literals."""

    def build(
        path: str,
        *positional: Any,
        version: str = "",
        unknown_keywords: tuple[str, ...] = (),
        complete: bool = True,
        extra_positional: int = 0,
        **named: Any,
    ) -> Call:
        package = path.partition(".")[0]
        packages = {"fla": "fla-core", "sglang": "sglang"}
        chosen = choose(path, {packages[package]: version} if version else {})
        assert chosen is not None, path
        contract, release = chosen
        names = [parameter.name for parameter in contract.positional]
        by_position = dict(zip(names, positional, strict=False))
        for name in named:
            assert name in contract.by_name, name
        return Call(
            contract=contract,
            arguments={name: fact(value) for name, value in {**by_position, **named}.items()},
            version=release,
            unknown_keywords=unknown_keywords,
            positional={name: index for index, name in enumerate(by_position)},
            complete=complete,
            extra_positional=extra_positional,
        )

    return build


@pytest.fixture(scope="session")
def codes(build: Callable[..., Call]) -> Callable[..., list[str]]:
    """The codes of all rules that a call breaks, in order, with repeats."""

    def codes(path: str, *positional: Any, **named: Any) -> list[str]:
        call = build(path, *positional, **named)
        found = []
        for rule in catalogue():
            for violation in rule.check(call) if rule.check else ():
                assert violation.message
                assert violation.parameter is None or violation.parameter in call.contract.by_name
                assert "\n" not in violation.message
                found.append(rule.code)
        return found

    return codes
