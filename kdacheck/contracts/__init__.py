"""Contracts of KDA callees: the catalogue, and how a contract is chosen for an import path and a release."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kdacheck.contracts.call import Call
from kdacheck.contracts.declare import take
from kdacheck.contracts.model import REQUIRED, Contract, Parameter, telling_name
from kdacheck.contracts.versions import NEWEST, admits

__all__ = ["REQUIRED", "Call", "Contract", "Parameter", "catalogue", "choose", "names", "paths"]

#: One module of `kdacheck.contracts.libraries` per library.
LIBRARIES = (
    "aiter",
    "attention_gym",
    "cudnn",
    "cula",
    "fla",
    "fla_operators",
    "flash_kda",
    "flash_qla",
    "flashinfer",
    "helion_examples",
    "sglang_helion",
    "sglang_triton",
    "vllm",
)


@lru_cache(maxsize=1)
def catalogue() -> tuple[Contract, ...]:
    """Every contract of the catalogue."""
    for library in LIBRARIES:
        importlib.import_module(f"kdacheck.contracts.libraries.{library}")
    return tuple(take())


@lru_cache(maxsize=1)
def paths() -> Mapping[str, tuple[Contract, ...]]:
    """Import path -> the contracts of all releases behind it."""
    table: dict[str, tuple[Contract, ...]] = {}
    for contract in catalogue():
        for path in contract.paths:
            table[path] = (*table.get(path, ()), contract)
    return table


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """The bare names under which contracted callees are imported."""
    return frozenset(map(telling_name, paths()))


def registry() -> Mapping[str, str]:
    """Names by which SGLang's kernel registry hands out callees -> their import paths."""
    from kdacheck.contracts.libraries.sglang_helion import REGISTRY

    return REGISTRY


def choose(path: str, versions: Mapping[str, str]) -> tuple[Contract, str] | None:
    """The contract behind an import path for the release in use, with that release; None where there is none."""
    candidates: Iterable[Contract] = paths().get(path, ())
    for contract in candidates:
        version = versions.get(contract.package) or NEWEST.get(contract.package, "")
        if admits(contract.versions, version):
            return contract, version
    return None
