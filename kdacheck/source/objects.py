"""Callables, classes and instances of the project, as the interpreter sees them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from kdacheck.source.module import Definition, Module, dotted
from kdacheck.source.state import any_of
from kdacheck.source.values import Code, Literal, Unknown, Value

if TYPE_CHECKING:
    from kdacheck.source.contracted import Stated

_serial = itertools.count(1)


@dataclass(eq=False)
class Function:
    """A function or lambda with the names it closes over. `stated`: the contract of a function that has one."""

    module: Module
    params: cst.Parameters
    body: cst.CSTNode
    name: str
    closure: Mapping[Any, Value]
    frame: int
    definition: Definition | None = None
    defaults: Mapping[str, Value] = field(default_factory=dict)
    stated: Stated | None = None

    @property
    def is_lambda(self) -> bool:
        return self.definition is None


#: Base classes whose methods assign no attribute of an object.
_PLAIN_BASES = frozenset(
    ("object", "ABC", "Protocol", "Generic", "NamedTuple", "Enum", "IntEnum", "Module", "TestCase")
)


#: Methods by which a class makes its objects, or stores and reads their attributes, in its own way.
_ODD_METHODS = frozenset(("__new__", "__setattr__", "__getattribute__", "__delattr__"))


@dataclass(eq=False)
class Class:
    """A class of the project. `outside`: some base is not of the project, so attributes may come from there."""

    definition: Definition
    module: Module
    bases: tuple[Class, ...] = ()
    outside: tuple[str, ...] = ()
    names: Mapping[Any, Value] = field(default_factory=dict)

    @cached_property
    def _lineage(self) -> tuple[Class, ...]:
        rows = [list(base.lineage()) for base in self.bases] + [list(self.bases)]
        found: list[Class] = [self]
        while rows := [row for row in rows if row]:
            heads = (row[0] for row in rows if all(row[0] not in other[1:] for other in rows))
            following = next(heads, rows[0][0])
            found.append(following)
            rows = [[cls for cls in row if cls is not following] for row in rows]
        return tuple(found)

    def lineage(self) -> tuple[Class, ...]:
        """The class and those of the project that it comes from, in the order in which Python looks them up."""
        return self._lineage

    def method(self, name: str) -> tuple[Class, Definition] | None:
        for cls in self.lineage():
            if name in cls.definition.methods:
                return cls, cls.definition.methods[name]
        return None

    @cached_property
    def properties(self) -> frozenset[str]:
        """Attributes that methods compute or store in their own way."""
        return frozenset[str]().union(*(cls.definition.properties for cls in self.lineage()))

    def defines(self, name: str) -> bool:
        """Whether the body of the class itself gives an attribute of this name."""
        return name in self.names or any(d.name == name for d in self.definition.children)

    @cached_property
    def may_change_itself(self) -> bool:
        """Whether it inherits methods that are not known to leave its attributes alone."""
        return any(
            path.rpartition(".")[2] not in _PLAIN_BASES
            for cls in self.lineage()
            for path in cls.outside
        )

    @cached_property
    def is_odd(self) -> bool:
        """Whether its objects may have other attributes than those that its methods assign, or be no objects of it."""
        return any(
            any(k.keyword is not None and k.keyword.value == "metaclass" for k in keywords)
            or any(d.name in _ODD_METHODS for d in cls.definition.children)
            for cls in self.lineage()
            for keywords in (
                [
                    k
                    for k in getattr(cls.definition.node, "keywords", ())
                    if dotted(k.value).rpartition(".")[2] not in ("ABCMeta", "EnumMeta", "EnumType")
                ],
            )
        )

    @cached_property
    def is_torch_module(self) -> bool:
        return any(
            path.startswith(("torch.nn", "pytorch_lightning", "lightning"))
            or path.endswith("Module")
            for cls in self.lineage()
            for path in cls.outside
        )

    @property
    def is_parameterized(self) -> bool:
        """Whether a decorator makes several classes of it, each with attributes of its own."""
        return any("parameterized" in d for d in self.definition.decorators)

    @property
    def is_record(self) -> bool:
        """A dataclass or NamedTuple: its constructor binds its annotated fields."""
        decorated = any(
            d.rpartition(".")[2] in ("dataclass", "define") for d in self.definition.decorators
        )
        return decorated or self._is_named_tuple

    @property
    def _is_named_tuple(self) -> bool:
        return any(path.rpartition(".")[2] == "NamedTuple" for path in self.outside)

    @property
    def is_tuple(self) -> bool:
        """Whether its objects are sequences of their fields."""
        return self._is_named_tuple and self.method("__iter__") is None


@dataclass(eq=False)
class Instance:
    """An object of a project class. Its attributes live in the state, under `(uid, name)`.

    exact: it is of this class and no other; False for `self`, which may be of a subclass.
    """

    cls: Class
    exact: bool = True
    uid: tuple[str, int] = field(default_factory=lambda: ("self", next(_serial)))

    @property
    def may_be_false(self) -> bool:
        """Whether the object may be false as a condition: it has a say in that, or a length."""
        cls = self.cls
        return (
            not self.exact or cls.may_change_itself or any(map(cls.method, ("__bool__", "__len__")))
        )


@dataclass(frozen=True, slots=True)
class Argument:
    """A value passed to a call, with the node that passes it."""

    value: Value
    node: cst.CSTNode | None = None


@dataclass
class Arguments:
    """The arguments of a call, stars spread out as far as they are known.

    open_positional, open_keywords: an unknown star may pass more. maybe: keywords passed on some paths only.
    rest: what is passed, or holds what is, at no known place.
    """

    positional: list[Argument] = field(default_factory=list)
    keywords: dict[str, Argument] = field(default_factory=dict)
    maybe: dict[str, Argument] = field(default_factory=dict)
    open_positional: bool = False
    open_keywords: bool = False
    rest: list[Value] = field(default_factory=list)

    @property
    def known(self) -> bool:
        return not (self.open_positional or self.open_keywords or self.maybe)

    def values(self) -> list[Value]:
        return [a.value for a in self.positional]

    def keyword_values(self) -> dict[str, Value]:
        return {name: a.value for name, a in self.keywords.items()}

    def every(self) -> list[Value]:
        named = (*self.positional, *self.keywords.values(), *self.maybe.values())
        return [*(a.value for a in named), *self.rest]

    def changed(self, change: Callable[[Value], Value]) -> Arguments:
        """The same arguments with other values."""

        def made(named: Mapping[str, Argument]) -> dict[str, Argument]:
            return {name: Argument(change(a.value), a.node) for name, a in named.items()}

        return replace(
            self,
            positional=[Argument(change(a.value), a.node) for a in self.positional],
            keywords=made(self.keywords),
            maybe=made(self.maybe),
        )

    def before(self, first: Sequence[Argument]) -> Arguments:
        """The same call with more positional arguments in front."""
        return Arguments(
            [*first, *self.positional],
            dict(self.keywords),
            dict(self.maybe),
            self.open_positional,
            self.open_keywords,
            self.rest,
        )


@dataclass(eq=False)
class Partial:
    """`functools.partial(callee, ...)`."""

    callee: Value
    arguments: Arguments

    def complete(self, more: Arguments) -> Arguments:
        keywords = {**self.arguments.keywords, **more.keywords}
        for name, argument in self.arguments.keywords.items():
            if name in more.keywords:
                continue
            if more.open_keywords:
                keywords[name] = Argument(Unknown(), argument.node)
            elif name in more.maybe:
                either = any_of((argument.value, more.maybe[name].value))
                keywords[name] = Argument(either, argument.node)
        return Arguments(
            [*self.arguments.positional, *more.positional],
            keywords,
            {**self.arguments.maybe, **more.maybe},
            self.arguments.open_positional or more.open_positional,
            self.arguments.open_keywords or more.open_keywords,
            [*self.arguments.rest, *more.rest],
        )


def is_none(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def function(target: Function) -> Code:
    return Code("function", target)


def instance(target: Instance) -> Code:
    return Code("instance", target)
