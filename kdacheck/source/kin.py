"""Which lists and dicts may be one object, where two paths met or one of several was picked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kdacheck.source import limits
from kdacheck.source.values import Value


class Kin:
    """Values in groups: each may be the object that another of its group is. Relations are added, and never taken back."""

    def __init__(self) -> None:
        self._group_of: dict[int, dict[int, Value]] = {}

    def of(self, value: Value) -> list[Value]:
        """The other values that may be the same object."""
        group = self._group_of.get(id(value), {})
        limits.spend(len(group) // 8)
        return [other for other in group.values() if other is not value]

    def relate(self, values: Iterable[Value]) -> None:
        """Each of the values may be any other of them."""
        group: dict[int, Value] = {}
        for value in values:
            known = self._group_of.get(id(value), {id(value): value})
            if known is group:
                continue
            if len(known) > len(group):
                known, group = group, known
            limits.spend(1 + len(known) // 8)
            group.update(known)
            for key in known:
                self._group_of[key] = group
        if len(group) == 1:
            return
        for key in group.keys() - self._group_of.keys():
            self._group_of[key] = group

    def follow(self, changed: Mapping[int, tuple[Value, Value]]) -> None:
        """Relate what values became, by the ids of what they were: (what they were, what they are)."""
        touched = {
            id(group): group
            for key, (old, new) in changed.items()
            if old is not new and (group := self._group_of.get(key)) is not None
        }
        for group in touched.values():
            limits.spend(len(group) // 8)
            self.relate([changed[key][1] if key in changed else v for key, v in group.items()])

    def joined(self, other: Kin) -> Kin:
        """The relations of both."""
        if other is self:
            return self
        made = Kin()
        for group in {id(g): g for k in (self, other) for g in k._group_of.values()}.values():
            made.relate(group.values())
        return made
