"""`kdacheck.contract`, and the wrapper that every contracted function gets."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kdacheck.contracts.clauses import Clause, Law
from kdacheck.runtime import faults, levels
from kdacheck.runtime.errors import Unusable

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
    comes back; otherwise calls are checked at the level in force, see `kdacheck.checking`. torch.compile has a call
    checked when it traces it: compiled code checks nothing, and nothing is traced that the function does not do.

    A call that breaks the contract raises ContractError, which is a TypeError as well where Python would not have taken
    the call either. Where the check itself fails, at `meta` that is logged once and the call goes through; at `values`
    and under pytest it raises. The decorator raises TypeError for what is no clause and on a class or a property; on
    a function of C without a signature, and for a clause that names no parameter, when the function is first called.
    """
    for clause in clauses:
        if not isinstance(clause, Law):
            raise TypeError(
                f"contract() takes clauses of kdacheck.clauses, not {clause!r:.80}; without any it is @contract()"
            )

    def attach(function: F) -> F:
        if levels.process.level == levels.OFF:
            return function
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(attach(function.__func__))  # type: ignore[return-value]
        if isinstance(function, (type, property)):
            kind = "class" if isinstance(function, type) else "property"
            raise TypeError(f"a contract goes on functions and methods, not on a {kind}")

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
    inner = _disabled(function)
    if inner is not None:
        import torch

        # in this order compiled code has one graph break, not two, and every call is checked
        return torch.compiler.disable(guarded(inner, make, method=method, stands_in=stands_in))
    guard: Guard | None = None
    # the same function from first to last where torch is there already: compiled code guards on it
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    is_compiling: Callable[[], bool] = getattr(compiler, "is_dynamo_compiling", _compiling)
    failures = faults.Faults(function)

    def start() -> Guard:
        nonlocal guard, is_compiling
        import torch

        made = make()
        is_compiling = torch.compiler.is_dynamo_compiling
        guard = made
        return made

    def refuse(args: tuple[Any, ...], keywords: dict[str, Any], level: int) -> None:
        """Raise what is wrong with a call, if anything is."""
        if level & ~levels.DRY == levels.OFF or failures.at_start:
            return
        error = None
        try:
            asked = guard or start()
            if level == levels.META:
                error = asked.judge(args, keywords, level)
            else:
                error = asked.begin(args, keywords, level)
            if error is not None and not _binds(function, args, keywords, method):
                error = error.as_type_error()
        except Unusable:
            raise
        except Exception:
            failures.met(level, at_start=guard is None)
        if error is not None:
            try:
                raise error
            finally:
                # error, traceback and this frame would keep each other, and the arguments, alive
                del error

    def stand_in(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return (guard or start()).outputs(function, args, keywords, stands_in=stands_in)

    def at_trace(context: Any) -> None:
        """Judge a call that is being traced: where it is wrong it is not compiled, and raises when it runs."""
        level, error = levels.current(), None
        if level & ~levels.DRY != levels.OFF and not failures.at_start:
            try:
                error = (guard or start()).judge_in_trace(context, level)
            except Unusable as unusable:
                error = unusable
            except Exception:
                failures.met(level, at_start=guard is None)
        if error is not None:
            run_as_it_is(context, str(error))

    def dry_at_trace(context: Any) -> None:
        run_as_it_is(context, f"a stand-in for {function.__name__} is not compiled")

    def run_as_it_is(context: Any, why: str) -> None:
        nonlocal refuse, stand_in
        from kdacheck.runtime import traced

        # what code that is not compiled calls must not be compiled for that either
        refuse, stand_in = traced.kept_out(refuse), traced.kept_out(stand_in)
        if guard is not None:
            traced.left_alone(guard.check)
        traced.give_up(context, why)

    @functools.wraps(function)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        if is_compiling():
            from torch._dynamo.comptime import comptime

            comptime(dry_at_trace if levels.process.is_dry else at_trace)
            return function(*args, **keywords)
        stack = levels.entered.get()
        process = levels.process
        level = stack[-1] | process.extra if stack else process.state
        if level == levels.META:
            asked, passes = guard, False
            if asked is not None:
                try:
                    passes = len(args) <= asked.limit and asked.check(*args, **keywords)
                except Exception:  # what cannot be bound, and what a tensor raises when it is asked
                    passes = False
            if not passes:
                refuse(args, keywords, level)
        elif level:
            refuse(args, keywords, level)
            if level & levels.DRY:
                return stand_in(args, keywords)
        return function(*args, **keywords)

    @functools.wraps(function)
    def bound(self: Any, *args: Any, **keywords: Any) -> Any:
        if is_compiling():
            from torch._dynamo.comptime import comptime

            comptime(at_trace)
        else:
            level = levels.current()
            if level:
                refuse(args, keywords, level)
        return function(self, *args, **keywords)

    @functools.wraps(function)
    async def awaiting(*args: Any, **keywords: Any) -> Any:
        level = levels.current()
        if level:
            refuse(args, keywords, level)
        if level & levels.DRY:
            result = stand_in(args, keywords)
            return await result if inspect.isawaitable(result) else result
        return await function(*args, **keywords)

    chosen = bound if method else awaiting if inspect.iscoroutinefunction(function) else wrapper
    chosen.__kdacheck_guard__ = lambda: guard or start()  # type: ignore[attr-defined]
    return chosen


def _disabled(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """What `torch.compiler.disable` was put on, with all that it calls."""
    if not getattr(function, "_torchdynamo_disable", False):
        return None
    if not getattr(function, "_torchdynamo_disable_recursive", True):
        return None
    inner = getattr(function, "_torchdynamo_orig_callable", None)
    return inner if inner is not function else None


def _binds(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], method: bool
) -> bool:
    """Whether Python itself would take the call."""
    try:
        inspect.signature(function).bind(*((None,) * method), *args, **keywords)
    except TypeError:
        return False
    except ValueError:  # of a function of C, nothing is known
        return True
    return True


def _compiling() -> bool:
    """Until a guard is made: whether torch traces, without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_dynamo_compiling()
