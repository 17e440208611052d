"""Clauses: the laws of a callee that a jaxtyping annotation cannot say.

Each clause is plain data. A catalogue module attaches them as decorators; a rule in `kdacheck.rules` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, TypeAlias, dataclass_transform


@dataclass_transform(eq_default=True, frozen_default=True)
class Law:
    """A frozen record whose fields are the annotations of its class.

    What `dataclass` makes, without compiling methods for each of the many classes: that took longer than reading
    the whole catalogue.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ = tuple(cls.__annotations__)

    def __init__(self, *args: Any, **keywords: Any) -> None:
        names = self.__match_args__
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} values, got {len(args)}")
        values = self.__dict__
        values.update(zip(names, args, strict=False))
        for name, value in keywords.items():
            if name not in names or name in values:
                raise TypeError(f"{type(self).__name__}: unexpected or repeated {name!r}")
            values[name] = value
        for name in names[len(args) :]:
            if name not in values:
                try:
                    values[name] = getattr(type(self), name)
                except AttributeError:
                    raise TypeError(f"{type(self).__name__}: {name!r} is missing") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self.__match_args__)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"


class Packed(Law):
    """With `by` given, the operands are packed: batch size 1, tokens of all sequences in a row."""

    operands: tuple[str, ...]
    by: str


class PerSequence(Law):
    """`parameter` has one entry on axis 0 per sequence: `len(by) - 1`, or dimension `dense` without offsets."""

    parameter: str
    by: str
    dense: str | None = None


class Gate(Law):
    """The log decay and write strength: per value head, and per channel where the annotation says so."""

    parameters: tuple[str, ...]


class GateParameters(Law):
    """`A_log` and `dt_bias`, by whatever names this callee has for them."""

    parameters: tuple[str, ...]


class States(Law):
    """Recurrent states, pools and caches."""

    parameters: tuple[str, ...]


class Indices(Law):
    """Slot indices into a pool.

    live_zero: slot 0 is an ordinary slot; otherwise it is reserved for padding.
    negatives: negative indices are padding; otherwise they reach in front of the pool.
    pool: the parameter that holds the slots on axis 0.
    """

    parameters: tuple[str, ...]
    live_zero: bool = True
    negatives: bool = True
    pool: str | None = None


class Rings(Law):
    """ReplaySSM caches that share slots and length, with their cursor and flush flag."""

    caches: tuple[str, ...]
    cursors: tuple[str, ...]
    pool: str | None = None


class Elements(Law):
    """`parameter` has this many elements in all, in any shape (`at_least`: or more).

    flag, value: the law holds where the flag has that value.
    """

    parameter: str
    count: str
    at_least: bool = False
    flag: str | None = None
    value: bool = True


class Form(Law):
    """Where `flag` has `value`, the annotation of `parameter` is `text`: one of the forms that the signature allows."""

    parameter: str
    text: str
    flag: str
    value: bool = True


class Dense(Law):
    """The parameters are read with assumed strides.

    trailing: how many of the last axes lie dense in memory; None for all of them (contiguous).
    outcome: what a strided one leads to, "refused" (an exception) or "misread" (wrong numbers in silence).
    unless: a flag that makes the callee copy first.
    """

    parameters: tuple[str, ...]
    trailing: int | None = None
    outcome: Literal["refused", "misread"] = "refused"
    unless: str | None = None


class ReadOnlyWith(Law):
    """The parameters are ignored in silence unless `flag` is true (or, for a tensor, given)."""

    flag: str
    parameters: tuple[str, ...]


class Needs(Law):
    """With every one of `flags` true (or given), at least one of `companions` is true (or given)."""

    flags: tuple[str, ...]
    companions: tuple[str, ...]


class Within(Law):
    """With every one of `flags` true, a given `parameter` lies in `[low, high)`."""

    parameter: str
    low: float
    high: float
    flags: tuple[str, ...] = ()


class OneOf(Law):
    """`parameter` is one of these values."""

    parameter: str
    values: tuple[Any, ...]


class PoolPair(Law):
    """The pool and its indices are both given, always."""

    pool: str
    indices: str


class Together(Law):
    """All of these are given, or none."""

    parameters: tuple[str, ...]


class Exclusive(Law):
    """At most one of these is given."""

    parameters: tuple[str, ...]


class Multiple(Law):
    """Dimension `big` is a multiple of dimension `small`."""

    big: str
    small: str


class AtMost(Law):
    """Dimension `dim` is `limit` at most."""

    dim: str
    limit: int


class PowerOfTwo(Law):
    """The dimensions are powers of two."""

    dims: tuple[str, ...]


class Covers(Law):
    """`long` has at least as many entries on `axis` as `short`."""

    long: tuple[str, ...]
    short: str
    axis: int = 1


class SameDevice(Law):
    """All tensors are on one device, but for copies that are meant for the host."""

    but: tuple[str, ...] = ()


class SameDtype(Law):
    """The parameters that are given share one dtype."""

    parameters: tuple[str, ...]


class PackedWidth(Law):
    """The last axis of `parameter` is `2*H*K + HV*V` for a whole number H of key heads that divides HV."""

    parameter: str


class VFirst(Law):
    """The states are `[.., V, K]`; with a `flag`, only where it is true, else `[.., K, V]`."""

    states: tuple[str, ...]
    flag: str | None = None
    returns_state: bool = True


class OffsetsEnd(Law):
    """The last offset is the token count (axis 1 of `tokens_of`); `exact` False lets it fall short."""

    by: str
    tokens_of: str
    exact: bool = True


class StrictOffsets(Law):
    """Offsets strictly increase: no empty sequences."""

    by: str


