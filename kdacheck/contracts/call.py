"""A call bound to the contract of its callee: what the rules judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kdacheck.contracts.annotations import Annotation, TensorSpec, evaluate, parse
from kdacheck.contracts.clauses import Form, Packed, PerSequence, ReadOnlyWith, VFirst
from kdacheck.contracts.model import REQUIRED, Contract
from kdacheck.contracts.tags import K_FIRST, LENGTHS, ONE_ROW, V_FIRST
from kdacheck.facts.dims import Dim, add, differs, show
from kdacheck.facts.tensors import TensorFacts
from kdacheck.facts.values import Fact, Integer, Literal, Number, Unknown


def names_in(text: str) -> frozenset[str]:
    """The dimension names in the text of an axis: `"HV*K"` -> HV, K."""
    return frozenset(part for part in re.split(r"\W+", text) if part.isidentifier())


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
        return names_in(self.spec)


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
    notes: parameter -> what the code around the call tells of it, see `kdacheck.contracts.tags`.
    """

    contract: Contract
    arguments: Mapping[str, Fact]
    version: str = ""
    unknown_keywords: Sequence[str] = ()
    positional: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True
    extra_positional: int = 0
    notes: Mapping[str, str] = field(default_factory=dict)

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

    def handed(self, name: str) -> bool:
        """Whether the call passes the parameter, and not certainly None."""
        return name in self.arguments and self.given(name) is not False

    def on(self, name: str) -> bool | None:
        """Whether a flag is true or a companion is given; None where that cannot be told."""
        fact = self.fact(name)
        parameter = self.contract.by_name.get(name)
        is_flag = parameter is not None and isinstance(parameter.default, bool)
        if isinstance(fact, Literal):
            # a number is something given, also where it is 0.0; a flag may be given as 0 or 1
            number = isinstance(fact.value, (int, float)) and not isinstance(fact.value, bool)
            return (number and not is_flag) or bool(fact.value)
        if is_flag and isinstance(fact, (Integer, Unknown)):
            return None
        return self.given(name)

    def all_on(self, flags: Iterable[str]) -> bool:
        """Whether every one of the flags is certainly true or given."""
        return all(self.on(flag) is True for flag in flags)

    def ignored(self, name: str) -> bool:
        """Whether the callee certainly does not read the parameter in this call."""
        return any(
            name in clause.parameters and self.on(clause.flag) is False
            for clause in self.contract.each(ReadOnlyWith)
        )

    def number(self, name: str) -> float | int | None:
        """A parameter's value where it is a known number."""
        fact = self.fact(name)
        value = fact.value if isinstance(fact, Literal) else None
        return None if isinstance(value, bool) or not isinstance(value, (int, float)) else value

    def sequences(self, by: str) -> Dim | None:
        """The number of sequences, `len(by) - 1`; None where `by` is no list of offsets to count by."""
        offsets = self.tensor(by)
        if offsets is None or offsets.rank != 1 or offsets.tags & (LENGTHS | {ONE_ROW}):
            return None
        if offsets.values and offsets.values[0] != 0:
            return None
        length = offsets.dim(0)
        return None if length is None else add(length, -1)

    @cached_property
    def unflattened(self) -> Mapping[str, Dim]:
        """Packed operand -> its batch size, for those that are certainly not flattened although offsets are given."""
        found: dict[str, Dim] = {}
        for packed in self.contract.each(Packed):
            if self.given(packed.by) is not True:
                continue
            for name in packed.operands:
                facts = self.tensor(name)
                batch = facts.dim(0) if facts is not None else None
                if batch is not None and differs(batch, 1):
                    found[name] = batch
        return found

    def annotation(self, name: str) -> Annotation:
        """The annotation of a parameter, narrowed to the forms that the flags of this call leave."""
        annotation = self.contract.by_name[name].annotation
        for form in self.contract.each(Form):
            if form.parameter == name and self.on(form.flag) is form.value:
                annotation = parse(form.text)
        for order in self.contract.each(VFirst):
            if name in order.states and order.flag is not None:
                flag = self.on(order.flag)
                if flag is not None:
                    annotation = _in_order(annotation, ("V", "K") if flag else ("K", "V"))
        return annotation

    def state_order(self, name: str) -> str | None:
        """The order of the last two axes of a state in this call, as a tag; None where a flag leaves it open."""
        ends = {" ".join(s.axes.names[-2:]) for s in self.annotation(name).tensors if s.axes}
        return {"K V": K_FIRST, "V K": V_FIRST}.get(ends.pop()) if len(ends) == 1 else None

    def tensors(self) -> Iterator[tuple[str, TensorFacts]]:
        """The arguments that are certainly tensors, in the order of the signature."""
        for parameter in self.contract.parameters:
            facts = self.tensor(parameter.name)
            if facts is not None:
                yield parameter.name, facts

    @cached_property
    def unified(self) -> Unification:
        return unify(self)


