"""`kdacheck.contract`, and the wrapper that every contracted function gets."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kdacheck.contracts.clauses import Clause
from kdacheck.runtime import levels

#: pytest leaves these frames out: what is wrong is the caller's line
__tracebackhide__ = True

if TYPE_CHECKING:
    from kdacheck.runtime.guard import Guard

F = TypeVar("F", bound=Callable[..., Any])


def contract(*clauses: Clause) -> Callable[[F], F]:
    """Hold calls of a jaxtyping-annotated function to its annotations and to these clauses.

        @kdacheck.contract(Packed(("q", "k", "v"), by="cu_seqlens"), SameDevice())
        def attend(
            q: Float[Tensor, "B T H K"],
            k: Float[Tensor, "B T H K"],
            v: Float[Tensor, "B T HV V"],
            cu_seqlens: Int[Tensor, "N+1"] | None = None,
        ): ...

    clauses: of `kdacheck.clauses`, for what annotations cannot say.

    Goes on functions, methods, static and class methods. With `KDACHECK=off` in the environment the function itself
    comes back; otherwise calls are checked at the level in force, see `kdacheck.checking`. Under torch.compile nothing is
    checked, so that nothing is traced that the function does not do.

    A call that breaks the contract raises ContractError. The decorator raises TypeError for a clause that names no
    parameter, when the function is first called.
    """

    def attach(function: F) -> F:
        if levels.process.level == levels.OFF:
            return function
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(attach(function.__func__))  # type: ignore[return-value]

        def make() -> Guard:
            from kdacheck.runtime import guard, reading

            return guard.Guard(reading.of_function(function, clauses))

        wrapper = guarded(function, make)
        wrapper.__kdacheck_clauses__ = clauses  # type: ignore[attr-defined]
        return wrapper  # type: ignore[return-value]

    return attach


def guarded(
    function: Callable[..., Any],
    make: Callable[[], Guard],
    *,
    method: bool = False,
    stands_in: bool = False,
) -> Callable[..., Any]:
    """The function with a guard before it, made when it is first needed: torch is imported by then.

    method: the first argument is no part of the contract. stands_in: the function is a stand-in already.
    """
    guard: Guard | None = None
    check: Callable[..., bool] = _never
    limit = 0
    # the same function from first to last where torch is there already: compiled code guards on it
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    is_compiling: Callable[[], bool] = getattr(compiler, "is_dynamo_compiling", _compiling)
    process, entered = levels.process, levels.entered.get

    def start() -> Guard:
        nonlocal guard, check, limit, is_compiling
        import torch

        made = make()
        is_compiling = torch.compiler.is_dynamo_compiling
        limit, check, guard = made.limit, made.check, made
        return made

    def begin(args: tuple[Any, ...], keywords: dict[str, Any], level: int) -> None:
        error = (guard or start()).begin(args, keywords, level)
        if error is not None:
            raise error

    @functools.wraps(function)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        if is_compiling():
            return function(*args, **keywords)
        stack = entered()
        level = stack[-1] | process.extra if stack else process.state
        if level == levels.META:
            try:
                passes = len(args) <= limit and check(*args, **keywords)
            except UNBOUND:
                passes = False
            if not passes:
                error = (guard or start()).judge(args, keywords, level)
                if error is not None:
                    raise error
        elif level:
            begin(args, keywords, level)
            if level & levels.DRY and not stands_in:
                return (guard or start()).outputs(function, args, keywords)
        return function(*args, **keywords)

    @functools.wraps(function)
    def bound(self: Any, *args: Any, **keywords: Any) -> Any:
        if not is_compiling():
            stack = entered()
            level = stack[-1] | process.extra if stack else process.state
            if level:
                begin(args, keywords, level)
        return function(self, *args, **keywords)

    chosen = bound if method else wrapper
    chosen.__kdacheck_guard__ = lambda: guard or start()  # type: ignore[attr-defined]
    return chosen


#: What a checker raises where arguments cannot be bound, and where a tensor has another rank or no strides.
UNBOUND = (TypeError, ValueError, AttributeError, RuntimeError, ZeroDivisionError, IndexError)


def _never(*args: Any, **keywords: Any) -> bool:
    return False


def _compiling() -> bool:
    """Until a guard is made: whether torch traces, without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_dynamo_compiling()
