"""What is known at one point of a program: the values of names, and refinements of symbols and handles."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from kdacheck.contracts.tags import (
    BATCH_CUT,
    BY_CALL,
    FLATTENED,
    HEAD_FIRST,
    K_FIRST,
    PACKED,
    PERHAPS_UNPACKED,
    V_FIRST,
)
from kdacheck.facts import Dim, Integer, Literal, Symbol, TensorFacts, Unknown, equal, is_dense
from kdacheck.facts.dims import (
    bounds,
    of_symbol,
    possible_values,
    serial,
    substitute,
    symbol,
    symbols,
)
from kdacheck.source import limits
from kdacheck.source.integers import as_dim
from kdacheck.source.values import (
    AnyOf,
    Code,
    External,
    Identity,
    Items,
    Repeated,
    Table,
    Value,
    identity_of,
    parts_of,
)

#: More alternatives than this are forgotten.
MAX_ALTERNATIVES = 8

#: More objects of the project than these beside an unknown value are one unknown: every join compares them all.
MAX_APART = 2

_handles = itertools.count(1)
_moments = itertools.count(1)


def new_handle() -> int:
    return next(_handles)


def opaque(not_none: bool = False) -> Unknown:
    """A fresh unknown object with an identity of its own."""
    return Unknown(not_none, new_handle())


class Sizes:
    """The symbols that stand for sizes of objects of unknown rank, and for unknown objects used as ints.

    One object has one shape, so asking twice gives the same symbol.
    """

    def __init__(self) -> None:
        self._sizes: dict[int, dict[int, Dim]] = {}
        self._numbers: dict[int, Dim] = {}
        #: Handles of objects that may be lists: their length was asked for before any size.
        self._counted: set[int] = set()

    def of(self, handle: int, axis: int, name: str) -> Dim:
        sizes = self._sizes.setdefault(handle, {})
        if axis not in sizes:
            sizes[axis] = symbol(name)
        return sizes[axis]

    def learn(self, handle: int, axis: int, size: Dim) -> None:
        """A size that is known otherwise, unless the axis was asked for already."""
        self._sizes.setdefault(handle, {}).setdefault(axis, size)

    def number(self, handle: int, name: str) -> Dim:
        """An unknown object as an int, which may be any."""
        if handle not in self._numbers:
            self._numbers[handle] = symbol(name, None)
        return self._numbers[handle]

    def set_number(self, handle: int, dim: Dim) -> None:
        self._numbers[handle] = dim

    def length(self, handle: int, name: str) -> Dim:
        """The length of an object: the size of its first axis, but after the first look it may have another."""
        if handle in self._counted:
            return symbol("len")
        if 0 not in self._sizes.get(handle, {}):
            self._counted.add(handle)
        return self.of(handle, 0, name)

    def known(self, handle: int) -> Mapping[int, Dim]:
        """The axes of a handle that were asked for."""
        return self._sizes.get(handle, {})


@dataclass
class State:
    """names: values by variable name, or by (object, attribute).

    refined: symbol -> what a guard made of it. ranks: handle -> rank. sure: handles that are not None.
    log: what was changed in place or bound in passing, shared with all copies, so that whoever leaves the effects of
    a copy behind can forget what they touched (`suffer`). loose: objects that unknown values may be, shared likewise.
    certain: no branch was taken on the way that the first round of the loop around may leave out. outer: what names
    from outside the function are where no guard has told more.
    """

    names: dict[Hashable, Value] = field(default_factory=dict)
    refined: dict[Symbol, Dim] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)
    sure: frozenset[int] = frozenset()
    muted: int = 0
    log: list[Effect] = field(default_factory=list)
    certain: bool = True
    outer: Mapping[str, Value] = field(default_factory=dict)
    loose: set[Hashable] = field(default_factory=set)

    def copy(self) -> State:
        limits.spend(1 + len(self.names) // 8)
        return State(
            dict(self.names),
            dict(self.refined),
            dict(self.ranks),
            self.sure,
            self.muted,
            self.log,
            self.certain,
            self.outer,
            self.loose,
        )

    def become(self, other: State) -> None:
        """Take over what is known in another state."""
        self.names, self.refined, self.ranks = other.names, other.refined, other.ranks
        self.sure, self.muted, self.certain = other.sure, other.muted, other.certain
        self.log, self.outer, self.loose = other.log, other.outer, other.loose

    def resolve_dim(self, dim: Dim) -> Dim:
        if isinstance(dim, int) or not self.refined:
            return dim
        for _ in range(4):
            if not any(sym in self.refined for sym in symbols(dim)):
                return dim
            fresh = substitute(dim, lambda sym: self.refined.get(sym, of_symbol(sym)))
            if (
                fresh == dim
            ):  # symbols compare by identity: only bounds changed, and `fresh` has them
                return fresh
            dim = fresh
        return dim

    def resolve_facts(self, facts: TensorFacts) -> TensorFacts:
        """The facts with refinements put in; density is decided anew where sizes became known."""
        if not self.refined:
            return facts
        shape = facts.shape and tuple(self.resolve_dim(size) for size in facts.shape)
        strides = facts.strides and tuple(
            None if stride is None else self.resolve_dim(stride) for stride in facts.strides
        )
        if strides is not None and any(
            size == 0 and known != 0
            for size, known in zip(shape or (), facts.shape or (), strict=True)
        ):
            strides = None  # told of sizes that were taken to be at least 1: torch counts an empty axis as one
        dense = facts.dense
        if dense is None and shape is not None and strides is not None:
            dense = is_dense(shape, strides)
        partial = {axis: self.resolve_dim(size) for axis, size in facts.partial.items()}
        if (
            dense is facts.dense
            and all(a is b for a, b in zip(shape or (), facts.shape or (), strict=True))
            and all(a is b for a, b in zip(strides or (), facts.strides or (), strict=True))
            and all(partial[axis] is size for axis, size in facts.partial.items())
        ):
            return facts
        return replace(facts, shape=shape, strides=strides, dense=dense, partial=partial)

    def resolve(self, value: Value) -> Value:
        match value:
            case TensorFacts():
                return self.resolve_facts(value)
            case Integer(dim):
                resolved = self.resolve_dim(dim)
                return Literal(resolved) if isinstance(resolved, int) else Integer(resolved)
            case Unknown(False, handle) if handle in self.sure:
                return Unknown(True, handle)
            case AnyOf(values):
                return any_of(self.resolve(v) for v in values)
            case Items(items, kind):
                limits.spend(1 + len(items) // 4)
                resolved = tuple(self.resolve(v) for v in items)
                if all(a is b for a, b in zip(items, resolved, strict=True)):
                    return value  # an object keeps its identity
                return Items(resolved, kind, value.identity)
            case _:
                return value

    def settle(self, value: Value) -> Value:
        """`value` resolved, and known so by all its names, so that it is one object still."""
        resolved = self.resolve(value)
        if resolved is not value and isinstance(value, (TensorFacts, Items)):
            limits.spend(len(self.names) // 4)
            seen: Changed = {}
            for key, held in self.names.items():
                self.names[key] = _rebuilt(
                    held, lambda part: resolved if part is value else part, seen, certain=False
                )
        return resolved

    def rename(self, old: Value, new: Value) -> None:
        """Give every name of an object its new value: the object was changed in place."""
        if isinstance(old, Unknown) and not old.handle:
            return  # no object of its own: it stands for many
        moment = next(_moments)
        self.log.append(("object", (old, moment)))
        limits.spend(1 + len(self.names) // 4)
        new = _in_itself(with_identity(new, Identity(identity_of(old), moment)))
        self.loosen((old,), shown=new)
        change = _changing(old, new, self)
        seen: Changed = {}
        for key, value in self.names.items():
            self.names[key] = _rebuilt(value, change, seen, certain=False)

    def loosen(self, values: Iterable[Value], shown: Value | None = None) -> None:
        """From now on an unknown value may be one of the objects that the values are or hold, `shown` no longer does."""
        found = set[Hashable]().union(*map(reached, values))
        if found:
            self.loose |= found if shown is None else found - reached(shown)

    def change_unknown(self) -> None:
        """Something unknown was changed, which may be any loose object."""
        if not self.loose:
            return
        if not self.log or self.log[-1] is not _LOOSE:
            self.log.append(_LOOSE)
        limits.spend(len(self.names) // 4)
        known = -1
        while known < len(self.loose):
            known = len(self.loose)
            for key, value in self.names.items():
                if isinstance(key, tuple) and key[0] in self.loose:
                    self.loosen((value,))
                elif type(value) in HOLDING:
                    self.loosen(
                        p for p in _parts(value) if not self.loose.isdisjoint(identity_of(p))
                    )
        seen: Changed = {}
        for key, value in self.names.items():
            if type(value) in HOLDING:
                self.names[key] = self._less_loose(value, seen)

    def has_changed(self, objects: frozenset[int], mark: int) -> bool:
        """Whether one of the objects may have been changed since the log had the length `mark`."""
        return bool(objects) and any(
            not objects.isdisjoint(identity_of(touched[0]) if what == "object" else self.loose)
            for what, touched in self.log[mark:]
            if what in ("object", "loose")
        )

    def _less_loose(self, value: Value, seen: Changed) -> Value:
        return _rebuilt(value, _forgetting(self.loose), seen, certain=False)

    def set_unknown(self, name: str, value: Value) -> None:
        """An attribute of something unknown was set, which may be any loose object."""
        self.loosen((value,))
        for uid in self.loose:
            if isinstance(uid, tuple):
                self.bind((uid, name), opaque())

    def forget_loose(self, names: Iterable[str] = ()) -> None:
        """Forget the attributes of the loose objects of the project."""
        limits.spend(len(self.names) // 8)
        known = {
            key[0]: None
            for key, value in self.names.items()
            if isinstance(key, tuple) and key[0] in self.loose and not isinstance(value, Unknown)
        }
        for uid in known:
            self.forget_instance(uid, names)

    def bind(self, key: Hashable, value: Value) -> None:
        """Bind a name or attribute in the middle of an expression."""
        self.log.append(("name", key))
        self.hold(value)
        self.names[key] = value

    def hold(self, value: Value) -> None:
        """A value was bound: whoever leaves that behind may still have it by that name."""
        if reached(value):
            self.log.append(("held", value))

    def forget_contents(self) -> None:
        """Forget what tensors contain: something may have written into one, and views share memory."""
        if not self.log or self.log[-1] is not _CONTENTS:
            self.log.append(_CONTENTS)
        limits.spend(len(self.names) // 4)
        seen: Changed = {}
        for key, value in self.names.items():
            if type(value) in HOLDING:
                self.names[key] = without_contents(value, seen)

    def forget_tensors(self) -> None:
        """Forget what is known of tensors: one was given another shape in place, and any name may be its name."""
        if not self.log or self.log[-1] is not _SHAPES:
            self.log.append(_SHAPES)
        limits.spend(len(self.names) // 4)
        seen: Changed = {}
        for key, value in self.names.items():
            self.names[key] = without_tensors(value, seen)

    def forget_attributes(self, owner: Hashable) -> None:
        """Forget the attributes of an unknown object, and of the objects in them."""
        self.log.append(("attributes", owner))
        limits.spend(len(self.names) // 8)
        held = [
            self.names.pop(key)
            for key in [k for k in self.names if isinstance(k, tuple) and k[0] == owner]
        ]
        self._forget_within(held)

    def _forget_within(self, values: Sequence[Value]) -> None:
        """Forget what can be reached by whoever may change what holds it."""
        self.loosen(values)
        owners = {key[0] for key in self.names if isinstance(key, tuple)} if values else set()
        for part in itertools.chain.from_iterable(map(_parts, values)):
            match part:
                case Unknown(_, handle) if handle in owners:
                    self.forget_attributes(handle)
                case Code(kind="instance", target=target) if target.uid in owners:
                    self.forget_instance(target.uid)
                case Items() | Repeated() | Table() if part.identity:
                    self.rename(part, forgotten(part))
                case _:
                    pass

    def forget_instance(self, uid: Hashable, names: Iterable[str] = ()) -> None:
        """Forget the attributes of an object of the project; `names` are those its class gives it.

        Modules stay: a function that is handed a layer reads its cache or configuration, and gives it no other layers.
        """
        self.log.append(("instance", uid))
        limits.spend(len(self.names) // 8)
        found = {
            k
            for k, value in self.names.items()
            if isinstance(k, tuple) and k[0] == uid and not _is_module(value)
        }
        held = [self.names[key] for key in found]
        for key in found | {(uid, name) for name in names}:
            self.names[key] = opaque()
        self._forget_within(held)

    def suffer(self, effects: Iterable[Effect]) -> None:
        """Forget what was changed in a state that is not followed further, or in a callee."""
        for what, touched in distinct(effects):
            match what:
                case "object":
                    self.rename(touched[0], forgotten(touched[0]))
                case "name":
                    self.bind(touched, opaque())
                case "attributes":
                    self.forget_attributes(touched)
                case "instance":
                    self.forget_instance(touched)
                case "shapes":
                    self.forget_tensors()
                case "held":
                    self.loosen((touched,))
                case "loose":
                    self.change_unknown()
                case _:
                    self.forget_contents()

    def after_call(self, effects: Iterable[Effect]) -> None:
        """Forget what a callee of the project changed; of attributes the state has the values already."""
        effects = [
            effect
            for effect in distinct(effects)
            if not (effect[0] == "name" and isinstance(effect[1], str))
        ]
        if not effects:
            return
        limits.spend(len(self.names) // 4)
        seen = State(log=effects, loose=self.loose)
        for key, value in self.names.items():
            if isinstance(key, str) and type(value) in HOLDING:
                self.names[key] = seen.as_changed(value)
        self.log.extend(effects)
        if _SHAPES in effects:
            self.forget_tensors()
        if _LOOSE in effects:
            self.change_unknown()

    def as_changed_since(self, value: Value, mark: int) -> Value:
        """A value held outside this state, less what was changed since the log had the length `mark`."""
        return State(log=self.log[mark:], loose=self.loose).as_changed(value)

    def as_changed(self, value: Value) -> Value:
        """A value held outside this state, less what may have been changed since."""
        if isinstance(value, Unknown) and _SHAPES in self.log:
            return without_tensors(value)
        if type(value) not in HOLDING or not self.log:
            return value
        limits.spend(parts_of(value) + len(self.log) // 4)
        shown = _moments_in(value)
        kinds = {what for what, _ in self.log}
        if "shapes" in kinds:
            value = without_tensors(value)
        for old, moment in [touched for what, touched in self.log if what == "object"]:
            hit = id(old) in shown
            for each in identity_of(old):
                hit = hit or shown.get(each, moment) < moment
            if hit:
                change = _changing(old, forgotten(old), self, moment)
                value = _rebuilt(value, change, {}, certain=False)
        if "loose" in kinds and not self.loose.isdisjoint(shown):
            value = self._less_loose(value, {})
        return without_contents(value) if "contents" in kinds else value


#: ("object" | "name" | "held" | "attributes" | "instance" | "contents" | "shapes" | "loose", what of it)
Effect = tuple[str, Any]
_CONTENTS: Effect = ("contents", None)
_SHAPES: Effect = ("shapes", None)
_LOOSE: Effect = ("loose", None)

#: Kinds of values that can change while they keep their name.
HOLDING = frozenset((TensorFacts, Items, Repeated, Table, AnyOf))


def distinct(effects: Iterable[Effect]) -> list[Effect]:
    """The effects without repeats."""
    found: dict[tuple[str, Hashable], Effect] = {}
    for effect in effects:
        what, touched = effect
        if what == "object":
            found[what, id(touched[0])] = effect
        else:
            found.setdefault((what, id(touched) if what == "held" else touched), effect)
    return list(found.values())


def with_identity(value: Value, identity: Identity) -> Value:
    """What an object has become that was changed in place."""
    return replace(value, identity=identity) if identity and identity_of(value) else value


def forgotten(value: Value) -> Value:
    """An object of which only the type is still known, and which it is."""
    match value:
        case Table(identity=identity):
            return Table({}, True, identity=identity)
        case Items(kind=kind, identity=identity) | Repeated(kind=kind, identity=identity):
            return Repeated(Unknown(), kind, identity=identity)
        case Unknown(not_none):
            return opaque(not_none)
        case _:
            return opaque(not_none=True)


def _parts(value: Value) -> Iterator[Value]:
    """A value and everything in it."""
    yield value
    match value:
        case Items(items) | AnyOf(items):
            inner: Iterable[Value] = items
        case Repeated(element):
            inner = (element,)
        case Table(entries, _, maybe):
            inner = (*entries.values(), *maybe.values())
        case _:
            return
    for part in inner:
        yield from _parts(part)


def objects_in(value: Value) -> frozenset[int]:
    """The lists, sets, generators and dicts that a value may be, or that may be in it."""
    if type(value) not in HOLDING:
        return frozenset[int]()
    limits.spend(parts_of(value) // 4)
    return frozenset[int]().union(*map(identity_of, _parts(value)))


def _moments_in(value: Value) -> dict[int, int]:
    """The objects that a value may be or hold, with the first moment at which it shows one; ids of its parts as well."""
    found: dict[int, int] = {}
    for part in _parts(value):
        found[id(part)] = 0
        known = identity_of(part)
        for each in known:
            found[each] = min(known.moment, found.get(each, known.moment))
    return found


#: Kinds of values that are objects which can be changed, or may hold them.
_REACHING = frozenset((Items, Repeated, Table, AnyOf, Code))


def reached(value: Value) -> set[Hashable]:
    """The objects that a value may be, or that may be in it: those of the project as well."""
    found: set[Hashable] = set()
    if type(value) in _REACHING:
        limits.spend(parts_of(value) // 4)
        for part in _parts(value):
            found.update(identity_of(part))
            if isinstance(part, Code) and part.kind == "instance":
                found.add(part.target.uid)
    return found


def without_objects(value: Value) -> Value:
    """A value, less what is known of the lists, sets and dicts that it is or holds."""
    return _rebuilt(value, lambda part: forgotten(part) if identity_of(part) else part, {})


def _in_itself(value: Value) -> Value:
    """An object less what is known of itself where it is in itself."""
    same = identity_of(value)
    return _rebuilt(value, _forgetting(same, but=value), {}) if same else value


def _forgetting(objects: Set[Hashable], but: Value | None = None) -> Callable[[Value], Value]:
    """What parts of values become where no more is known of some objects, other than in this one part."""

    def change(part: Value) -> Value:
        return part if part is but or objects.isdisjoint(identity_of(part)) else forgotten(part)

    return change


#: Values that were changed already, with what became of them: one object in two places stays one.
Changed = dict[int, tuple[Value, Value]]


def _rebuilt(
    value: Value, change: Callable[[Value], Value], seen: Changed, certain: bool = True
) -> Value:
    """`value` with everything in it changed; the very same value where nothing is.

    certain: whether what is one of several alternatives is changed for certain, and not only if it is that one.
    """
    if id(value) in seen:
        return seen[id(value)][1]
    changed = change(value)
    if changed is value:
        changed = _with_parts(value, change, seen, certain)
    seen[id(value)] = value, changed
    return changed


def _with_parts(
    value: Value, change: Callable[[Value], Value], seen: Changed, certain: bool
) -> Value:
    def rebuilt(part: Value) -> Value:
        return _rebuilt(part, change, seen, certain)

    match value:
        case Items(items, kind):
            limits.spend(1 + len(items) // 4)
            parts = tuple(map(rebuilt, items))
            if any(a is not b for a, b in zip(items, parts, strict=True)):
                return Items(parts, kind, value.identity)
        case Repeated(element, kind, since):
            part = rebuilt(element)
            if part is not element:
                # it is one element that changed, unless all do
                part = part if certain else any_of((element, part))
                return Repeated(part, kind, since, value.identity)
        case AnyOf(values):
            parts = tuple(map(rebuilt, values))
            if any(a is not b for a, b in zip(values, parts, strict=True)):
                return any_of(parts if certain else (*values, *parts))
        case Table(entries, opened, maybe):
            limits.spend(1 + (len(entries) + len(maybe)) // 4)
            first = {k: rebuilt(v) for k, v in entries.items()}
            second = {k: rebuilt(v) for k, v in maybe.items()}
            if any(first[k] is not entries[k] for k in first) or any(
                second[k] is not maybe[k] for k in second
            ):
                return Table(first, opened, second, value.identity)
        case _:
            pass
    return value


def _changing(
    old: Value, new: Value, state: State, moment: int = sys.maxsize
) -> Callable[[Value], Value]:
    """What parts of values become where `old` was changed in place into `new`; what may be the same object is forgotten.

    Which of several alternatives a value is was not known: it may be the old one still. moment: of the change; values
    that show it, or later ones, stay.
    """
    same = identity_of(old)

    def change(part: Value) -> Value:
        if part is old:
            return new
        known = identity_of(part)
        if known.moment >= moment or not same or same.isdisjoint(known):
            return part
        less = forgotten(part)
        state.loosen((part,), shown=less)
        return less

    return change


#: Tags of what was done to the axes of a tensor, whatever is written into it.
AXIS_TAGS = frozenset((BATCH_CUT, FLATTENED, HEAD_FIRST, "token-major", K_FIRST, V_FIRST))


def _lasting(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(tag for tag in tags if tag in AXIS_TAGS or tag.startswith(BY_CALL))


def repeated(values: Iterable[Value], kind: str, since: int | None = None) -> Repeated:
    """A sequence of an unknown number of the values. since: the serial before they were made, now unless given.

    What is one symbol in what covers them all is another number in each element.
    """
    begin = serial() if since is None else since
    return Repeated(any_of(values), kind, begin)


def without_contents(value: Value, seen: Changed | None = None) -> Value:
    """A value, less what the tensors in it contain."""
    return _rebuilt(value, _without_contents, {} if seen is None else seen)


def _without_contents(value: Value) -> Value:
    if isinstance(value, TensorFacts):
        lasting = _lasting(value.tags)
        if value.values is not None or len(lasting) < len(value.tags):
            return replace(value, values=None, tags=lasting)
    return value


def without_tensors(value: Value, seen: Changed | None = None) -> Value:
    """A value, less what is known of the tensors in it and of objects that may be tensors."""
    return _rebuilt(value, _without_tensors, {} if seen is None else seen)


def _without_tensors(value: Value) -> Value:
    match value:
        case TensorFacts():
            return opaque(True)
        case Unknown(not_none, handle) if handle:
            return opaque(not_none)
        case _:
            return value


def element_of(sequence: Repeated) -> Value:
    """One element, with sizes of its own where every element has."""
    made: dict[Symbol, Dim] = {}

    def fresh(sym: Symbol) -> Dim:
        if sym.uid <= sequence.since:
            return of_symbol(sym)
        if sym not in made:
            made[sym] = symbol(sym.name, sym.low, sym.high, sym.choices)
        return made[sym]

    def renewed(value: Value) -> Value:
        match value:
            case TensorFacts(shape=shape, strides=strides, partial=partial, handle=handle):
                return replace(
                    value,
                    shape=shape and tuple(substitute(size, fresh) for size in shape),
                    strides=strides
                    and tuple(
                        None if step is None else substitute(step, fresh) for step in strides
                    ),
                    partial={axis: substitute(size, fresh) for axis, size in partial.items()},
                    handle=new_handle() if handle else 0,
                )
            case Integer(dim):
                return Integer(substitute(dim, fresh))  # type: ignore[arg-type]
            case Unknown(not_none, handle) if handle:
                return opaque(not_none)
            case Items(items, kind):
                return Items(tuple(map(renewed, items)), kind, value.identity)
            case Table(entries, opened, maybe):
                first = {key: renewed(held) for key, held in entries.items()}
                second = {key: renewed(held) for key, held in maybe.items()}
                return Table(first, opened, second, value.identity)
            case Repeated():
                return replace(value)  # another object, of which no more is known
            case AnyOf(values):
                return AnyOf(tuple(map(renewed, values)))
            case _:
                return value

    return sequence.element if sequence.since == sys.maxsize else renewed(sequence.element)


def alternatives(value: Value) -> tuple[Value, ...]:
    return value.values if isinstance(value, AnyOf) else (value,)


def any_of(values: Iterable[Value]) -> Value:
    """One of the values: merged where they are of a kind, listed where they are not."""
    kept: list[Value] = []
    values = list(itertools.chain.from_iterable(map(alternatives, values)))
    if len(values) > MAX_ALTERNATIVES and (number := _one_number(values)) is not None:
        return number
    limits.spend(len(values))
    for value in values:
        for index, other in enumerate(kept):
            merged = _merge(other, value)
            if merged is not None:
                kept[index] = merged
                break
        else:
            kept.append(value)
            if len(kept) > MAX_ALTERNATIVES:
                return _one_unknown(values)
    if not kept:
        return Unknown()
    if len(kept) == 1:
        return kept[0]
    if any(isinstance(v, Unknown) and not v.handle for v in kept):
        return _one_unknown(kept)
    return AnyOf(tuple(kept))


def _one_number(values: Sequence[Value]) -> Value | None:
    """One of many known ints, as merging them one by one would tell it; None where they are something else."""
    limits.spend(len(values) // 16)
    numbers = {v.value if isinstance(v, Literal) and type(v.value) is int else None for v in values}
    if None in numbers:
        return None
    known = [number for number in numbers if number is not None]
    few = known if len(known) <= MAX_ALTERNATIVES else None
    dim = symbol("?", min(known), max(known), few)
    return Literal(dim) if isinstance(dim, int) else Integer(dim)


def _one_unknown(values: Sequence[Value]) -> Value:
    return unsure(values, Unknown(not_none=all(map(_certain, values))))


def unsure(values: Iterable[Value], unknown: Unknown) -> Value:
    """An unknown value of which is known which objects it may be, for they may be changed by that name."""
    values = list(itertools.chain.from_iterable(map(alternatives, values)))
    objects = {id(v): v for v in values if isinstance(v, Code) and v.kind == "instance"}
    known = [forgotten(v) for v in values if identity_of(v)]
    if len(objects) <= MAX_APART:
        known.extend(objects.values())
    return AnyOf((unknown, *alternatives(any_of(known)))) if known else unknown


def _certain(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.not_none
    if isinstance(value, External):
        return False  # what another file defines may be None
    return not (isinstance(value, Literal) and value.value is None)


def join_dims(a: Dim, b: Dim, name: str = "?") -> Dim:
    """A size that is `a` on one path and `b` on another."""
    if equal(a, b):
        return _widened(a, b)
    left, right = possible_values(a), possible_values(b)
    if left is not None and right is not None and len(left | right) <= MAX_ALTERNATIVES:
        return symbol(name, choices=left | right)
    (low_a, high_a), (low_b, high_b) = bounds(a), bounds(b)
    low = None if low_a is None or low_b is None else min(low_a, low_b)
    high = None if high_a is None or high_b is None else max(high_a, high_b)
    return symbol(name, low, high)


def _widened(a: Dim, b: Dim) -> Dim:
    """One size of which two paths know different bounds."""
    if isinstance(a, int) or isinstance(b, int) or a is b:
        return a
    others = {sym: sym for sym in symbols(b)}

    def wide(sym: Symbol) -> Dim:
        other = others.get(sym, sym)
        if (sym.low, sym.high, sym.choices) == (other.low, other.high, other.choices):
            return of_symbol(sym)
        (low_a, high_a), (low_b, high_b) = bounds(of_symbol(sym)), bounds(of_symbol(other))
        return of_symbol(
            replace(
                sym,
                low=None if low_a is None or low_b is None else min(low_a, low_b),
                high=None if high_a is None or high_b is None else max(high_a, high_b),
                choices=None
                if sym.choices is None or other.choices is None
                else sym.choices | other.choices,
            )
        )

    return substitute(a, wide)


def _merge(a: Value, b: Value) -> Value | None:
    """One value for both, or None where they are better kept apart."""
    if a is b:
        return a
    limits.spend(6 + min(parts_of(a), parts_of(b)) // 4)
    left, right = as_dim(a), as_dim(b)
    if left is not None and right is not None and not a == b == Literal(left):
        dim = join_dims(left, right)
        return Integer(dim) if not isinstance(dim, int) else Literal(dim)
    if isinstance(a, TensorFacts) and isinstance(b, TensorFacts):
        same = a == b and all(type(size) is int for size in a.shape or (None,))
        return a if same else join_facts(a, b) if a.rank == b.rank else None
    if a == b and not isinstance(a, (Items, Table, Repeated)):
        return a
    if isinstance(a, Unknown) and isinstance(b, Unknown):
        return Unknown(a.not_none and b.not_none)
    if isinstance(a, Items) and isinstance(b, Items):
        if len(a.items) == len(b.items) and a.kind == b.kind:
            items = tuple(any_of(pair) for pair in zip(a.items, b.items, strict=True))
            return Items(items, a.kind, a.identity.united(b.identity))
        return None
    if isinstance(a, Table) and isinstance(b, Table):
        return join_tables(a, b)
    if isinstance(a, Repeated) and isinstance(b, Repeated) and a == b:
        return replace(a, identity=a.identity.united(b.identity))
    return _merge_unknown(a, b) or _merge_unknown(b, a)


def _merge_unknown(a: Value, b: Value) -> Value | None:
    """A list of which nothing is known, where that is what one of two is: it may be the other as well."""
    if not (isinstance(a, Repeated) and isinstance(b, (Items, Repeated)) and a.kind == b.kind):
        return None
    if a.element != Unknown():
        return None
    return Repeated(a.element, a.kind, identity=a.identity.united(b.identity))


def join_tables(a: Table, b: Table) -> Table:
    both = a.entries.keys() & b.entries.keys()
    maybe: dict[object, Value] = {}
    for table, other in ((a, b), (b, a)):
        for key, value in (*table.entries.items(), *table.maybe.items()):
            if key in both or (other.open and key not in other.entries and key not in other.maybe):
                continue  # an open table may have the key with any value
            maybe[key] = any_of((maybe[key], value)) if key in maybe else value
    entries = {key: any_of((a.entries[key], b.entries[key])) for key in a.entries if key in both}
    return Table(entries, a.open or b.open, maybe, a.identity.united(b.identity))


def _is_module(value: Value) -> bool:
    """Whether a value is a module whose class is not of the project."""
    return isinstance(value, Code) and value.kind in ("forward of", "torch module")


def joined_tags(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    """Tags where two paths meet: what both have, and packing that either has, since rows are the same on both."""
    return (a & b) | {tag for tag in a | b if tag.startswith((PACKED, PERHAPS_UNPACKED))}


def join_facts(a: TensorFacts, b: TensorFacts) -> TensorFacts:
    shape = None
    strides = None
    partial: dict[int, Dim] = {}
    if a.shape is not None and b.shape is not None:
        shape = tuple(join_dims(x, y) for x, y in zip(a.shape, b.shape, strict=True))
        if a.strides is not None and b.strides is not None:
            strides = tuple(
                _widened(x, y) if x is not None and y is not None and equal(x, y) else None
                for x, y in zip(a.strides, b.strides, strict=True)
            )
    else:
        for axis in a.partial.keys() & b.partial.keys():
            partial[axis] = join_dims(a.partial[axis], b.partial[axis])
    dtypes = None if a.dtypes is None or b.dtypes is None else a.dtypes | b.dtypes
    return TensorFacts(
        shape=shape,
        partial=partial,
        strides=strides,
        dense=a.dense if a.dense == b.dense else None,
        dtypes=dtypes,
        device=a.device if a.device == b.device else None,
        values=a.values if a.values == b.values else None,
        tags=joined_tags(a.tags, b.tags),
        origins={**b.origins, **a.origins},
        handle=a.handle if a.handle == b.handle else new_handle() if shape is None else 0,
    )


def join(a: State | None, b: State | None) -> State | None:
    """What is known where two paths meet; a path that never arrives adds nothing."""
    if a is None or b is None:
        return a if b is None else b
    limits.spend((len(a.names) + len(b.names)) // 4)
    names: dict[Hashable, Value] = {}
    # What two names hold on both paths is one object behind them as well.
    joined: dict[tuple[int, int], Value] = {}
    for key in (*a.names, *(k for k in b.names if k not in a.names)):
        if key in a.names and key in b.names:
            left, right = a.names[key], b.names[key]
            if left is right:
                names[key] = left
                continue
            pair = id(left), id(right)
            if pair not in joined:
                joined[pair] = any_of((a.resolve(left), b.resolve(right)))
            names[key] = joined[pair]
        elif isinstance(key, str):
            # Whoever reads the name later came by the path that bound it.
            state, value = (a, a.names[key]) if key in a.names else (b, b.names[key])
            value = state.resolve(value)
            names[key] = any_of((value, state.outer[key])) if key in state.outer else value
        elif isinstance(key, tuple) and isinstance(key[0], tuple):
            # An attribute set on one path only may hide one of the class on that path; but where it holds a module
            # outside the project, whoever calls it came by the path that set it.
            value = a.names[key] if key in a.names else b.names[key]
            names[key] = value if _is_module(value) else opaque()
    refined: dict[Symbol, Dim] = {}
    for sym in a.refined.keys() & b.refined.keys():
        if a.refined[sym] == b.refined[sym] and isinstance(a.refined[sym], int):
            refined[sym] = a.refined[sym]
            continue
        left, right = a.resolve_dim(of_symbol(sym)), b.resolve_dim(of_symbol(sym))
        (low_a, high_a), (low_b, high_b) = bounds(left), bounds(right)
        choices = None
        one, two = possible_values(left), possible_values(right)
        if one is not None and two is not None:
            choices = one | two
        refined[sym] = of_symbol(
            replace(
                sym,
                low=None if low_a is None or low_b is None else min(low_a, low_b),
                high=None if high_a is None or high_b is None else max(high_a, high_b),
                choices=choices,
            )
        )
    ranks = {h: r for h, r in a.ranks.items() if b.ranks.get(h) == r}
    log = a.log if a.log is b.log else [*a.log, *b.log]
    loose = a.loose if a.loose is b.loose else a.loose | b.loose
    muted, certain = max(a.muted, b.muted), a.certain and b.certain
    outer = {**a.outer, **b.outer}
    return State(names, refined, ranks, a.sure & b.sure, muted, log, certain, outer, loose)
