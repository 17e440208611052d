"""The decorators that catalogue modules are written with, and the reader of what they decorate."""

from __future__ import annotations

from collections.abc import Callable
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


def callee(*paths: str, package: str, versions: str = "") -> Callable[[F], F]:
    """Say by which import paths, from which distribution and in which releases the signature is reached."""

    def attach(function: F) -> F:
        contract = read(function, paths, package, versions)
        declare(contract)
        function.__kdacheck_contract__ = contract  # type: ignore[attr-defined]
        return function

    return attach


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
