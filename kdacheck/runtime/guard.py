"""The guard of one contracted function: its checker, its judgement, and what it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kdacheck.runtime import contents, fast, judge, report
from kdacheck.runtime.decorate import UNBOUND
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

#: (filename, line) of the calls that were reached, where calls are counted.
sites: Counter[tuple[str, int]] = Counter()


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

    def passes(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Whether the checker passes a call: no rule and no annotation can object."""
        try:
            return len(args) <= self.limit and self.check(*args, **keywords)
        except UNBOUND:
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
        ran = None
        if level & COUNT:
            path = self.signature.path or self.signature.contract.paths[0]
            ran = counts.setdefault((path, self.version), Ran())
            ran.calls += 1
            frame = report.caller()
            if frame is not None:
                sites[frame.f_code.co_filename, frame.f_lineno] += 1
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

    def _contents_pass(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        if not self._asked:
            return True
        given = dict(zip(self._positions, args, strict=False))
        given.update(keywords)
        return contents.passes(self._asked, given)

    def outputs(
        self, function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Any:
        """Zeros in place of what a decorated function returns; its own result where it does not say what that is."""
        from kdacheck.runtime.standins import NoOutputsError, outputs_of

        try:
            return outputs_of(self, args, keywords)
        except NoOutputsError:
            return function(*args, **keywords)
