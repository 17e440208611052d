"""Annotations are enforced by jaxtyping and beartype themselves, on a function made for one call.

A contract says more than a signature in reading order can be asked for: `a: "B HV*K"` stands before the parameters
that bind HV and K, and "N+1" has no N where the state is absent. So only what the call gives is checked, parameters
with plain axes first, and an axis whose names nothing binds is left open.
"""

from __future__ import annotations

import functools
import operator
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import beartype
import jaxtyping
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import TypeCheckError, jaxtyped
from torch import Tensor
from torch.nn.parameter import is_lazy

from kdacheck.contracts.annotations import DTYPES, Annotation, TensorSpec
from kdacheck.contracts.call import Call, names_in
from kdacheck.facts import TensorFacts
from kdacheck.runtime.errors import Broken
from kdacheck.runtime.judge import Bound
from kdacheck.runtime.reading import Signature

_FAMILIES = {dtypes: getattr(jaxtyping, name) for name, dtypes in DTYPES.items()}

#: An int is a fine float, and what a tuple holds is not looked at one by one.
CONF = beartype.BeartypeConf(is_pep484_tower=True, is_color=False)


#: Stands for values that are not known while something is traced.
_UNSAYING = (torch.SymInt, torch.SymFloat, torch.SymBool, torch.fx.Proxy)


@dataclass(frozen=True)
class Objection:
    """What jaxtyping or beartype said of one parameter."""

    parameter: str
    text: str


@functools.lru_cache(maxsize=4096)
def hint_of(spec: TensorSpec, bound: frozenset[str] | None = None) -> Any:
    """The jaxtyping type of one alternative; axes of names outside `bound` are left open.

    The same one each time: jaxtyping makes another type whenever it is asked, and beartype keeps what it makes of each.
    """
    if spec.axes is None and spec.dtypes is None:
        return Tensor
    axes = " ".join(_axis(text, bound) for text in spec.axes.names) if spec.axes else "..."
    return _FAMILIES[spec.dtypes][Tensor, axes]


def _axis(text: str, bound: frozenset[str] | None) -> str:
    if bound is None or text.isidentifier() or text == "..." or text.startswith("*"):
        return text
    return text if names_in(text) <= bound else "_"


def _fitting(annotation: Annotation, value: Tensor) -> tuple[TensorSpec, ...]:
    of_rank = tuple(
        spec
        for spec in annotation.tensors
        if spec.axes is None or spec.axes.rank is None or spec.axes.rank == value.dim()
    )
    return of_rank or annotation.tensors


def _plain(specs: Iterable[TensorSpec]) -> frozenset[str]:
    return frozenset(
        text for spec in specs if spec.axes for text in spec.axes.names if text.isidentifier()
    )


def _computed(specs: Iterable[TensorSpec]) -> frozenset[str]:
    return frozenset(
        name
        for spec in specs
        if spec.axes
        for text in spec.axes.names
        if not text.isidentifier()
        for name in names_in(text)
    )


def _union(alternatives: Iterable[Any]) -> Any:
    return functools.reduce(operator.or_, alternatives)


def _in_order(forms: dict[str, tuple[TensorSpec, ...]]) -> list[tuple[str, Any]]:
    """Parameters with their types, each after those that bind the names of its computed axes."""
    ordered: list[tuple[str, Any]] = []
    bound: frozenset[str] = frozenset()
    waiting = dict(forms)
    while waiting:
        ready = [name for name, specs in waiting.items() if _computed(specs) <= bound]
        # where every computed axis waits for another, what can bind names goes first, its computed axes open
        name = min(
            ready or waiting,
            key=lambda name: (len(waiting[name]) > 1, bool(_computed(waiting[name]))),
        )
        specs = waiting.pop(name)
        ordered.append((name, _union(hint_of(spec, bound) for spec in specs)))
        if len(specs) == 1:
            bound |= _plain(specs)
    return ordered


def _hints(signature: Signature, call: Call, bound: Bound) -> list[tuple[str, Any]]:
    forms: dict[str, tuple[TensorSpec, ...]] = {}
    others: list[tuple[str, Any]] = []
    for parameter in signature.contract.parameters:
        name = parameter.name
        if name not in bound.given or bound.given[name] is parameter.default or call.ignored(name):
            continue
        value = bound.given[name]
        if isinstance(value, _UNSAYING) or is_lazy(value):
            continue
        annotation = call.annotation(name)
        if annotation.tensors and not annotation.others:
            if value is None:
                if not annotation.optional:
                    others.append((name, _union(hint_of(s) for s in annotation.tensors)))
            elif isinstance(value, Tensor):
                forms[name] = _fitting(annotation, value)
            else:
                others.append((name, Tensor))
        elif name in signature.hints:
            others.append((name, signature.hints[name]))
    return _in_order(forms) + others


@functools.lru_cache(maxsize=512)
def _enforced(hints: tuple[tuple[str, Any], ...]) -> Callable[..., None]:
    """A function of parameters with these types."""
    scope: dict[str, Any] = {}
    exec(f"def callee({', '.join(name for name, _ in hints)}): ...", scope)
    callee = scope.pop("callee")
    callee.__annotations__ = dict(hints)
    return jaxtyped(typechecker=None)(beartype.beartype(conf=CONF)(callee))


def objection(signature: Signature, call: Call, bound: Bound) -> Objection | None:
    """What jaxtyping and beartype object to in a call, or None."""
    hints = _hints(signature, call, bound)
    if not hints:
        return None
    wanted = tuple(hints)
    try:
        enforced = _enforced(wanted)
    except TypeError:  # a type that has no hash
        enforced = _enforced.__wrapped__(wanted)
    try:
        enforced(*(bound.given[name] for name, _ in hints))
    except (TypeCheckError, BeartypeCallHintViolation) as error:
        text = str(error)
        _let_go(error)
        named = re.search(r"parameter (\w+)=", text)
        reason = re.split(r"violates type hint ", text, maxsplit=1)[-1]
        return Objection(named.group(1) if named else hints[0][0], " ".join(reason.split()))
    return None


def _let_go(error: BaseException) -> None:
    """Empty the frames that an exception leads to: some stand in cycles, and would keep the arguments alive."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__


_CODES = {
    "gate parameter": ("KDA103", "gate-parameter-size"),
    "gate": ("KDA104", "gate-shape"),
    "offsets": ("KDA305", "cu-seqlens-rank"),
    "index": ("KDA405", "state-index"),
    "ring": ("KDA406", "ring-cache-shape"),
    "cursor": ("KDA406", "ring-cache-shape"),
}


def by_annotations(signature: Signature, call: Call, bound: Bound) -> Iterator[Broken]:
    """What only jaxtyping and beartype object to: no law of the rules says it."""
    found = objection(signature, call, bound)
    if found is None:
        return
    role = signature.contract.roles.get(found.parameter, "operand")
    tensor = isinstance(call.fact(found.parameter), TensorFacts)
    code, name = _CODES.get(role, ("KDA203", "operand-shape"))
    if not tensor:
        code, name = "KDA205", "operand-dtype"
    wanted = signature.contract.by_name[found.parameter].text
    yield Broken(
        code,
        name,
        f"`{found.parameter}` does not fit its annotation `{wanted}`: {found.text}",
        f"pass `{found.parameter}` as `{wanted}`",
        found.parameter,
    )
