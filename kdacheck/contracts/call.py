"""A call bound to the contract of its callee: what the rules judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kdacheck.contracts.annotations import Annotation, TensorSpec, evaluate
from kdacheck.contracts.clauses import PerSequence
from kdacheck.contracts.model import REQUIRED, Contract
from kdacheck.facts.dims import Dim, add, differs, show
from kdacheck.facts.tensors import TensorFacts
from kdacheck.facts.values import Fact, Integer, Literal, Unknown


@dataclass(frozen=True, slots=True)
class Bound:
    """A dimension name with the size one axis of one argument gave it."""

    size: Dim
    parameter: str
    axis: int


@dataclass(frozen=True, slots=True)
class SizeFault:
    """An axis whose size certainly disagrees with what its annotation demands."""

    parameter: str
    axis: int
    spec: str
    actual: Dim
    expected: Dim
    against: str | None

    @property
    def names(self) -> frozenset[str]:
        """The dimension names in the annotation of the axis."""
        return frozenset(part for part in self.spec.replace("*", " ").replace("+", " ").split())


@dataclass(frozen=True, slots=True)
class RankFault:
    """An argument whose rank is certainly none that its annotation allows."""

    parameter: str
    actual: int
    allowed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unification:
    """The dimension names bound by a call, and where it contradicts itself."""

    bound: Mapping[str, tuple[Bound, ...]]
    sizes: tuple[SizeFault, ...]
    ranks: tuple[RankFault, ...]

    def size(self, name: str) -> Dim | None:
        """The size of a dimension, a plain int where any argument tells one."""
        entries = self.bound.get(name, ())
        for entry in entries:
            if isinstance(entry.size, int):
                return entry.size
        return entries[0].size if entries else None

    @property
    def dims(self) -> dict[str, Dim]:
        return {name: size for name in self.bound if (size := self.size(name)) is not None}


@dataclass(frozen=True)
class Call:
    """One call of a contracted callee.

    arguments: facts by parameter, for what the call certainly passes.
    unknown_keywords: keywords of the call that name no parameter of the contract.
    positional: parameter -> its position in the call, for what was passed by position.
    complete: False where an unknown `*` or `**` may pass more than is seen.
    extra_positional: how many positional arguments exceed the signature.
    version: the release the contract was chosen for.
    """

    contract: Contract
    arguments: Mapping[str, Fact]
    version: str = ""
    unknown_keywords: Sequence[str] = ()
    positional: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True
    extra_positional: int = 0

    def passed(self, name: str) -> bool:
        """Whether the call itself passes the parameter, None included."""
        return name in self.arguments

    def fact(self, name: str) -> Fact:
        """What is known of a parameter, its default included."""
        if name in self.arguments:
            return self.arguments[name]
        parameter = self.contract.by_name.get(name)
        if not self.complete or parameter is None or parameter.default is REQUIRED:
            return Unknown()
        return Literal(parameter.default)

    def tensor(self, name: str) -> TensorFacts | None:
        """The facts of a parameter that is certainly a tensor."""
        fact = self.fact(name)
        return fact if isinstance(fact, TensorFacts) else None

    def given(self, name: str) -> bool | None:
        """True where the parameter is certainly something, False where it is certainly None or absent."""
        fact = self.fact(name)
        if isinstance(fact, Literal):
            return fact.value is not None
        if isinstance(fact, Unknown):
            if not fact.not_none and self.complete and name not in self.arguments:
                return False
            return True if fact.not_none else None
        return True

    def on(self, name: str) -> bool | None:
        """Whether a flag is true or a companion is given; None where that cannot be told."""
        fact = self.fact(name)
        if isinstance(fact, Literal):
            return bool(fact.value) if not isinstance(fact.value, (int, float)) or isinstance(fact.value, bool) else True
        parameter = self.contract.by_name.get(name)
        if parameter is not None and isinstance(parameter.default, bool) and isinstance(fact, (Integer, Unknown)):
            return None
        return self.given(name)

    def number(self, name: str) -> float | int | None:
        """A parameter's value where it is a known number."""
        fact = self.fact(name)
        if isinstance(fact, Literal) and isinstance(fact.value, (int, float)) and not isinstance(fact.value, bool):
            return fact.value
        return None

    def sequences(self, by: str) -> Dim | None:
        """The number of sequences, `len(by) - 1`."""
        offsets = self.tensor(by)
        if offsets is None or offsets.rank != 1:
            return None
        length = offsets.dim(0)
        return None if length is None else add(length, -1)

    def tensors(self) -> Iterator[tuple[str, TensorFacts]]:
        """The arguments that are certainly tensors, in the order of the signature."""
        for parameter in self.contract.parameters:
            facts = self.tensor(parameter.name)
            if facts is not None:
                yield parameter.name, facts

    @cached_property
    def unified(self) -> Unification:
        return unify(self)