def _in_order(annotation: Annotation, last: tuple[str, str]) -> Annotation:
    """The annotation with only the tensors whose last two axes are named so, where there are any."""
    kept = tuple(s for s in annotation.tensors if s.axes is not None and s.axes.names[-2:] == last)
    return replace(annotation, tensors=kept) if kept else annotation


#: Whose sizes count first: a gate is wrong by the operands, a state by both.
_PRECEDENCE = ("operand", "gate", "gate parameter", "state", "index", "ring", "cursor", "offsets")


def unify(call: Call) -> Unification:
    """Bind dimension names to sizes: operands first, then gates, gate parameters, states, and the rest.

    Of several alternatives the one of the right rank counts; a fault is one only if every alternative has it.
    Expressions (`HV*K`) are judged at the end, once all names are bound; names bind from plain axes only, and not
    from an argument that contradicts a name already bound.
    """
    bound: dict[str, list[Bound]] = {}
    sizes: list[SizeFault] = []
    ranks: list[RankFault] = []
    later: list[tuple[str, TensorFacts, list[TensorSpec]]] = []
    _count_sequences(call, bound)
    roles = call.contract.roles
    for name, facts in sorted(call.tensors(), key=lambda item: _PRECEDENCE.index(roles[item[0]])):
        annotation = call.annotation(name)
        fitting = _fitting(annotation, facts)
        if fitting is None:
            continue
        if not fitting:
            allowed = annotation.ranks or frozenset()
            ranks.append(RankFault(name, facts.rank or 0, tuple(sorted(allowed))))
            continue
        if len(fitting) == 1:
            sizes.extend(_names(name, facts, fitting[0], bound, call.unflattened))
        later.append((name, facts, fitting))
    flat = Unification({name: tuple(entries) for name, entries in bound.items()}, (), ())
    for name, facts, fitting in later:
        faults = [
            list(_expressions(name, facts, spec, flat, whole=len(fitting) > 1)) for spec in fitting
        ]
        if all(faults):
            sizes.extend(faults[0])
    order = {parameter.name: index for index, parameter in enumerate(call.contract.parameters)}
    sizes.sort(key=lambda fault: (order[fault.parameter], fault.axis))
    ranks.sort(key=lambda fault: order[fault.parameter])
    return Unification(flat.bound, tuple(sizes), tuple(ranks))


def _count_sequences(call: Call, bound: dict[str, list[Bound]]) -> None:
    """Bind N to the number of sequences: by the offsets, or by the batch where there certainly are none."""
    for clause in call.contract.each(PerSequence):
        count = call.sequences(clause.by)
        if count is not None:
            bound["N"] = [Bound(count, clause.by, 0)]
            return
        if clause.dense is None or call.given(clause.by) is not False:
            continue
        for name, facts in call.tensors():
            specs = call.annotation(name).tensors
            axes = specs[0].axes if len(specs) == 1 else None
            if axes is None or clause.dense not in axes.names or axes.rank != facts.rank:
                continue
            size = facts.dim(axes.names.index(clause.dense))
            if size is not None:
                bound["N"] = [Bound(size, name, axes.names.index(clause.dense))]
                return


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
    name: str,
    facts: TensorFacts,
    spec: TensorSpec,
    bound: dict[str, list[Bound]],
    unflattened: Mapping[str, Dim],
) -> list[SizeFault]:
    faults: list[SizeFault] = []
    fresh: dict[str, Bound] = {}
    for axis, text, size in _axes(facts, spec):
        if not text.isidentifier() or (axis < 2 and name in unflattened):
            continue
        known = bound.get(text, [fresh[text]] if text in fresh else [])
        clash = next((entry for entry in known if differs(entry.size, size)), None)
        if clash is not None:
            faults.append(SizeFault(name, axis, text, size, clash.size, clash.parameter))
        else:
            fresh[text] = Bound(size, name, axis)
    if not faults:
        for text, entry in fresh.items():
            bound.setdefault(text, []).append(entry)
    return faults


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
            names = names_in(text)
            sources = [unified.bound[part][0].parameter for part in sorted(dims) if part in names]
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
        case Number():
            return "a number"
        case Unknown():
            return "unknown"
