"""Callees of the catalogue that the project itself defines: whoever writes the library has another release of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from kdacheck import contracts
from kdacheck.contracts.model import REQUIRED, Contract
from kdacheck.contracts.signatures import EXPRESSION, Signature, fit
from kdacheck.source.project import Project
from kdacheck.source.select import absolute

#: What is said of the release of a callee that the project defines in another way than the catalogue.
_OWN = "of this project"

#: Imports from imports are followed to this depth.
_DEPTH = 5


def choose(
    path: str, versions: Mapping[str, str], project: Project | None
) -> tuple[Contract, str] | None:
    """The contract behind an import path, as the project's own definition of the callee has it, with its release."""
    chosen = contracts.choose(path, versions)
    if chosen is None or project is None or project.place(path) is None:
        return chosen
    if path not in project.callees:
        contract = fit(chosen[0], _signature_of(project, path))
        project.callees[path] = chosen if contract is chosen[0] else (contract, _OWN)
    return project.callees[path]


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
        return EXPRESSION
    return value if value.__hash__ is not None else EXPRESSION
