"""Contracts of the catalogue for a callee whose signature is another: the next release, a fork, a copy."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Dense,
    Drift,
    Gate,
    GateParameters,
    Indices,
    Needs,
    Open,
    Packed,
    PoolPair,
    States,
    Swallows,
    Together,
    named_by,
)
from kdacheck.contracts.model import Contract, Parameter

#: The default of a parameter that is an expression of which nothing is known.
EXPRESSION = object()


class Signature(NamedTuple):
    """The parameters of a function: name -> (default, keyword-only). is_open: it takes `**kwargs`."""

    parameters: tuple[tuple[str, Any, bool], ...]
    is_open: bool


#: Laws that hold for each of the parameters that they name.
_OF_EACH = (Boundaries, Dense, Gate, GateParameters, Indices, Packed, States)

#: Laws that are broken by what is not passed.
_OF_ABSENCE = (Boundaries, Needs, PoolPair, Together)

#: Laws about the signature of one release.
_OF_A_RELEASE = (Drift, Swallows, Open)

_WIDTH = re.compile(r"\b(?:B?(Float)|U?(Int))\d+\[")


def fit(contract: Contract, own: Signature | None) -> Contract:
    """The contract with a callee's own signature, itself where it has that; None where the signature cannot be told."""
    if own is None:
        return _opened(contract)
    return contract if _has(contract, own) else _adapted(contract, own)


def _has(contract: Contract, own: Signature) -> bool:
    """Whether a contract is of a release with this signature, but for defaults."""
    read = _read(contract)
    known = [(p.name, p.keyword_only) for p in contract.parameters if p.name not in read]
    return known == [(name, only) for name, _, only in own.parameters] and (
        contract.swallows is own.is_open
    )


def _read(contract: Contract) -> tuple[str, ...]:
    """The keywords that a callee reads out of its `**kwargs`."""
    law = contract.first(Swallows)
    return law.reads if law is not None else ()


@lru_cache(maxsize=256)
def _opened(contract: Contract) -> Contract:
    """The contract where the project's own signature cannot be told: any keyword may be one of its parameters."""
    kept = tuple(law for law in contract.clauses if not isinstance(law, _OF_A_RELEASE))
    return replace(contract, clauses=(*kept, Open()))


@lru_cache(maxsize=256)
def _adapted(contract: Contract, own: Signature) -> Contract:
    """The contract with the parameters of another release; what it demands of those that are gone is left out."""
    parameters = tuple(
        _parameter(contract.by_name.get(name), name, default, only)
        for name, default, only in own.parameters
    )
    named = {p.name for p in parameters}
    clauses: list[Clause] = []
    if own.is_open:
        # what the catalogue knows besides may be taken by keyword, and is not missing where it is not
        more = [p for p in contract.parameters if p.name not in named]
        parameters += tuple(_parameter(p, p.name, None, True) for p in more)
        named.update(_read(contract))
        clauses.append(Open())
    kept = {p.name for p in parameters}
    for law in contract.clauses:
        less = _less(law, contract, named if isinstance(law, _OF_ABSENCE) else kept)
        if less is not None:
            clauses.append(less)
    return replace(contract, parameters=parameters, clauses=tuple(clauses))


def _parameter(known: Parameter | None, name: str, default: Any, keyword_only: bool) -> Parameter:
    if known is None:
        return Parameter(name, "Any", None if default is EXPRESSION else default, keyword_only)
    if default is EXPRESSION:
        default = None if known.required else known.default
    text = _WIDTH.sub(r"\1\2[", known.text)  # another release may compute in another precision
    if default is None and "None" not in text and text != "Any":
        text += " | None"
    return Parameter(name, text, default, keyword_only)


def _less(clause: Clause, contract: Contract, kept: set[str]) -> Clause | None:
    """A clause without the parameters that are gone, None where it says nothing without them."""
    if isinstance(clause, _OF_A_RELEASE):
        return None
    gone = {name for name in named_by(clause) if name in contract.by_name} - kept
    if not gone:
        return clause
    if not isinstance(clause, _OF_EACH):
        return None
    changed: dict[str, Any] = {}
    for field in clause.__match_args__:
        value = getattr(clause, field)
        if isinstance(value, tuple) and gone & set(value):
            value = tuple(name for name in value if name not in gone)
        if value == () or (isinstance(value, str) and value in gone):
            return None
        changed[field] = value
    return type(clause)(**changed)
