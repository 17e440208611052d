"""Ints among the values."""

from __future__ import annotations

from kdacheck.facts import Dim, Integer, Literal
from kdacheck.source.values import Value


def as_dim(value: Value) -> Dim | None:
    """The size a value stands for, None where it is no int."""
    match value:
        case Integer(dim):
            return dim
        case Literal(v) if type(v) is int:
            return v
        case _:
            return None


def from_dim(dim: Dim) -> Value:
    return Literal(dim) if isinstance(dim, int) else Integer(dim)
