"""The catalogue against the pinned releases: names, order, defaults and import paths must not drift."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from kdacheck.contracts import REQUIRED, Contract, catalogue, paths, registry
from kdacheck.contracts.clauses import Drift, Open, Swallows
from kdacheck.contracts.versions import admits

from .conftest import RELEASES, Sources

#: Import paths of older releases and of forks, which the pinned one no longer has.
FORMER = (
    "attn_gym.linear.kda.bounded_gate_cumsum",
    "attn_gym.linear.bounded_gate_cumsum",
    "sglang.srt.layers.attention.",
    "sglang.jit_kernel.",
    "sglang.kernels.ops.attention.fla.fused_sigmoid_gating_recurrent.",
    "sglang.kernels.ops.attention.fla.fused_recurrent_linear_replayssm.",
    "vllm.model_executor.layers.fla.",
)

READ = [
    pytest.param(contract, version, id=f"{contract.package}-{version}-{contract.name}")
    for contract in catalogue()
    for version in RELEASES.get(contract.package, ())
    if admits(contract.versions, version)
    if not all(path.startswith(FORMER) for path in contract.paths)
]


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return REQUIRED
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _signature(node: ast.FunctionDef) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]], bool]:
    """(positional parameters, keyword-only parameters, whether **kwargs is taken), with defaults."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [(a.arg, _default(d)) for a, d in zip(positional, defaults, strict=True)]
    if pairs and pairs[0][0] == "self":
        pairs = pairs[1:]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return pairs, [(a.arg, _default(d)) for a, d in keywords], arguments.kwarg is not None


def _shown(default: Any) -> Any:
    plain = default is REQUIRED or default is None or isinstance(default, (bool, int, float, str))
    return default if plain else repr(default)


@pytest.mark.parametrize(("contract", "version"), READ)
def test_the_signature_is_the_released_one(
    contract: Contract, version: str, sources: Callable[[str, str], Sources]
) -> None:
    compare(contract, sources(contract.package, version))


def compare(contract: Contract, sources: Sources) -> None:
    """Raise AssertionError where a contract and the signature behind its paths differ."""
    found = [sources.find(path) for path in contract.paths]
    functions = {id(node): node for node in found if isinstance(node, ast.FunctionDef)}
    assert functions, f"no path of {contract.name} leads to a function"
    swallows = contract.first(Swallows)
    reads = swallows.reads if swallows is not None else ()
    for node in functions.values():
        positional, keyword_only, takes_any = _signature(node)
        assert [(p.name, _shown(p.default)) for p in contract.positional] == positional
        named = [(p.name, _shown(p.default)) for p in contract.parameters if p.keyword_only]
        assert [pair for pair in named if pair[0] not in reads] == keyword_only
        assert (swallows is not None) == takes_any
        if swallows is not None:
            _mentions(node, (*swallows.reads, *swallows.refuses))


def _mentions(node: ast.FunctionDef, names: tuple[str, ...]) -> None:
    """What is said to be read from **kwargs stands in the function, or **kwargs is passed on."""
    body = ast.unparse(node)
    passes_on = any(isinstance(n, ast.keyword) and n.arg is None for n in ast.walk(node))
    for name in names:
        assert repr(name) in body or passes_on, name


@pytest.mark.parametrize("path", sorted(paths()))
def test_every_path_leads_somewhere_in_the_newest_release(
    path: str, sources: Callable[[str, str], Sources]
) -> None:
    contract = paths()[path][0]
    if contract.package not in RELEASES:
        pytest.skip(f"{contract.package} has no pinned release")
    newest = RELEASES[contract.package][0]
    assert (sources(contract.package, newest).find(path) is None) == path.startswith(FORMER)


def test_registry_names_are_registered(sources: Callable[[str, str], Sources]) -> None:
    tree = sources("sglang", RELEASES["sglang"][0]).module("sglang.kernels.ops.attention")
    assert tree is not None
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for name, path in registry().items():
        short = name.removeprefix("attention.")
        assert short in constants
        assert path.endswith(f".{short}")
        assert isinstance(sources("sglang", RELEASES["sglang"][0]).find(path), ast.FunctionDef)


def test_drift_tells_the_position_of_this_release() -> None:
    for contract in catalogue():
        for drift in contract.each(Drift):
            assert contract.positional[drift.position].name == drift.now, contract.name


def test_what_no_release_verifies_is_open() -> None:
    for contract in catalogue():
        if contract.package not in RELEASES:
            assert contract.first(Open) is not None, contract.name
