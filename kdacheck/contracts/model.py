"""The model of a contract: a signature with annotations, and clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from kdacheck.contracts.annotations import Annotation, parse
from kdacheck.contracts.clauses import (
    Boundaries,
    Clause,
    Gate,
    GateParameters,
    Indices,
    Packed,
    PerSequence,
    Rings,
    States,
    Swallows,
    named_by,
    show,
)

C = TypeVar("C")


class _Required:
    def __repr__(self) -> str:
        return "<required>"


#: The default of a parameter that has none.
REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a callee."""

    name: str
    text: str = ""
    default: Any = REQUIRED
    keyword_only: bool = False

    @property
    def annotation(self) -> Annotation:
        """The annotation, read when first asked for: most runs never look at most parameters."""
        return parse(self.text) if self.text else Annotation()

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


#: Last names of import paths that say nothing without the one before.
_PLAIN = ("forward", "fwd")


def telling_name(path: str) -> str:
    """The last name of an import path that a file cannot do without: `forward` says nothing, its class does."""
    *_, above, last = ("", *path.split("."))
    return above if last in _PLAIN else last


def label(path: str) -> str:
    """A callee as people know it: `chunk_kda`, `flash_kda.fwd`, `ShortConvolution.forward`."""
    *_, above, last = ("", *path.split("."))
    return f"{above}.{last}" if last in _PLAIN else last


@dataclass(frozen=True)
class Contract:
    """What one callee demands, in a range of releases.

    paths: import paths by which users reach it. package: the distribution that ships it ("" for a user's own
    function). versions: a comma-separated range such as ">=0.5.1,<0.6".
    """

    name: str
    paths: tuple[str, ...]
    package: str
    versions: str
    parameters: tuple[Parameter, ...]
    clauses: tuple[Clause, ...] = ()
    returns: str = ""
    doc: str = ""

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def positional(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if not p.keyword_only)

    def each(self, kind: type[C]) -> Iterator[C]:
        """The clauses of one kind."""
        found = self._by_kind.get(kind)
        if found is None:
            found = tuple(clause for clause in self.clauses if isinstance(clause, kind))
            self._by_kind[kind] = found
        return iter(found)

    def first(self, kind: type[C]) -> C | None:
        return next(self.each(kind), None)

    @cached_property
    def _by_kind(self) -> dict[type, tuple[Any, ...]]:
        return {}

    @property
    def strangers(self) -> Iterator[tuple[Clause, str]]:
        """(clause, name) for the names in clauses that are no parameter."""
        for clause in self.clauses:
            for name in named_by(clause):
                if name not in self.by_name and name != "return":
                    yield clause, name

    @cached_property
    def roles(self) -> dict[str, str]:
        """parameter -> "gate", "gate parameter", "state", "index", "ring", "cursor", "offsets" or "operand"."""
        roles: dict[str, str] = {}
        for clause in self.clauses:
            match clause:
                case Gate(names):
                    roles.update(dict.fromkeys(names, "gate"))
                case GateParameters(names):
                    roles.update(dict.fromkeys(names, "gate parameter"))
                case States(names):
                    roles.update(dict.fromkeys(names, "state"))
                case Indices(names):
                    roles.update(dict.fromkeys(names, "index"))
                case Rings(caches, cursors):
                    roles.update(dict.fromkeys(caches, "ring"))
                    roles.update(dict.fromkeys(cursors, "cursor"))
                case Packed(_, by) | PerSequence(_, by) | Boundaries(by):
                    roles[by] = "offsets"
                case _:
                    pass
        return {p.name: roles.get(p.name, "operand") for p in self.parameters}

    @cached_property
    def swallows(self) -> bool:
        """Whether unknown keywords vanish instead of raising TypeError."""
        return self.first(Swallows) is not None

    @property
    def signature(self) -> str:
        """The signature as text, for `kdacheck contracts`."""
        parts, star = [], False
        for p in self.parameters:
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            text = p.name + (f": {p.text}" if p.text else "")
            parts.append(text if p.required else f"{text} = {p.default!r}")
        if self.swallows:
            parts.append("**kwargs")
        return f"{self.name}({', '.join(parts)})" + (f" -> {self.returns}" if self.returns else "")

    @property
    def clause_lines(self) -> list[str]:
        return [show(clause) for clause in self.clauses]
