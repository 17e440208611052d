"""What is known of one argument of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kdacheck.facts.dims import Dim
from kdacheck.facts.tensors import TensorFacts


@dataclass(frozen=True, slots=True)
class Literal:
    """A value known exactly: None, a bool, a number or a string."""

    value: Any

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal, but as operands or indices they are not the same.
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )


@dataclass(frozen=True, slots=True)
class Integer:
    """An int of which something is known."""

    dim: Dim


@dataclass(frozen=True, slots=True)
class Number:
    """A number of which nothing more is known."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything; `not_none` where None is ruled out.

    handle: names one object whose sizes may become known later, see `kdacheck.source.state`; 0 names none.
    """

    not_none: bool = False
    handle: int = 0


Fact = TensorFacts | Literal | Integer | Number | Unknown
