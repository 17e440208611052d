"""Contracts that people put on functions of their own: read from the decorator, judged at the calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from kdacheck import clauses as published
from kdacheck.contracts import REQUIRED, Contract, Parameter
from kdacheck.contracts.clauses import Clause, Law
from kdacheck.contracts.declare import Written
from kdacheck.facts import Dim, Literal
from kdacheck.source import annotations, judge
from kdacheck.source.module import Definition, dotted, harmless, small_statements, suite
from kdacheck.source.objects import Argument, Arguments
from kdacheck.source.state import State, opaque
from kdacheck.source.values import Code, DType, External, Items, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: Kinds of `Code`: a clause (its target None where it could not be read), and what `contract(...)` makes.
CLAUSE = "clause"
CONTRACT = "contract"

_MAKERS = frozenset(
    ("kdacheck.contract", "kdacheck.runtime.contract", "kdacheck.runtime.decorate.contract")
)
_CLAUSES = ("kdacheck.clauses", "kdacheck.contracts.clauses")

#: Clauses that only add a law. Without any other, the laws that are left would mean something else.
_ADDING = frozenset(
    (
        *("AtMost", "Boundaries", "Covers", "Dense", "Elements", "Exclusive", "Multiple", "Needs"),
        *("OffsetsEnd", "OneOf", "PackedWidth", "PoolPair", "PowerOfTwo", "SameDevice"),
        *("SameDtype", "StrictOffsets", "Together", "Within"),
    )
)

#: Decorators that make something else of a function, which is called with the same arguments.
_SAME_ARGUMENTS = frozenset(("kernel", "jit", "compile", "custom_op", "triton_op", "autotune"))


@dataclass(frozen=True)
class Stated:
    """The contract of a function of the project.

    returns: its annotation. unread: parameters whose default is not known. takes_more, takes_keywords: it has `*args`,
    `**kwargs`.
    """

    contract: Contract
    returns: cst.Annotation | None
    unread: frozenset[str]
    takes_more: bool
    takes_keywords: bool


def make(path: str, arguments: Arguments) -> Value | None:
    """What a call of `kdacheck.contract` or of a clause makes; None for any other callee."""
    if path in _MAKERS:
        return Code(CONTRACT, _laws(arguments))
    if not is_clause(path):
        return None
    name = path.rpartition(".")[2]
    return Code(CLAUSE, _clause(getattr(published, name), arguments), name)


def is_clause(path: str) -> bool:
    """Whether an import path is that of a clause that contracts are written with."""
    base, _, name = path.rpartition(".")
    return base in _CLAUSES and name in published.__all__ and name != "Clause"


def _laws(arguments: Arguments) -> tuple[Clause, ...] | None:
    """The clauses of a contract, less those that could not be read; None where what is left says too little."""
    if not arguments.known or arguments.keywords:
        return None
    found: list[Clause] = []
    for value in arguments.values():
        if not (isinstance(value, Code) and value.kind == CLAUSE):
            return None
        if value.target is not None:
            found.append(value.target)
        elif value.bound not in _ADDING:
            return None
    return tuple(found)


def _clause(kind: type[Law], arguments: Arguments) -> Law | None:
    if not arguments.known:
        return None
    try:
        return kind(
            *map(_plain, arguments.values()),
            **{name: _plain(value) for name, value in arguments.keyword_values().items()},
        )
    except (TypeError, ValueError):
        return None


def _plain(value: Value) -> Any:
    """A constant as Python has it. Raises ValueError for what is none."""
    match value:
        case Literal(constant):
            return constant
        case Items(items):
            return tuple(map(_plain, items))
        case _:
            raise ValueError


def of_definition(
    interp: Interpreter, node: cst.FunctionDef, definition: Definition, state: State
) -> Stated | None:
    """The contract that the decorators of a function state, None where there is none that can be read."""
    laws: tuple[Clause, ...] | None = None
    for decorator in reversed(node.decorators):
        found = _contract(interp, decorator.decorator, state)
        if found is None:
            last = dotted(decorator.decorator).rpartition(".")[2]
            # whatever else wraps the contract may change what it is given
            known = harmless(dotted(decorator.decorator))
            if not known and (laws is not None or last not in _SAME_ARGUMENTS):
                return None
        elif found.target is None:
            return None
        else:
            laws = (*found.target, *(laws or ()))
    if laws is None:
        return None
    return stated(interp, node, definition, laws, state)


def _contract(interp: Interpreter, node: cst.BaseExpression, state: State) -> Code | None:
    func = node.func if isinstance(node, cst.Call) else node
    if dotted(func) == "":
        return None
    value = interp.evaluate(func, state)
    if isinstance(value, External) and value.path in _MAKERS and isinstance(node, cst.Call):
        value = interp.evaluate(node, state)
    elif isinstance(value, External):
        value = interp.of_project(value.path) or value
    return value if isinstance(value, Code) and value.kind == CONTRACT else None


def stated(
    interp: Interpreter,
    node: cst.FunctionDef,
    definition: Definition,
    laws: tuple[Clause, ...],
    state: State,
) -> Stated | None:
    """The contract of a signature and its clauses; None where a clause names no parameter: Python refuses it."""
    params, returns = node.params, node.returns
    unread: list[str] = []
    parameters: list[Parameter] = []
    for keyword_only, group in (
        (False, (*params.posonly_params, *params.params)),
        (True, params.kwonly_params),
    ):
        for param in group:
            default: Any = REQUIRED
            if param.default is not None:
                default = _default(interp, param.default, state)
                if default is REQUIRED:
                    unread.append(param.name.value)
            text = ""
            if param.annotation is not None:
                text = annotations.text_of(interp, param.annotation.annotation, state) or ""
            parameters.append(Parameter(param.name.value, text, default, keyword_only))
    contract = Contract(
        name=definition.name,
        paths=(f"{interp.module.name}.{definition.qualified}",),
        package="",
        versions="",
        parameters=tuple(parameters),
        clauses=laws,
        returns=(annotations.text_of(interp, returns.annotation, state) or "") if returns else "",
    )
    if next(contract.strangers, None) is not None:
        return None
    return Stated(
        contract,
        returns,
        frozenset(unread),
        isinstance(params.star_arg, cst.Param),
        params.star_kwarg is not None,
    )


def _default(interp: Interpreter, node: cst.BaseExpression, state: State) -> Any:
    """A default as Python has it, or its text; REQUIRED where it is not known, not even whether it is None."""
    with interp.quiet():
        value = state.resolve(interp.evaluate(node, state))
    if isinstance(value, Literal):
        return value.value
    if isinstance(value, (DType, Items)):
        return Written(cst.Module([]).code_for_node(node))
    return REQUIRED


@dataclass(frozen=True, slots=True)
class Judged:
    """One call of a contracted function: whether it is refused, and the sizes it gives to dimensions."""

    is_refused: bool
    dims: Mapping[str, Dim]


def judge_call(
    interp: Interpreter,
    stated: Stated,
    arguments: Arguments,
    node: cst.CSTNode,
    state: State,
    receiver: Value | None,
) -> Judged:
    """Judge one call of a contracted function. `receiver`: what its first parameter is bound to, for a method."""
    contract = stated.contract
    given = arguments.before([Argument(receiver)]) if receiver is not None else arguments
    keywords = dict(given.keywords)
    if stated.takes_keywords:
        keywords = {name: a for name, a in keywords.items() if name in contract.by_name}
    passed = {p.name for p in contract.positional[: len(given.positional)]}
    for name in stated.unread - passed - keywords.keys() - given.maybe.keys():
        keywords[name] = Argument(opaque())
    positional = given.positional
    if stated.takes_more:
        positional = positional[: len(contract.positional)]
    whole = replace(given, positional=positional, keywords=keywords)
    before = len(interp.run.found)
    judge.judge(interp, contract.paths[0], contract, "", whole, node, state)
    refused = any(not f.violation.likely for f in interp.run.found[before:])
    calls = judge.each_call(interp, contract, "", judge.bind(contract, whole), state, {})
    return Judged(refused, calls[0].unified.dims if len(calls) == 1 else {})


def returned(
    interp: Interpreter, stated: Stated, call: Judged, node: cst.CSTNode, state: State
) -> Value:
    """What a contracted function says that it returns."""
    if stated.returns is None:
        return opaque()
    dims = dict(call.dims)
    match stated.returns.annotation:
        case cst.Subscript(value=cst.Name("tuple" | "Tuple"), slice=parts):
            nodes = [part.slice.value for part in parts if isinstance(part.slice, cst.Index)]
            if any(isinstance(part, cst.Ellipsis) for part in nodes):
                return opaque(True)
            values = [interp.from_annotation(part, opaque(), state, dims, node) for part in nodes]
            return Items(tuple(values))
        case one:
            return interp.from_annotation(one, opaque(), state, dims, node)


def is_stub(body: cst.CSTNode) -> bool:
    """Whether a body only documents its function."""
    return all(
        isinstance(line, cst.Pass)
        or (isinstance(line, cst.Expr) and isinstance(line.value, (*_TEXTS, cst.Ellipsis)))
        or (isinstance(line, cst.Raise) and "NotImplemented" in dotted(line.exc or _NOTHING))
        for line in small_statements(suite(body))
    )


_TEXTS = (cst.SimpleString, cst.ConcatenatedString)
_NOTHING = cst.Name("_")