class Swallows(Law):
    """Unknown keywords vanish in `**kwargs`, from which `reads` are read and `refuses` raise."""

    reads: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()


class Open(Law):
    """More keywords than the listed ones may be taken: the signature was not read at a release."""


class Boundaries(Law):
    """The callee takes sequence boundaries by `by` (or by one of `instead`), and works on these operands."""

    by: str
    operands: tuple[str, ...]
    instead: tuple[str, ...] = ()


class Drift(Law):
    """Positions whose meaning differs between releases or between callees of the same name."""

    position: int
    now: str
    was: str
    where: str


Clause: TypeAlias = (
    AtMost
    | Boundaries
    | Covers
    | Dense
    | Drift
    | Elements
    | Exclusive
    | Form
    | Gate
    | GateParameters
    | Indices
    | Multiple
    | Needs
    | OffsetsEnd
    | OneOf
    | Open
    | Packed
    | PackedWidth
    | PerSequence
    | PoolPair
    | PowerOfTwo
    | ReadOnlyWith
    | Rings
    | SameDevice
    | SameDtype
    | States
    | StrictOffsets
    | Swallows
    | Together
    | VFirst
    | Within
)


#: Fields of clauses that name parameters; the others name dimensions, texts and values.
_NAMING = (
    "but",
    "by",
    "caches",
    "companions",
    "cursors",
    "flag",
    "flags",
    "indices",
    "instead",
    "long",
    "operands",
    "parameter",
    "parameters",
    "pool",
    "short",
    "states",
    "tokens_of",
    "unless",
)


def named_by(clause: Clause) -> Iterator[str]:
    """The parameters that a clause names."""
    for field in _NAMING:
        value = getattr(clause, field, None)
        yield from (value,) if isinstance(value, str) else value or ()


def show(clause: Clause) -> str:
    """One line for `kdacheck contracts`."""
    match clause:
        case Packed(operands, by):
            return f"with {by}: {', '.join(operands)} have batch size 1"
        case PerSequence(parameter, by, dense):
            also = f"; one per {dense} without {by}" if dense else ""
            return f"{parameter}: one entry per sequence of {by}{also}"
        case Gate(parameters):
            return f"gate: {', '.join(parameters)}"
        case GateParameters(parameters):
            return f"gate parameters: {', '.join(parameters)}"
        case States(parameters):
            return f"states: {', '.join(parameters)}"
        case Indices(parameters, live_zero, negatives):
            padding = "slot 0 and below are padding"
            if live_zero:
                padding = "negative is padding" if negatives else "none is padding"
            return f"slot indices: {', '.join(parameters)} ({padding})"
        case Rings(caches, cursors):
            return f"rings: {', '.join(caches)}; cursors: {', '.join(cursors)}"
        case Elements(parameter, count, more, flag, value):
            when = f" with {flag}={value}" if flag else ""
            return f"{parameter}: {count} elements{' or more' if more else ''}{when}"
        case Form(parameter, text, flag, value):
            return f"{parameter}: {text} with {flag}={value}"
        case Dense(parameters, trailing, outcome, unless):
            what = "dense" if trailing is None else "last axis dense"
            if trailing is not None and trailing > 1:
                what = f"last {trailing} axes dense"
            but = f", unless {unless} is true" if unless else ""
            return f"{', '.join(parameters)}: {what}, otherwise {outcome}{but}"
        case ReadOnlyWith(flag, parameters):
            return f"{', '.join(parameters)}: ignored without {flag}"
        case Needs(flags, companions):
            return f"{' and '.join(flags)} needs {' or '.join(companions)}"
        case Within(parameter, low, high, flags):
            when = f" with {' and '.join(flags)}" if flags else ""
            return f"{parameter} in [{low}, {high}){when}"
        case OneOf(parameter, values):
            return f"{parameter}: one of {', '.join(map(repr, values))}"
        case PoolPair(pool, indices):
            return f"{pool} and {indices} are both required"
        case Together(parameters):
            return f"together or not at all: {', '.join(parameters)}"
        case Exclusive(parameters):
            return f"at most one of: {', '.join(parameters)}"
        case Multiple(big, small):
            return f"{big} is a multiple of {small}"
        case AtMost(dim, limit):
            return f"{dim} <= {limit}"
        case PowerOfTwo(dims):
            return f"powers of two: {', '.join(dims)}"
        case Covers(long, short, axis):
            return f"{', '.join(long)} cover {short} on axis {axis}"
        case SameDevice(but):
            return "all tensors on one device" + (f", but {', '.join(but)}" if but else "")
        case SameDtype(parameters):
            return f"one dtype: {', '.join(parameters)}"
        case PackedWidth(parameter):
            return f"{parameter}: last axis 2*H*K + HV*V for a whole H that divides HV"
        case VFirst(states, flag):
            return f"{', '.join(states)}: [.., V, K]{f' with {flag}' if flag else ''}"
        case OffsetsEnd(by, tokens_of, exact):
            return f"{by} ends at {'' if exact else 'or before '}the tokens of {tokens_of}"
        case StrictOffsets(by):
            return f"{by} strictly increases"
        case Swallows(reads, refuses):
            read = f"; read: {', '.join(reads)}" if reads else ""
            refused = f"; refused: {', '.join(refuses)}" if refuses else ""
            return f"unknown keywords vanish{read}{refused}"
        case Open():
            return "other keywords may be taken too"
        case Boundaries(by, operands, instead):
            return f"takes boundaries by {' or '.join((by, *instead))} for {', '.join(operands)}"
        case Drift(position, now, was, where):
            return f"position {position} is {now}; {was} in {where}"