def unify(call: Call) -> Unification:
    """Bind dimension names to sizes argument by argument, in the order of the signature.

    Of several alternatives the one of the right rank counts; a fault is one only if every alternative has it.
    Expressions (`HV*K`) are judged at the end, once all names are bound; names bind from plain axes only.
    """
    bound: dict[str, list[Bound]] = {}
    sizes: list[SizeFault] = []
    ranks: list[RankFault] = []
    later: list[tuple[str, TensorFacts, list[TensorSpec]]] = []
    for name, facts in call.tensors():
        parameter = call.contract.by_name[name]
        fitting = _fitting(parameter.annotation, facts)
        if fitting is None:
            continue
        if not fitting:
            allowed = parameter.annotation.ranks
            assert facts.rank is not None and allowed is not None
            ranks.append(RankFault(name, facts.rank, tuple(sorted(allowed))))
            continue
        if len(fitting) == 1:
            sizes.extend(_names(name, facts, fitting[0], bound))
        later.append((name, facts, fitting))
    sequences = next((call.sequences(c.by) for c in call.contract.each(PerSequence)), None)
    if sequences is not None and "N" not in bound:
        bound["N"] = [Bound(sequences, next(call.contract.each(PerSequence)).by, 0)]
    flat = Unification({name: tuple(entries) for name, entries in bound.items()}, (), ())
    for name, facts, fitting in later:
        faults = [list(_expressions(name, facts, spec, flat, whole=len(fitting) > 1)) for spec in fitting]
        if all(faults):
            sizes.extend(faults[0])
    return Unification(flat.bound, tuple(sizes), tuple(ranks))


def _fitting(annotation: Annotation, facts: TensorFacts) -> list[TensorSpec] | None:
    """The alternatives whose rank the tensor can have; None where nothing is said or known."""
    if not annotation.tensors or annotation.others:
        return None
    if facts.rank is None:
        return list(annotation.tensors) if len(annotation.tensors) == 1 and facts.partial else None
    return [
        spec
        for spec in annotation.tensors
        if spec.axes is None
        or (spec.axes.rank is None and facts.rank >= len(spec.axes.names) - 1)
        or spec.axes.rank == facts.rank
    ]


def _axes(facts: TensorFacts, spec: TensorSpec) -> Iterator[tuple[int, str, Dim]]:
    """(axis, its text in the annotation, its size) for every axis of known size."""
    axes = spec.axes
    if axes is None:
        return
    for index, text in enumerate(axes.names):
        if index == axes.variadic or text == "_":
            continue
        axis = index
        if axes.variadic is not None and index > axes.variadic:
            if facts.rank is None:
                continue
            axis = facts.rank - (len(axes.names) - index)
        size = facts.dim(axis)
        if size is not None:
            yield axis, text, size


def _names(
    name: str, facts: TensorFacts, spec: TensorSpec, bound: dict[str, list[Bound]]
) -> Iterator[SizeFault]:
    for axis, text, size in _axes(facts, spec):
        if not text.isidentifier():
            continue
        entries = bound.setdefault(text, [])
        clash = next((entry for entry in entries if differs(entry.size, size)), None)
        if clash is not None:
            yield SizeFault(name, axis, text, size, clash.size, clash.parameter)
        else:
            entries.append(Bound(size, name, axis))


def _expressions(
    name: str, facts: TensorFacts, spec: TensorSpec, unified: Unification, *, whole: bool
) -> Iterator[SizeFault]:
    """Faults of computed axes; with `whole`, of plain names too (they were not bound for a choice of forms)."""
    dims = unified.dims
    for axis, text, size in _axes(facts, spec):
        if text.isidentifier() and not whole:
            continue
        expected = evaluate(text, dims)
        if expected is not None and differs(size, expected):
            sources = [unified.bound[part][0].parameter for part in sorted(dims) if part in text.replace("*", " ").replace("+", " ").split()]
            yield SizeFault(name, axis, text, size, expected, sources[0] if sources else None)


def describe(fact: Fact) -> str:
    """An argument in a few words."""
    match fact:
        case TensorFacts():
            return fact.describe_shape()
        case Literal(value):
            return repr(value)
        case Integer(dim):
            return show(dim)
        case Unknown():
            return "unknown"
