"""The guard of one contracted function: its checker, its judgement, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from kdacheck.runtime import contents, fast, judge, report, traced
from kdacheck.runtime.errors import ContractError
from kdacheck.runtime.levels import COUNT, META, VALUES
from kdacheck.runtime.reading import Signature


class Ran:
    """How often a contract was asked, and how often it was broken."""

    def __init__(self) -> None:
        self.calls = 0
        self.broken = 0


#: By import path, with the release; filled where calls are counted.
counts: dict[tuple[str, str], Ran] = {}

#: How far out from a call lines count as reached: far enough for the decorators of a kernel.
DEPTH = 64

#: (filename, line) of the calls that were reached and of those that led there, where calls are counted.
sites: set[tuple[str, int]] = set()


def _nothing() -> None:
    return None


class Guard:
    """Judges calls of one function.

    check: passes a call that keeps the contract. limit: how many positional arguments `check` may be given.
    """

    def __init__(self, signature: Signature, version: str = "") -> None:
        self.signature = signature
        self.version = version
        self.check = fast.compile_checker(signature)
        self.limit = fast.drift_limit(signature)
        self._asked = contents.questions(signature.contract)
        self._positions = [parameter.name for parameter in signature.contract.positional]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with a function by value it is nothing: it is made anew where it is needed."""
        return _nothing, ()

    def passes(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Whether the checker passes a call: no rule and no annotation can object."""
        try:
            return len(args) <= self.limit and self.check(*args, **keywords)
        except Exception:  # what cannot be bound, and what a tensor raises when it is asked
            return False

    def judge(
        self, args: Sequence[Any], keywords: Mapping[str, Any], level: int
    ) -> ContractError | None:
        """What is wrong with a call, said by jaxtyping, beartype and the rules; None where nothing is."""
        broken, bound, call = judge.judge(self.signature, args, keywords, level, self.version)
        if not broken:
            return None
        return report.error(self.signature, broken, bound, call, self.version)

    def begin(
        self, args: Sequence[Any], keywords: Mapping[str, Any], level: int
    ) -> ContractError | None:
        """Check a call at any level, and count it where calls are counted."""
        ran = self._count(report.frames()) if level & COUNT else None
        if not level & (META | VALUES):
            return None
        if self.passes(args, keywords) and (
            not level & VALUES or self._contents_pass(args, keywords)
        ):
            return None
        error = self.judge(args, keywords, level)
        if error is not None and ran is not None:
            ran.broken += 1
        return error

    def judge_in_trace(self, context: Any, level: int) -> ContractError | None:
        """What the rules say of a call that torch.compile traces, by what is known of it there.

        context: what Dynamo hands to a `comptime` function in the wrapper. No contents are read, no guard is added.
        """
        frames = list(traced.frames(context))
        if level & COUNT:
            self._count(frames)
        if not level & (META | VALUES):
            return None
        bound = judge.bind(self.signature, *traced.call_of(context))
        call = judge.call_of(self.signature, bound, META, self.version)
        broken = tuple(judge.by_rules(call))
        if not broken:
            return None
        return report.error(self.signature, broken, bound, call, self.version, frames)

    def _count(self, frames: Iterable[report.Place]) -> Ran:
        path = self.signature.path or self.signature.contract.paths[0]
        ran = counts.setdefault((path, self.version), Ran())
        ran.calls += 1
        sites.update((filename, line) for filename, line, _ in islice(frames, DEPTH))
        return ran

    def _contents_pass(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        if not self._asked:
            return True
        given = dict(zip(self._positions, args, strict=False))
        given.update(keywords)
        return contents.passes(self._asked, given)

    def outputs(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        *,
        stands_in: bool,
    ) -> Any:
        """Zeros in place of what a function returns; of a decorated one whose results are not known, its own.

        stands_in: there is no such function, only a stand-in.
        """
        from kdacheck.runtime.standins import NoOutputsError, outputs_of

        try:
            return outputs_of(self, args, keywords)
        except NoOutputsError as error:
            if stands_in:
                raise
            unknown = str(error)
        try:
            return function(*args, **keywords)
        except Exception as error:
            error.add_note(f"{unknown}, so that it ran itself")
            raise
