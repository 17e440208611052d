"""Callees of the catalogue that the project itself defines: whoever writes the library has another release of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from kdacheck import contracts
from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Dense,
    Drift,
    Gate,
    GateParameters,
    Indices,
    Open,
    Packed,
    States,
    Swallows,
    named_by,
)
from kdacheck.contracts.model import REQUIRED, Contract, Parameter
from kdacheck.source.project import Project
from kdacheck.source.select import absolute

#: What is said of the release of a callee that the project defines in another way than the catalogue.
_OWN = "of this project"

#: Imports from imports are followed to this depth.
_DEPTH = 5


class Signature(NamedTuple):
    """The parameters of a function: name -> (default, keyword-only). is_open: it takes `**kwargs`."""

    parameters: tuple[tuple[str, Any, bool], ...]
    is_open: bool


#: Laws that hold for each of the parameters that they name.
_OF_EACH = (Boundaries, Dense, Gate, GateParameters, Indices, Packed, States)

#: Laws about the signature of one release.
_OF_A_RELEASE = (Drift, Swallows, Open)

_WIDTH = re.compile(r"\b(?:B?(Float)|U?(Int))\d+\[")

#: The default of a parameter that is an expression of which nothing is known.
_EXPRESSION = object()


def choose(
    path: str, versions: Mapping[str, str], project: Project | None
) -> tuple[Contract, str] | None:
    """The contract behind an import path, as the project's own definition of the callee has it, with its release."""
    chosen = contracts.choose(path, versions)
    if chosen is None or project is None or project.place(path) is None:
        return chosen
    own = _signature_of(project, path)
    if own is None:
        return _opened(chosen[0]), _OWN
    return chosen if _has(chosen[0], own) else (_adapted(chosen[0], own), _OWN)


def _signature_of(project: Project, path: str, depth: int = 0) -> Signature | None:
    place = project.place(path)
    if place is None or not place.name or depth == _DEPTH:
        return None
    inside = f"{place.module}.__init__" if place.filename.endswith("__init__.py") else place.module
    for node in project.statements(place):
        match node:
            case ast.FunctionDef(name=place.name, args=args):
                return _signature(args)
            case ast.Assign(targets=[ast.Name(id=place.name)], value=ast.Name(id=other)):
                return _signature_of(project, f"{place.module}.{other}", depth + 1)
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for alias in aliases:
                    if (alias.asname or alias.name) == place.name:
                        base = absolute(module, level, inside)
                        return _signature_of(project, f"{base}.{alias.name}", depth + 1)
            case _:
                pass
    return None


def _signature(args: ast.arguments) -> Signature | None:
    if args.vararg is not None:
        return None
    plain = [*args.posonlyargs, *args.args]
    missing = [None] * (len(plain) - len(args.defaults))
    defaults = [*missing, *args.defaults, *args.kw_defaults]
    named = zip([*plain, *args.kwonlyargs], defaults, strict=True)
    return Signature(
        tuple(
            (arg.arg, REQUIRED if default is None else _value(default), index >= len(plain))
            for index, (arg, default) in enumerate(named)
        ),
        args.kwarg is not None,
    )


def _value(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return _EXPRESSION
    return value if value.__hash__ is not None else _EXPRESSION


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
    if own.is_open:
        named = {p.name for p in parameters}
        more = [p for p in contract.parameters if p.name in _read(contract) and p.name not in named]
        parameters += tuple(_parameter(p, p.name, None, True) for p in more)
    kept = {p.name for p in parameters}
    clauses = [c for law in contract.clauses if (c := _less(law, contract, kept)) is not None]
    if own.is_open:
        clauses.append(Open())
    return replace(contract, parameters=parameters, clauses=tuple(clauses))


def _parameter(known: Parameter | None, name: str, default: Any, keyword_only: bool) -> Parameter:
    if known is None:
        return Parameter(name, "Any", None if default is _EXPRESSION else default, keyword_only)
    if default is _EXPRESSION:
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
