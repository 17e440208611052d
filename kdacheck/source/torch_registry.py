"""The table of torch functions and methods whose effect on facts is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kdacheck.facts import TensorFacts
from kdacheck.source.values import UNKNOWN, AnyOf, Unknown, Value

Transfer = Callable[..., Value]
SomeTransfer = TypeVar("SomeTransfer", bound=Transfer)

#: More alternatives than this are not followed one by one.
MAX_ALTERNATIVES = 8

#: Other spellings that torch accepts for a parameter.
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "self": "input", "x": "input", "x2": "other"}

_VARARGS = 0x04


def words(text: str) -> list[str]:
    """The names in a text."""
    return text.split()


class GiveUpError(Exception):
    """The result of an operation cannot be told, or torch would raise."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A transfer function with what is needed to bind arguments to it."""

    transfer: Transfer
    names: tuple[str, ...]
    positional: int
    required: int
    star: bool
    of_tensor: bool

    def bind(
        self, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> tuple[tuple[Value, ...], dict[str, Value]] | None:
        """The arguments as the transfer function takes them, or None where they do not fit."""
        if len(args) > self.positional and not self.star:
            return None
        named = {}
        for name, value in kwargs.items():
            name = name if name in self.names else _SYNONYMS.get(name, name)
            if (
                name not in self.names
                or name in named
                or name in self.names[: min(len(args), self.positional)]
            ):
                return None
            named[name] = value
        if any(name not in named for name in self.names[len(args) : self.required]):
            return None
        return tuple(args), named


FUNCTIONS: dict[str, Entry] = {}
METHODS: dict[str, Entry] = {}


def _entry(transfer: Transfer, of_tensor: bool) -> Entry:
    code = transfer.__code__
    count = code.co_argcount
    return Entry(
        transfer,
        code.co_varnames[: count + code.co_kwonlyargcount],
        count,
        count - len(transfer.__defaults__ or ()),
        bool(code.co_flags & _VARARGS),
        of_tensor,
    )


def operation(*names: str, functions: Sequence[str] = ()) -> Callable[[SomeTransfer], SomeTransfer]:
    """A method of tensors that `torch` also has as a function of the same name.

    functions: further dotted paths under which the function is found.
    """

    def register(transfer: SomeTransfer) -> SomeTransfer:
        entry = _entry(transfer, of_tensor=True)
        for name in names:
            METHODS[name] = FUNCTIONS["torch." + name] = entry
        for path in functions:
            FUNCTIONS[path] = entry
        return transfer

    return register


def method(*names: str) -> Callable[[SomeTransfer], SomeTransfer]:
    """A method of tensors without a function twin."""

    def register(transfer: SomeTransfer) -> SomeTransfer:
        entry = _entry(transfer, of_tensor=True)
        METHODS.update(dict.fromkeys(names, entry))
        return transfer

    return register


def function(*paths: str, of_tensor: bool = False) -> Callable[[SomeTransfer], SomeTransfer]:
    """Functions by dotted path; with `of_tensor`, the first argument is a tensor."""

    def register(transfer: SomeTransfer) -> SomeTransfer:
        FUNCTIONS.update(dict.fromkeys(paths, _entry(transfer, of_tensor)))
        return transfer

    return register


def as_tensor_argument(value: Value) -> Value:
    """What a value is, given that torch takes it for a tensor."""
    return TensorFacts(handle=value.handle) if isinstance(value, Unknown) else value


def alternatives(values: Sequence[Value]) -> list[tuple[Value, ...]] | None:
    """One tuple per combination of alternatives of top-level `AnyOf` values; None where too many."""
    if not any(isinstance(value, AnyOf) for value in values):
        return [tuple(values)]
    choices = [value.values if isinstance(value, AnyOf) else (value,) for value in values]
    count = 1
    for choice in choices:
        count *= len(choice)
    return list(itertools.product(*choices)) if 0 < count <= MAX_ALTERNATIVES else None


def either(values: Sequence[Value | None]) -> Value | None:
    """The join of results of alternatives; None where none of them is known."""
    distinct: list[Value] = []
    for value in values:
        for part in (
            value.values if isinstance(value, AnyOf) else (UNKNOWN if value is None else value,)
        ):
            if part not in distinct:
                distinct.append(part)
    if all(part == UNKNOWN for part in distinct):
        return None
    if len(distinct) == 1:
        return distinct[0]
    return AnyOf(tuple(distinct)) if len(distinct) <= MAX_ALTERNATIVES else None


def over_alternatives(
    call: Callable[[tuple[Value, ...], dict[str, Value]], Value | None],
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value | None:
    """`call` on every combination of alternatives of its arguments, joined."""
    names = tuple(kwargs)
    combinations = alternatives((*args, *kwargs.values()))
    if combinations is None:
        return None
    results: list[Value | None] = []
    for values in combinations:
        rest = dict(zip(names, values[len(args) :], strict=True))
        results.append(call(values[: len(args)], rest))
    return results[0] if len(results) == 1 else either(results)


def invoke(entry: Entry, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """The result of a transfer function, or None where it cannot be told."""

    def call(given: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
        bound = entry.bind(given, named)
        if bound is None:
            return None
        positional, keywords = bound
        if entry.of_tensor:
            if positional:
                positional = (as_tensor_argument(positional[0]), *positional[1:])
                first: Any = positional[0]
            else:
                first = keywords[entry.names[0]] = as_tensor_argument(keywords[entry.names[0]])
            if not isinstance(first, TensorFacts):
                return None
        try:
            return entry.transfer(*positional, **keywords)
        except GiveUpError:
            return None

    return over_alternatives(call, args, kwargs)
