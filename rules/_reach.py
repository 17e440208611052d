"""Which callees a rule can be broken at: those whose contract says what the rule is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kdacheck.contracts import Contract
from kdacheck.contracts.call import Call, SizeFault
from kdacheck.contracts.clauses import (
    AtMost,
    Boundaries,
    Clause,
    Covers,
    Dense,
    Elements,
    Exclusive,
    Indices,
    Multiple,
    Needs,
    OffsetsEnd,
    OneOf,
    Open,
    Packed,
    PackedWidth,
    PoolPair,
    PowerOfTwo,
    ReadOnlyWith,
    Rings,
    SameDevice,
    SameDtype,
    Together,
    VFirst,
    Within,
)
from kdacheck.rules._judge import DTYPE_CODES, LAYOUT_CODES, RANK_CODES, size_code, token_major

Reaches = Callable[[Contract], bool]


def applies(code: str, contract: Contract) -> bool:
    """Whether a call of the callee can break the rule of that code."""
    if code in _codes(contract):
        return True
    reaches = _OTHERS.get(code)
    return reaches is not None and reaches(contract)


def _codes(contract: Contract) -> Iterator[str]:
    """The codes of the faults that annotations and layouts can have."""
    call = Call(contract, {})
    axes = [
        (parameter.name, axis, text)
        for parameter in contract.parameters
        for spec in parameter.annotation.tensors
        if spec.axes is not None
        for axis, text in enumerate(spec.axes.names)
        if text != "_" and axis != spec.axes.variadic
    ]
    for parameter in contract.parameters:
        annotation, role = parameter.annotation, contract.roles[parameter.name]
        if annotation.ranks is not None:
            yield RANK_CODES.get(role, "KDA204")
        if annotation.dtypes is not None:
            code = DTYPE_CODES.get(role, "KDA205")
            # an integer breaks the law as well, but where any float will do there is nothing to keep
            if code != "KDA106" or "bfloat16" not in annotation.dtypes:
                yield code
    for name, axis, text in axes:
        told_elsewhere = any(other != (name, axis, text) and text == other[2] for other in axes)
        if told_elsewhere or not text.isidentifier() or text == "N":
            code = size_code(call, SizeFault(name, axis, text, 1, 2, None))
            if code is not None:
                yield code
    for clause in contract.each(Dense):
        for name in clause.parameters:
            yield LAYOUT_CODES.get(contract.roles[name], "KDA201")


def _has(*kinds: type[Clause]) -> Reaches:
    return lambda contract: any(isinstance(clause, kinds) for clause in contract.clauses)


def _takes_offsets(contract: Contract) -> bool:
    return "offsets" in contract.roles.values()


def _takes_token_major(contract: Contract) -> bool:
    call = Call(contract, {})
    return any(token_major(call, parameter.name) for parameter in contract.parameters)


def _excludes(contract: Contract) -> bool:
    """Whether some parameters exclude each other, other than by two statements of the offsets."""
    return any(
        all(contract.roles[name] != "offsets" for name in clause.parameters)
        for clause in contract.each(Exclusive)
    )


def _orders_states(contract: Contract) -> bool:
    call = Call(contract, {})
    return any(
        role == "state" and call.state_order(name) is not None
        for name, role in contract.roles.items()
    ) or any(clause.flag is not None for clause in contract.each(VFirst))


_OTHERS: Mapping[str, Reaches] = {
    "KDA001": _has(Packed),
    "KDA002": lambda contract: _has(Packed)(contract) or _takes_token_major(contract),
    "KDA003": _has(Boundaries),
    "KDA004": _takes_offsets,
    "KDA103": _has(Elements),
    "KDA105": _has(ReadOnlyWith),
    "KDA202": _takes_token_major,
    "KDA203": _has(Multiple, AtMost, PowerOfTwo, Covers, PackedWidth),
    "KDA206": _has(SameDevice),
    "KDA301": _takes_offsets,
    "KDA302": _takes_offsets,
    "KDA303": _takes_offsets,
    "KDA305": _takes_offsets,
    "KDA306": _has(OffsetsEnd),
    "KDA308": _takes_offsets,
    "KDA402": _has(SameDtype),
    "KDA403": _orders_states,
    "KDA404": _has(PoolPair, Together),
    "KDA405": _has(Indices),
    "KDA406": _has(Rings),
    "KDA501": lambda contract: not _has(Open)(contract) or _has(OneOf)(contract),
    "KDA502": lambda contract: True,
    "KDA503": lambda contract: _has(Needs, Within)(contract) or _excludes(contract),
}
