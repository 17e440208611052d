"""einops patterns: rearrange, repeat, reduce and einsum, composed of torch operations as einops does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kdacheck.facts import Dim, Literal, TensorFacts, differs
from kdacheck.facts.dims import divide, product, symbol
from kdacheck.source.torch_arguments import Shape, build, size_of, tensor_of
from kdacheck.source.torch_joins import stack
from kdacheck.source.torch_reductions import amax, contracted, mean, prod, sum_
from kdacheck.source.torch_registry import GiveUpError, over_alternatives
from kdacheck.source.torch_views import expanded, permuted, reshaped
from kdacheck.source.values import Items, Repeated, Unknown, Value

ELLIPSIS = "..."
#: `(...)`: the axes of the ellipsis as one.
JOINED = "(...)"

#: A side of a pattern: groups of axis names; a name made of digits is a literal size.
Side = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Both sides of `"b t (h d) -> b h t d"`."""

    left: Side
    right: Side


def _parse_side(text: str) -> Side:
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    for word in text.replace("(", " ( ").replace(")", " ) ").replace("…", ELLIPSIS).split():
        if word == "(":
            if inside is not None:
                raise GiveUpError
            inside = []
        elif word == ")":
            if inside is None:
                raise GiveUpError
            groups.append((JOINED,) if inside == [ELLIPSIS] else tuple(inside))
            inside = None
        elif word != ELLIPSIS and not word.isdigit() and not word.isidentifier():
            raise GiveUpError
        elif inside is not None:
            inside.append(word)
        else:
            groups.append((word,))
    if inside is not None:
        raise GiveUpError
    return tuple(tuple(name for name in group if name != "1") for group in groups)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Pattern | None:
    left, arrow, right = text.partition("->")
    if not arrow:
        return None
    try:
        pattern = Pattern(_parse_side(left), _parse_side(right))
    except GiveUpError:
        return None
    for side in (pattern.left, pattern.right):
        names = _names(side)
        if len(set(names)) != len(names) and not any(name.isdigit() for name in names):
            return None
    return pattern


def _names(side: Side) -> list[str]:
    return [name for group in side for name in group]


