"""The slow path: jaxtyping, beartype and the rules judge one call, and say what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kdacheck import rules
from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Indices, Rings
from kdacheck.runtime import facts
from kdacheck.runtime.errors import Broken
from kdacheck.runtime.levels import VALUES
from kdacheck.runtime.reading import Signature


@dataclass
class Bound:
    """The arguments of one call by parameter, as Python would bind them."""

    given: dict[str, Any] = field(default_factory=dict)
    positional: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    extra: int = 0
    missing: tuple[str, ...] = ()


def bind(signature: Signature, args: Sequence[Any], keywords: Mapping[str, Any]) -> Bound:
    """Bind without raising: what does not fit is listed."""
    contract, bound = signature.contract, Bound()
    for index, (parameter, value) in enumerate(zip(contract.positional, args, strict=False)):
        bound.given[parameter.name] = value
        bound.positional[parameter.name] = index
    if not signature.takes_more:
        bound.extra = max(0, len(args) - len(contract.positional))
    for name, value in keywords.items():
        if name in contract.by_name:
            if name not in signature.positional_only:
                bound.given.setdefault(name, value)
        elif contract.swallows or not signature.takes_keywords:
            bound.unknown.append(name)
    bound.missing = tuple(
        p.name for p in contract.parameters if p.required and p.name not in bound.given
    )
    return bound


def call_of(signature: Signature, bound: Bound, level: int, version: str = "") -> Call:
    """The call as the rules judge it."""
    read = contents_read(signature) if level & VALUES else ()
    return Call(
        contract=signature.contract,
        arguments=facts.arguments_of(bound.given, read),
        version=version,
        unknown_keywords=tuple(bound.unknown),
        positional=bound.positional,
        extra_positional=bound.extra,
    )


def contents_read(signature: Signature) -> tuple[str, ...]:
    """The parameters whose contents some rule judges."""
    contract = signature.contract
    names = [name for name, role in contract.roles.items() if role == "offsets"]
    for law in contract.each(Indices):
        names.extend(law.parameters)
    for law in contract.each(Rings):
        names.extend(law.cursors[:1])
    return tuple(dict.fromkeys(names))


def by_rules(call: Call) -> Iterator[Broken]:
    """What the rules find, in the order of their codes."""
    for rule in rules.catalogue():
        if rule.check is None or rule.runtime == "-":
            continue
        for violation in rule.check(call):
            if violation.likely:
                continue
            yield Broken(
                rule.code,
                rule.name,
                violation.message,
                violation.remedy or rule.remedy,
                violation.parameter or violation.keyword,
            )


def judge(
    signature: Signature,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    level: int,
    version: str = "",
) -> tuple[tuple[Broken, ...], Bound, Call]:
    """Everything that is wrong with a call; nothing where it keeps its contract."""
    from kdacheck.runtime.typechecked import by_annotations

    bound = bind(signature, args, keywords)
    call = call_of(signature, bound, level, version)
    broken = tuple(by_rules(call))
    if not broken:
        broken = tuple(by_annotations(signature, call, bound))
    return broken, bound, call
