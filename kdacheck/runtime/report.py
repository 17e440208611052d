"""The words of a `ContractError`: the sentence, the arguments, the dimensions, the line, the remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kdacheck.contracts.call import Call
from kdacheck.facts import Literal, TensorFacts, show
from kdacheck.runtime.errors import Broken, ContractError
from kdacheck.runtime.judge import Bound
from kdacheck.runtime.reading import Signature

_HERE = os.path.dirname(os.path.abspath(__file__))


def error(
    signature: Signature,
    broken: Sequence[Broken],
    bound: Bound,
    call: Call,
    version: str,
    around: Iterable[Place] | None = None,
) -> ContractError:
    """The one exception for everything that is wrong with a call.

    around: the functions that lead to the call, innermost first, where it is not made by the running ones.
    """
    filename, lineno, name = place_of(frames() if around is None else around)
    callee, contract = signature.label, signature.contract
    release = " ".join(filter(None, (contract.package, version)))
    where = f"`{callee}`" + (f" ({release})" if release else "")
    lines = [f"{law.code} {law.name}: {where}: {law.message}" for law in broken]
    if filename:
        lines.append(f"  --> {filename}:{lineno} in {name}")
    culprits = {law.parameter for law in broken}
    rows = [
        (">" if name in culprits else " ", name, _describe(bound.given.get(name), call, name))
        for name in (*bound.given, *bound.unknown)
    ]
    width = max((len(name) for _, name, _ in rows), default=0)
    lines += [f"   {mark} {name:<{width}}  {text}".rstrip() for mark, name, text in rows]
    lines += [
        f"   > {name:<{width}}  not given"
        for name in contract.by_name
        if name in culprits and name not in bound.given
    ]
    dims = ", ".join(f"{name}={show(size)}" for name, size in sorted(call.unified.dims.items()))
    if dims:
        lines.append(f"   = dims: {dims}")
    lines += [f"   = help: {text}" for text in dict.fromkeys(law.remedy for law in broken)]
    return ContractError(
        tuple(broken), callee, contract.paths[0], release, filename, lineno, "\n".join(lines)
    )


def _describe(value: Any, call: Call, name: str) -> str:
    fact = call.arguments.get(name)
    if isinstance(fact, TensorFacts):
        text = f"{fact.dtype}{fact.describe_shape()}"
        if fact.dense is False and fact.strides is not None:
            steps = ", ".join("?" if step is None else show(step) for step in fact.strides)
            text += f" stride ({steps}{',' if len(fact.strides) == 1 else ''})"
        if fact.values is not None and len(fact.values) <= 16:
            text += f" = {list(fact.values)}"
        return f"{text} {fact.device}"
    if isinstance(fact, Literal):
        return repr(fact.value) if len(repr(fact.value)) <= 60 else type(fact.value).__name__
    return type(value).__name__ if name in call.arguments else "unknown keyword"


#: The file, the line and the name of a function that runs.
Place = tuple[str, int, str]


def frames() -> Iterator[Place]:
    """The functions that run, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back


def place_of(around: Iterable[Place]) -> Place:
    """Where the call is made: the innermost function that is neither this package's nor torch's own."""
    return next((place for place in around if not is_ours(place[0])), ("", 0, ""))


def is_ours(filename: str) -> bool:
    """Whether a frame of this file only stands between the caller and the callee."""
    if filename.startswith(("<kdacheck", "<@beartype", "<frozen")):
        return True
    if filename.startswith(_HERE) or os.path.basename(filename) in (
        "contextlib.py",
        "functools.py",
    ):
        return True
    torch = sys.modules.get("torch")
    root = os.path.dirname(getattr(torch, "__file__", None) or "") if torch is not None else ""
    return bool(root) and filename.startswith(root + os.sep)