def _axes(side: Side, extra: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups with the ellipsis spelled out."""
    out: list[tuple[str, ...]] = []
    for group in side:
        if group == (ELLIPSIS,):
            out.extend((name,) for name in extra)
        elif group == (JOINED,):
            out.append(tuple(extra))
        elif ELLIPSIS in group:
            at = group.index(ELLIPSIS)
            out.append((*group[:at], *extra, *group[at + 1 :]))
        else:
            out.append(group)
    return out


def _literals(groups: Sequence[tuple[str, ...]], sizes: dict[str, Dim]) -> list[tuple[str, ...]]:
    """The groups with a name of its own for every literal size."""
    out = []
    for index, group in enumerate(groups):
        names = []
        for position, name in enumerate(group):
            if name.isdigit():
                label = f"{name}@{index}.{position}"
                sizes[label] = int(name)
                names.append(label)
            else:
                names.append(name)
        out.append(tuple(names))
    return out


def _input(value: Value) -> TensorFacts:
    """A tensor, or a list of tensors, which einops stacks."""
    if isinstance(value, Items):
        return tensor_of(stack(value))
    if isinstance(value, Repeated):
        element = value.element
        if isinstance(element, TensorFacts) and element.shape is not None:
            return build(
                (symbol("?"), *element.shape), dtypes=element.dtypes, device=element.device
            )
        return build(None)
    return tensor_of(value)


@dataclass(slots=True)
class _Plan:
    groups: list[tuple[str, ...]]
    result: list[tuple[str, ...]]
    sizes: dict[str, Dim]
    #: Sizes that were given or follow, against those made up.
    tensor: TensorFacts


def _plan(value: Value, text: str, given: Mapping[str, Value]) -> _Plan:
    pattern = _parse(text)
    if pattern is None:
        raise GiveUpError
    tensor = _input(value)
    sizes: dict[str, Dim] = {}
    for name, size in given.items():
        sizes[name] = size_of(size, name)
    extra: list[str] = []
    if ELLIPSIS in _names(pattern.left):
        if tensor.shape is None:
            raise _UnknownRankError
        count = len(tensor.shape) - (len(pattern.left) - 1)
        alone = all(len(group) == 1 for group in pattern.left if ELLIPSIS in group)
        if count < 0 or not alone or JOINED in _names(pattern.left):
            raise GiveUpError
        extra = [f"...{index}" for index in range(count)]
    elif {ELLIPSIS, JOINED} & {*_names(pattern.left), *_names(pattern.right)}:
        raise GiveUpError
    groups = _literals(_axes(pattern.left, extra), sizes)
    if tensor.shape is None:
        shape: Shape = tuple(
            tensor.partial.get(axis, symbol(group[0] if len(group) == 1 else "n")) if group else 1
            for axis, group in enumerate(groups)
        )
        tensor = tensor.with_(shape=shape, partial={}, handle=0)
    assert tensor.shape is not None
    if len(tensor.shape) != len(groups):
        raise GiveUpError
    for group, whole in zip(groups, tensor.shape, strict=True):
        _solve(group, whole, sizes)
    return _Plan(groups, _literals(_axes(pattern.right, extra), sizes), sizes, tensor)


class _UnknownRankError(Exception):
    """An ellipsis on a tensor of unknown rank."""


def _solve(group: tuple[str, ...], whole: Dim, sizes: dict[str, Dim]) -> None:
    """Find the sizes of the axes of one group."""
    unknown = [name for name in group if name not in sizes]
    if len(unknown) > 1:
        raise GiveUpError
    rest = product(sizes[name] for name in group if name in sizes)
    if not unknown:
        if differs(rest, whole):
            raise GiveUpError
        return
    (name,) = unknown
    quotient = divide(whole, rest)
    if quotient is None:
        if isinstance(whole, int) and isinstance(rest, int):
            raise GiveUpError
        quotient = symbol(name)
    sizes[name] = quotient


def _split(plan: _Plan) -> tuple[TensorFacts, list[str]]:
    """The input with one axis per name."""
    names = [name for group in plan.groups for name in group]
    if all(len(group) == 1 for group in plan.groups):
        return plan.tensor, names
    return reshaped(plan.tensor, tuple(plan.sizes[name] for name in names)), names


def _merge(tensor: TensorFacts, plan: _Plan) -> TensorFacts:
    """One axis per group of the right side."""
    if all(len(group) == 1 for group in plan.result):
        return tensor
    return reshaped(
        tensor, tuple(product(plan.sizes[name] for name in group) for group in plan.result)
    )


def _pattern(value: Value) -> str:
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        raise GiveUpError
    return value.value


def _rank_only(value: Value, text: str) -> TensorFacts:
    """What an ellipsis on a tensor of unknown rank leaves: the axes in front of it, and literal ones."""
    pattern = _parse(text)
    tensor = _input(value)
    partial: dict[int, Dim] = {}
    for axis, group in enumerate(pattern.right if pattern is not None else ()):
        if ELLIPSIS in group:
            break
        if not group:
            partial[axis] = 1
    return build(None, dtypes=tensor.dtypes, device=tensor.device, partial=partial)


def _rearrange(value: Value, text: str, given: Mapping[str, Value]) -> TensorFacts:
    plan = _plan(value, text, given)
    tensor, names = _split(plan)
    order = [name for group in plan.result for name in group]
    if sorted(order) != sorted(names):
        raise GiveUpError
    return _merge(permuted(tensor, [names.index(name) for name in order]), plan)


def _repeat(value: Value, text: str, given: Mapping[str, Value]) -> TensorFacts:
    plan = _plan(value, text, given)
    tensor, names = _split(plan)
    order = [name for group in plan.result for name in group]
    kept = [name for name in order if name in names]
    added = [name for name in order if name not in names]
    if sorted(kept) != sorted(names) or any(name not in plan.sizes for name in added):
        raise GiveUpError
    tensor = permuted(tensor, [names.index(name) for name in kept])
    if added:
        tensor = _expanded_axes(tensor, order, added, plan)
    return _merge(tensor, plan)


def _expanded_axes(
    tensor: TensorFacts, order: Sequence[str], added: Sequence[str], plan: _Plan
) -> TensorFacts:
    from kdacheck.source.torch_views import unsqueeze

    for axis, name in enumerate(order):
        if name in added:
            tensor = tensor_of(unsqueeze(tensor, Literal(axis)))
    return expanded(tensor, tuple(plan.sizes[name] if name in added else -1 for name in order))


_REDUCTIONS: dict[str, Callable[..., Value]] = {
    "sum": sum_,
    "mean": mean,
    "max": amax,
    "min": amax,
    "prod": prod,
}


def _reduce(value: Value, text: str, how: Value, given: Mapping[str, Value]) -> TensorFacts:
    plan = _plan(value, text, given)
    tensor, names = _split(plan)
    order = [name for group in plan.result for name in group]
    if any(name not in names for name in order):
        raise GiveUpError
    gone = [name for name in names if name not in order]
    tensor = permuted(tensor, [names.index(name) for name in (*order, *gone)])
    if gone:
        reduction = _REDUCTIONS.get(_pattern(how))
        if reduction is None:
            raise GiveUpError
        axes = range(len(order), len(names))
        tensor = tensor_of(reduction(tensor, Items(tuple(map(Literal, axes)))))
        tensor = tensor.with_(tags=frozenset())
    return _merge(tensor, plan)


def _einsum(args: Sequence[Value]) -> TensorFacts:
    """The pattern comes last and has words for letters."""
    text = _pattern(args[-1])
    facts = [tensor_of(arg) for arg in args[:-1]]
    letters: dict[str, str] = {}
    for word in text.replace("->", " ").replace(",", " ").split():
        if word == ELLIPSIS or "(" in word:
            return build(None)
        letters.setdefault(word, chr(ord("a") + len(letters)))
    left, _, right = text.partition("->")
    sides = ["".join(letters[word] for word in part.split()) for part in (*left.split(","), right)]
    return contracted(",".join(sides[:-1]) + "->" + sides[-1], facts)


def call(name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """A call of `einops.<name>`, or None where it is not modelled."""

    def run(given: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
        try:
            return _run(name, given, named)
        except GiveUpError:
            return None

    return over_alternatives(run, args, kwargs)


def _run(name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value | None:
    if name == "einsum":
        return _einsum(args) if len(args) >= 2 else None
    names = ["tensor", "pattern", *(["reduction"] if name == "reduce" else [])]
    bound = dict(zip(names, args, strict=False))
    for keyword in names:
        if keyword in kwargs:
            bound[keyword] = kwargs.pop(keyword)
    if len(bound) != len(names) or len(args) > len(names):
        return None
    tensor = bound["tensor"]
    if not isinstance(tensor, TensorFacts | Items | Repeated | Unknown):
        return None
    if not isinstance(bound["pattern"], Literal):
        return build(None, dtypes=_input(tensor).dtypes, device=_input(tensor).device)
    text = _pattern(bound["pattern"])
    try:
        if name == "rearrange":
            return _rearrange(tensor, text, kwargs)
        if name == "repeat":
            return _repeat(tensor, text, kwargs)
        if name == "reduce":
            return _reduce(tensor, text, bound["reduction"], kwargs)
    except _UnknownRankError:
        return _rank_only(tensor, text)
    return None
