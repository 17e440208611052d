"""How much of a call is checked: nothing, what a tensor tells of itself, or its contents as well."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Literal, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

Level = Literal["off", "meta", "values"]

OFF, META, VALUES = 0, 1, 2

#: Bits above the level, process-wide: calls are counted; stand-ins take the place of kernels.
COUNT, DRY = 4, 8

NUMBERS = {"off": OFF, "meta": META, "values": VALUES}

_SPELLINGS = {"": "meta", "0": "off", "1": "meta", "true": "meta", "false": "off"}


def number(level: str) -> int:
    """The number of a level. Raises ValueError for a name that is none."""
    try:
        return NUMBERS[level]
    except KeyError:
        raise ValueError(f"no level {level!r}: it is one of off, meta, values") from None


def _from_environment() -> int:
    text = os.environ.get("KDACHECK", "").strip().lower()
    return number(_SPELLINGS.get(text, text))


class _Process:
    """What holds wherever no `checking` is entered: in this process, in every thread."""

    def __init__(self) -> None:
        self._dry = 0
        #: whether stand-ins take the place of kernels; code that torch compiles guards on it
        self.is_dry = False
        self.extra = 0
        self.level = _from_environment()
        #: level and extra as one number
        self.state = self.level

    def set(self, level: int) -> None:
        """Change the level that holds where none is entered."""
        self.level = level
        self.state = self.level | self.extra

    def count(self, on: bool) -> None:
        """Count calls, or stop counting."""
        self.extra = self.extra | COUNT if on else self.extra & ~COUNT
        self.set(self.level)

    def dry(self, step: int) -> None:
        """One `dry` more, or one less."""
        self._dry += step
        self.is_dry = self._dry > 0
        self.extra = self.extra | DRY if self.is_dry else self.extra & ~DRY
        self.set(self.level)


process = _Process()

#: The levels entered in this thread or task, innermost last; a tuple, since contexts share what they hold.
entered: ContextVar[tuple[int, ...]] = ContextVar("kdacheck level", default=())


def current() -> int:
    """The level in force, with the bits of the process."""
    stack = entered.get()
    return stack[-1] | process.extra if stack else process.state


class checking:  # noqa: N801 - reads as a verb in `with kdacheck.checking("values"):`
    """Check contracts at a level in the body of a `with`, or in every call of the function it decorates.

    level: "off", "meta" (shape, stride, dtype, device; never waits for a device) or "values" (offsets and
    indices are read as well).
    The level holds in the current thread or asyncio task and in what it awaits; others keep theirs. May be
    nested and shared. Raises ValueError for a level that is none.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self._number = number(level)

    def __enter__(self) -> checking:
        entered.set((*entered.get(), self._number))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        entered.set(entered.get()[:-1])

    def __call__(self, function: F) -> F:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaiting(*args: Any, **keywords: Any) -> Any:
                with self:
                    return await function(*args, **keywords)

            return awaiting  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                "a generator runs in its caller's context: enter checking() in its body"
            )

        @functools.wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            with self:
                return function(*args, **keywords)

        return checked  # type: ignore[return-value]
