"""Contracts from rows of text, for libraries with many callees of one kind or many releases of one callee."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kdacheck.contracts.clauses import Clause
from kdacheck.contracts.declare import Written, declare
from kdacheck.contracts.model import REQUIRED, Contract, Parameter

_PLAIN: Mapping[str, Any] = {"None": None, "True": True, "False": False}


def tabulate(
    signature: str,
    paths: Iterable[str],
    clauses: tuple[Clause, ...],
    axes: Mapping[str, str],
    *,
    package: str,
    versions: str = "",
    doc: str = "",
) -> Contract:
    """Declare the contract of a signature such as `kernel(q, k, scale=None, *, out=None)`.

    axes: parameter -> its annotation, to which a default of None adds `| None`; a parameter that is not named there
    may be anything.
    """
    name, _, rest = signature.rstrip(") ").partition("(")
    parameters, keyword_only = [], False
    for part in rest.split(", "):
        if part == "*":
            keyword_only = True
            continue
        parameter, written, text = part.partition("=")
        default = _default(text) if written else REQUIRED
        annotation = axes.get(parameter, "Any")
        if default is None and annotation != "Any" and not annotation.endswith("| None"):
            annotation += " | None"
        parameters.append(Parameter(parameter, annotation, default, keyword_only))
    contract = Contract(
        name=name,
        paths=tuple(paths),
        package=package,
        versions=versions,
        parameters=tuple(parameters),
        clauses=clauses,
        doc=doc,
    )
    declare(contract)
    return contract


def _default(text: str) -> Any:
    if text in _PLAIN:
        return _PLAIN[text]
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return Written(text)
