"""The values of the abstract interpreter: facts about arguments, plus what only source code has."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kdacheck.facts import Fact, Integer, Literal, Number, TensorFacts, Unknown


class Identity(frozenset[int]):
    """Which objects a list, set, generator or dict may be: what is changed by one name is changed for every other.

    moment: of the last change that the value shows.
    """

    moment: int

    def __new__(cls, objects: Iterable[int] = (), moment: int = 0) -> Identity:
        made = super().__new__(cls, objects)
        made.moment = moment
        return made

    def united(self, other: Identity) -> Identity:
        """Either of two, on paths that meet."""
        return Identity(self | other, max(self.moment, other.moment))


_objects = itertools.count(1)
_NOBODY = Identity()
_CHANGING = frozenset(("list", "set", "generator"))


def _new_identity(kind: str) -> Identity:
    return Identity((next(_objects),)) if kind in _CHANGING else _NOBODY


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, list, set or torch.Size of known length. identity: a new object unless given."""

    items: tuple[Value, ...]
    kind: str = "tuple"
    identity: Identity = field(compare=False, repr=False, default=_NOBODY)
    parts: int = field(init=False, compare=False, repr=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", 1 + sum(map(parts_of, self.items)))
        object.__setattr__(self, "identity", self.identity or _new_identity(self.kind))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A sequence of unknown length; every element is covered by `element`. identity: a new object unless given.

    since: symbols of the element made after this serial are other numbers in each element.
    """

    element: Value
    kind: str = "tuple"
    since: int = field(default=sys.maxsize, compare=False)
    identity: Identity = field(compare=False, repr=False, default=_NOBODY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", self.identity or _new_identity(self.kind))


@dataclass(frozen=True, slots=True)
class Table:
    """A dict. `entries` are certainly there; with `open`, other keys may be there too.

    maybe: keys that are there on some paths only. identity: a new object unless given.
    """

    entries: Mapping[Any, Value] = field(default_factory=dict)
    open: bool = False
    maybe: Mapping[Any, Value] = field(default_factory=dict)
    identity: Identity = field(compare=False, repr=False, default=_NOBODY)
    parts: int = field(init=False, compare=False, repr=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", self.identity or _new_identity("list"))
        count = sum(map(parts_of, self.entries.values()))
        object.__setattr__(self, "parts", 1 + count + sum(map(parts_of, self.maybe.values())))


@dataclass(frozen=True, slots=True)
class Span:
    """A slice object: `start:stop:step`."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class DType:
    """`torch.float32` and its like, by name ("float32"); None for a dtype that is not known."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Device:
    """A torch device, by type ("cuda"); None where unknown."""

    name: str | None


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """`x.shape` of an object of unknown rank."""

    handle: int


@dataclass(frozen=True, slots=True)
class External:
    """Something imported from outside the file, by its dotted path: `torch.nn.functional.pad`."""

    path: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several values, by the path taken."""

    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """A callable or class of the project, or a bound form of one. The interpreter gives it its meaning."""

    kind: str
    target: Any
    bound: Any = None


Value = (
    TensorFacts
    | Literal
    | Integer
    | Number
    | Unknown
    | Items
    | Repeated
    | Table
    | Span
    | DType
    | Device
    | ShapeOf
    | External
    | AnyOf
    | Code
)


def identity_of(value: Value) -> Identity:
    """Which objects that can be changed a value may be; none where it cannot change, or is not known."""
    return value.identity if isinstance(value, (Items, Repeated, Table)) else _NOBODY


def parts_of(value: Value) -> int:
    """How many values a value is made of, itself included."""
    match value:
        case Items() | Table():
            return value.parts
        case AnyOf(values):
            return sum(map(parts_of, values))
        case Repeated(element):
            return 1 + parts_of(element)
        case _:
            return 1


UNKNOWN = Unknown()
#: Something that is certainly not None.
SOMETHING = Unknown(not_none=True)
NONE = Literal(None)
NUMBER = Number()

__all__ = [
    "NONE",
    "NUMBER",
    "SOMETHING",
    "UNKNOWN",
    "AnyOf",
    "Code",
    "DType",
    "Device",
    "External",
    "Fact",
    "Identity",
    "Integer",
    "Items",
    "Literal",
    "Number",
    "Repeated",
    "ShapeOf",
    "Span",
    "Table",
    "TensorFacts",
    "Unknown",
    "Value",
    "identity_of",
    "parts_of",
]
