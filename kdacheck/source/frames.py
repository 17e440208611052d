"""Activations of functions, and how far they are followed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from kdacheck.source.module import Definition
from kdacheck.source.objects import Class, Function
from kdacheck.source.state import State
from kdacheck.source.values import Code, Value

#: Statements run for one function on its own before helpers are no longer followed and loops no longer unrolled.
BUDGET = 3_000

#: Helper functions are followed to this depth.
MAX_DEPTH = 6


@dataclass
class Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass(eq=False)
class Frame:
    """One activation of a function, or of the module."""

    number: int
    name: str
    closure: Mapping[Hashable, Value]
    definition: Definition | None = None
    is_lambda: bool = False
    owner: Class | None = None
    self_value: Value | None = None
    returns: list[tuple[Value, State]] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    defined: list[tuple[Code, State]] = field(default_factory=list)
    made: list[Function] = field(default_factory=list)
    names: Mapping[Hashable, Value] | None = None
