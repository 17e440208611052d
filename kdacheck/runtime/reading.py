"""The contract of a function, read from its own signature."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kdacheck.contracts import signatures
from kdacheck.contracts.clauses import Clause, Open
from kdacheck.contracts.model import REQUIRED, Contract, Parameter, label
from kdacheck.runtime.errors import Unusable

_EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Signature:
    """How a contracted function is called, beyond what its `Contract` says.

    contract: its parameters and clauses. hints: the evaluated annotations, where they could be evaluated.
    positional_only: the names before `/`. takes_more: it has `*args`. takes_keywords: it has `**kwargs`.
    path: the import path by which it is called, where it has several.
    """

    contract: Contract
    hints: Mapping[str, Any]
    positional_only: tuple[str, ...] = ()
    takes_more: bool = False
    takes_keywords: bool = False

    path: str = ""

    @property
    def label(self) -> str:
        """The callee as findings name it: `chunk_kda`, or `flash_kda.fwd`."""
        return label(self.path or self.contract.paths[0])


def of_function(function: Callable[..., Any], clauses: tuple[Clause, ...]) -> Signature:
    """The contract that a decorated function states by its annotations and these clauses.

    Raises Unusable for a function without a signature, and for a clause that names no parameter of the function.
    """
    try:
        signature = inspect.signature(function)
    except ValueError as error:
        raise Unusable(f"a contract needs a signature: {error}") from None
    inner = inspect.unwrap(function)
    hints = _evaluated(signature, inner)
    texts = {
        name: as_text(hints[name]) if name in hints else _raw(parameter.annotation)
        for name, parameter in signature.parameters.items()
    }
    returns = as_text(hints["return"]) if "return" in hints else _raw(signature.return_annotation)
    name = getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
    module = getattr(function, "__module__", None)
    contract = Contract(
        name=name.rpartition(".")[2],
        paths=(f"{module}.{name}" if module else name,),
        package="",
        versions="",
        parameters=tuple(
            Parameter(
                parameter.name,
                texts[parameter.name],
                REQUIRED if parameter.default is _EMPTY else parameter.default,
                parameter.kind is inspect.Parameter.KEYWORD_ONLY,
            )
            for parameter in signature.parameters.values()
            if parameter.kind not in _VARIADIC
        ),
        clauses=clauses,
        returns=returns,
        doc=inspect.getdoc(function) or "",
    )
    _refuse_strangers(contract)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    return Signature(
        contract,
        hints,
        tuple(n for n, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_ONLY),
        _VARIADIC[0] in kinds.values(),
        _VARIADIC[1] in kinds.values(),
    )


def fitted(contract: Contract, function: Callable[..., Any], *, method: bool) -> Contract:
    """A contract of the catalogue with the parameters of the function that is really there."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[int(method) :]
    except (TypeError, ValueError):
        return contract
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return contract
    own = tuple(
        (p.name, _default(p.default), p.kind is inspect.Parameter.KEYWORD_ONLY)
        for p in parameters
        if p.kind is not inspect.Parameter.VAR_KEYWORD
    )
    return signatures.fit(contract, signatures.Signature(own, len(own) < len(parameters)))


def _default(value: Any) -> Any:
    if value is _EMPTY:
        return REQUIRED
    return (
        value if isinstance(value, (bool, int, float, str, type(None))) else signatures.EXPRESSION
    )


def of_contract(contract: Contract, path: str = "") -> Signature:
    """A contract of the catalogue: its annotations are text, and its scalars are not enforced."""
    more = contract.swallows or contract.first(Open) is not None
    return Signature(contract, {}, takes_keywords=more, path=path)


def _refuse_strangers(contract: Contract) -> None:
    for clause, name in contract.strangers:
        raise Unusable(
            f"{type(clause).__name__} names `{name}`, which is no parameter of {contract.name}"
        )


def _raw(annotation: Any) -> str:
    if annotation is _EMPTY:
        return ""
    return annotation if isinstance(annotation, str) else as_text(annotation)


def _evaluated(signature: inspect.Signature, function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as objects; text that cannot be evaluated (names for type checkers only) is left out."""
    scope: dict[str, Any] = dict(getattr(function, "__globals__", {}))
    code = getattr(function, "__code__", None)
    for name, cell in zip(
        getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False
    ):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
    for variable in getattr(function, "__type_params__", ()):
        scope[variable.__name__] = variable
    found: dict[str, Any] = {}
    entries = {name: p.annotation for name, p in signature.parameters.items()}
    entries["return"] = signature.return_annotation
    for name, annotation in entries.items():
        if annotation is _EMPTY:
            continue
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, scope)
            except Exception:
                # whatever evaluating a name for type checkers only may raise: its text is read instead
                continue
        found[name] = annotation
    return found


def as_text(hint: Any) -> str:
    """An evaluated annotation as the text it could have been written with."""
    if hint is None or hint is type(None):
        return "None"
    if isinstance(hint, str):
        return hint
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or isinstance(hint, types.UnionType):
        return " | ".join(map(as_text, args))
    if origin is typing.Annotated:
        return as_text(args[0])
    if isinstance(hint, typing.TypeVar):
        return " | ".join(map(as_text, hint.__constraints__)) or (
            as_text(hint.__bound__) if hint.__bound__ is not None else "Any"
        )
    if origin is tuple:
        return f"tuple[{', '.join('...' if a is Ellipsis else as_text(a) for a in args)}]"
    if isinstance(hint, type) and origin is None:
        axes = getattr(hint, "dim_str", None)
        dtype = getattr(hint, "dtype", None)
        if axes is not None and dtype is not None:
            return f"{dtype.__name__}[{as_text(hint.array_type)}, {axes!r}]"  # type: ignore[attr-defined]
        return hint.__qualname__
    return repr(hint).replace("typing.", "")
