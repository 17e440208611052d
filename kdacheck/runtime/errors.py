"""What a broken contract raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken law of a call.

    message: the sentence of the linter, without the callee. remedy: what to write instead.
    """

    code: str
    name: str
    message: str
    remedy: str
    parameter: str | None = None


class ContractError(ValueError):
    """A call that breaks the contract of its callee, raised before the callee runs.

    code, parameter, message, remedy: of the first broken law. broken: all of them, by code.
    callee: the function as the linter names it. path: by which it is imported. version: "fla-core 0.6.0", or ""
    for a function of no known release.
    filename, lineno: the line of the caller. text: what `str()` gives.
    """

    def __init__(
        self,
        broken: tuple[Broken, ...],
        callee: str,
        path: str = "",
        version: str = "",
        filename: str = "",
        lineno: int = 0,
        text: str = "",
    ) -> None:
        super().__init__(text)
        self.broken = broken
        self.callee = callee
        self.path = path
        self.version = version
        self.filename = filename
        self.lineno = lineno
        self.text = text
        first = broken[0]
        self.code = first.code
        self.parameter = first.parameter
        self.message = first.message
        self.remedy = first.remedy

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all broken laws."""
        return tuple(law.code for law in self.broken)

    def as_type_error(self) -> ContractError:
        """The same, as an error that is a TypeError as well."""
        return _TypeError(*self._all)

    @property
    def _all(self) -> tuple[Any, ...]:
        return (
            self.broken,
            self.callee,
            self.path,
            self.version,
            self.filename,
            self.lineno,
            self.text,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (isinstance(self, TypeError), self._all)


class _TypeError(ContractError, TypeError):
    """A broken call that Python does not take either: who expected a TypeError gets one."""


def _again(is_type_error: bool, values: tuple[Any, ...]) -> ContractError:
    return (_TypeError if is_type_error else ContractError)(*values)


class Unusable(TypeError):  # noqa: N818 - says what the contract is
    """A contract that its author has to change: it raises at every level."""


ContractError.__module__ = _TypeError.__module__ = "kdacheck"
_TypeError.__name__ = _TypeError.__qualname__ = "ContractError"
