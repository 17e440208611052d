"""What a rule is: one law, judged on facts that may come from source or from real tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from kdacheck.contracts.call import Call

Aspect = Literal["shape", "layout", "dtype", "device", "values"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A law certainly broken by one call.

    parameter: the argument at fault; None for the call itself (an argument that is missing, say).
    keyword: a keyword of the call that names no parameter, where that is the fault.
    aspect: which property of the argument is wrong, so that a report can show where it was made.
    message: one sentence, without the callee (reports add it).
    remedy: what to write instead, one line; the rule's own remedy where None.
    at_origin: the finding stands where the aspect was made, not at the call.
    likely: strong evidence that has an innocent reading as well: reported on request only.
    """

    message: str
    parameter: str | None = None
    keyword: str | None = None
    aspect: Aspect | None = None
    remedy: str | None = None
    at_origin: bool = False
    likely: bool = False


Check = Callable[[Call], Iterator[Violation]]


@dataclass(frozen=True)
class Rule:
    """A rule with everything a reader wants to know of it.

    code, name: public, never changing; the name completes "allow ...".
    law: one sentence. why: what goes wrong otherwise. remedy: one line.
    static, runtime: what each enforcer must be able to see, see the table of rules.
    wrong, right: short self-contained modules; the linter must report exactly this code on each wrong one, and
    nothing on each right one.
    likely: modules on which the linter reports this code, marked as likely, and only on request.
    """

    code: str
    name: str
    law: str
    why: str
    remedy: str
    static: str
    runtime: str
    wrong: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()
    check: Check | None = field(default=None, compare=False)
