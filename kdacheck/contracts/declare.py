"""The decorators that catalogue modules are written with, and the reader of what they decorate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kdacheck.contracts.clauses import Clause
from kdacheck.contracts.model import REQUIRED, Contract, Parameter

F = TypeVar("F", bound=Callable[..., Any])


class Written:
    """A default that is known by its text only, such as `torch.float32`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def clause(*clauses: Clause) -> Callable[[F], F]:
    """Attach clauses to a signature; several decorators add up, in reading order."""

    def attach(function: F) -> F:
        held: tuple[Clause, ...] = getattr(function, "__kdacheck_clauses__", ())
        function.__kdacheck_clauses__ = (*clauses, *held)  # type: ignore[attr-defined]
        return function

    return attach


def callee(
    *paths: str, package: str, versions: str = "", without: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Say by which import paths, from which distribution and in which releases the signature is reached.

    without: the parameters that these releases do not have yet.
    """

    def attach(function: F) -> F:
        contract = reduced(read(function, paths, package, versions), without)
        declare(contract)
        function.__kdacheck_contract__ = contract  # type: ignore[attr-defined]
        return function

    return attach


def reduced(contract: Contract, without: tuple[str, ...]) -> Contract:
    """The contract without these parameters, and without what its clauses say of them.

    Raises ValueError where there is no such parameter.
    """
    if not without:
        return contract
    for name in without:
        if name not in contract.by_name:
            raise ValueError(f"{contract.name} has no parameter {name!r}")
    return replace(
        contract,
        parameters=tuple(p for p in contract.parameters if p.name not in without),
        clauses=tuple(kept for law in contract.clauses if (kept := _left_of(law, without))),
    )


def _left_of(law: Clause, without: tuple[str, ...]) -> Clause | None:
    """What a clause says of other parameters; None where that is nothing, or would be another law."""
    values: dict[str, Any] = {}
    for field in law.__match_args__:
        value = getattr(law, field)
        if isinstance(value, tuple):
            kept = tuple(item for item in value if item not in without)
            if len(kept) < len(value):
                may_be_empty = getattr(type(law), field, None) == ()
                if field in ("flags", "companions") or not (kept or may_be_empty):
                    return None
            value = kept
        elif isinstance(value, str) and value in without:
            return None
        values[field] = value
    return type(law)(**values)


_pending: list[Contract] = []


def declare(contract: Contract) -> None:
    """Add a contract to those that `take` hands out."""
    _pending.append(contract)


def take() -> list[Contract]:
    """The contracts declared since the last call."""
    taken = list(_pending)
    _pending.clear()
    return taken


def read(
    function: Callable[..., Any], paths: tuple[str, ...], package: str, versions: str
) -> Contract:
    """The contract of a function whose annotations are text (`from __future__ import annotations`)."""
    code = function.__code__
    texts: dict[str, str] = dict(function.__annotations__)
    names = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()  # type: ignore[attr-defined]
    values: dict[str, Any] = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    values.update(function.__kwdefaults__ or {})  # type: ignore[attr-defined]
    parameters = tuple(
        Parameter(
            name=name,
            text=texts.get(name, ""),
            default=values.get(name, REQUIRED),
            keyword_only=name in keyword_only,
        )
        for name in (*names, *keyword_only)
    )
    return Contract(
        name=function.__name__,
        paths=paths,
        package=package,
        versions=versions,
        parameters=parameters,
        clauses=getattr(function, "__kdacheck_clauses__", ()),
        returns=texts.get("return", ""),
        doc=(function.__doc__ or "").strip(),
    )
