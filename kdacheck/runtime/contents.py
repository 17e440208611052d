"""The fast path at the level `values`: what the rules ask of offsets, indices and cursors, asked of plain lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from torch import Tensor

from kdacheck.contracts.clauses import Indices, OffsetsEnd, Rings, StrictOffsets
from kdacheck.contracts.model import Contract
from kdacheck.runtime.facts import Contents

#: Asks about the contents of one argument; True where no rule can object.
Question = Callable[[tuple[int, ...], Mapping[str, Any]], bool]


def questions(contract: Contract) -> list[tuple[str, Question]]:
    """The questions that the clauses of a contract ask of contents, by parameter."""
    asked: list[tuple[str, Question]] = []
    strict = {law.by for law in contract.each(StrictOffsets)}
    for name, role in contract.roles.items():
        if role == "offsets":
            asked.append((name, _strictly if name in strict else _never_falls))
    for end in contract.each(OffsetsEnd):
        asked.append((end.by, _ends(end.tokens_of, end.exact)))
    for law in contract.each(Indices):
        asked.extend((name, _in_pool(law.pool, law.negatives)) for name in law.parameters)
    for law in contract.each(Rings):
        if law.cursors:
            asked.append((law.cursors[0], _in_ring(contract, law)))
    return asked


def passes(asked: list[tuple[str, Question]], given: Mapping[str, Any]) -> bool:
    """Whether no rule can object to the contents of these arguments."""
    contents = Contents(given)
    for name, question in asked:
        if given.get(name) is None:
            continue
        values = contents(name)
        if values and not question(values, given):
            return False
    return True


def _never_falls(values: tuple[int, ...], given: Mapping[str, Any]) -> bool:
    return values[0] == 0 and all(a <= b for a, b in pairwise(values))


def _strictly(values: tuple[int, ...], given: Mapping[str, Any]) -> bool:
    return values[0] == 0 and all(a < b for a, b in pairwise(values))


def _ends(tokens_of: str, exact: bool) -> Question:
    def ends(values: tuple[int, ...], given: Mapping[str, Any]) -> bool:
        operand = given.get(tokens_of)
        if not isinstance(operand, Tensor) or operand.dim() < 2:
            return False
        return values[-1] == operand.shape[1] if exact else values[-1] <= operand.shape[1]

    return ends


def _in_pool(pool: str | None, negatives: bool) -> Question:
    def in_pool(values: tuple[int, ...], given: Mapping[str, Any]) -> bool:
        slots = given.get(pool) if pool is not None else None
        if isinstance(slots, Tensor) and max(values) >= slots.shape[0]:
            return False
        return negatives or min(values) >= 0

    return in_pool


def _in_ring(contract: Contract, law: Rings) -> Question:
    places = {
        (name, spec.axes.names.index("L"))
        for name in law.caches
        for spec in contract.by_name[name].annotation.tensors[:1]
        if spec.axes is not None and "L" in spec.axes.names
    }

    def in_ring(values: tuple[int, ...], given: Mapping[str, Any]) -> bool:
        for name, axis in places:
            ring = given.get(name)
            if isinstance(ring, Tensor) and ring.dim() > axis:
                return min(values) >= 0 and max(values) < ring.shape[axis]
        return False

    return in_ring
