"""Activations of functions, and how far they are followed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import libcst as cst

from kdacheck.facts import Dim
from kdacheck.source.module import Definition, Module
from kdacheck.source.objects import Class, Function
from kdacheck.source.state import State
from kdacheck.source.values import Code, Value

#: Statements run for one function on its own before helpers are no longer followed and loops no longer unrolled.
BUDGET = 1_500

#: Statements run for one file before the same holds for all its functions.
CEILING = 30_000

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
    module: Module
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
    #: How much of the log of its state is of what was changed before it was called.
    changes_before: int = 0
    #: Offsets that a branch on a mask put in the place of the caller's: name -> (mask, assignment).
    overwritten: dict[str, tuple[str, cst.CSTNode]] = field(default_factory=dict)
    #: Parameters with their first values, and the tests that hold where the function is now.
    parameters: dict[str, Value] = field(default_factory=dict)
    tests: list[cst.BaseExpression] = field(default_factory=list)
    #: The ids of unknown arguments that were passed instead of others, which are None.
    instead: frozenset[int] = frozenset()
    #: Names that it assigns for a scope around.
    declared: set[str] = field(default_factory=set)
    #: The ids of the blocks around what the function is at, outermost first.
    blocks: list[int] = field(default_factory=list)
    #: The sizes of the axes that annotations and names speak of.
    dims: dict[str, Dim] = field(default_factory=dict)
