"""Subscripts: slices, integers, new axes, ellipses and index tensors."""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown, equal
from kdacheck.facts.dims import add, at_least, bounds, divide, multiply, symbol
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import build, dim_of, renewed, tensor_of
from kdacheck.source.torch_constructors import fresh
from kdacheck.source.torch_registry import GiveUpError
from kdacheck.source.torch_views import selected, steps_of
from kdacheck.source.values import NONE, Items, Span, Value


def _is_new_axis(item: Value) -> bool:
    return item == NONE


def _is_ellipsis(item: Value) -> bool:
    return isinstance(item, Literal) and item.value is ...


def _is_index_tensor(item: Value) -> bool:
    if isinstance(item, TensorFacts):
        return not _is_scalar_tensor(item)
    return isinstance(item, Items) or (isinstance(item, Literal) and isinstance(item.value, bool))


def _are_numbers(items: Items) -> bool:
    """Whether a list holds numbers or flags: beside a number, what is unknown is one too."""
    leaves = items.items
    if any(isinstance(leaf, Items) for leaf in leaves):
        return False
    return any(dim_of(leaf) is not None for leaf in leaves) or all(
        isinstance(leaf, Literal | TensorFacts) for leaf in leaves
    )


def _is_scalar_tensor(item: Value) -> bool:
    """Whether a tensor is taken for an int."""
    return (
        isinstance(item, TensorFacts)
        and item.shape == ()
        and item.dtypes is not None
        and item.dtypes <= {"int8", "int16", "int32", "int64"}
    )


def _position(item: Value) -> Dim | None:
    """An int index; None where it is an int that is not known."""
    if isinstance(item, TensorFacts):
        return item.values[0] if item.values else None
    where = dim_of(item)
    if where is None:
        raise GiveUpError
    return where


def subscript(tensor: TensorFacts, index: Value) -> Value | None:
    """`tensor[index]`."""
    items = index.items if isinstance(index, Items) and index.kind == "tuple" else (index,)
    for item in items:
        if isinstance(item, Unknown) or not isinstance(
            item, TensorFacts | Items | Literal | Integer | Span
        ):
            return _after_unknown_item(tensor, items, item)
        if isinstance(item, Items) and not _are_numbers(item):
            return _after_unknown_item(tensor, items, item)
    if any(map(_is_index_tensor, items)):
        return _advanced(tensor, items)
    if tensor.shape is None:
        return _basic_of_unknown_rank(tensor, items)
    return _basic(tensor, _spelled_out(tensor, items))


def _after_unknown_item(tensor: TensorFacts, items: Sequence[Value], item: Value) -> TensorFacts:
    """An index of unknown kind may drop its axis, keep it or replace it by several."""
    return build(None, dtypes=tensor.dtypes, device=tensor.device)


def _consumed(items: Sequence[Value]) -> int:
    """How many axes the items stand for."""
    count = 0
    for item in items:
        if _is_new_axis(item) or _is_ellipsis(item):
            continue
        if isinstance(item, TensorFacts) and item.dtypes == frozenset(("bool",)):
            if item.shape is None:
                raise GiveUpError
            count += len(item.shape)
        elif isinstance(item, Literal) and isinstance(item.value, bool):
            raise GiveUpError
        else:
            count += 1
    return count


def _spelled_out(tensor: TensorFacts, items: Sequence[Value]) -> list[Value]:
    """The items with the ellipsis replaced by full slices."""
    assert tensor.shape is not None
    everything = Span(NONE, NONE, NONE)
    missing = len(tensor.shape) - _consumed(items)
    if missing < 0 or sum(map(_is_ellipsis, items)) > 1:
        raise GiveUpError
    out: list[Value] = []
    for item in items:
        out.extend([everything] * missing if _is_ellipsis(item) else [item])
    if not any(map(_is_ellipsis, items)):
        out.extend([everything] * missing)
    return out


def _basic(tensor: TensorFacts, items: Sequence[Value]) -> TensorFacts:
    axis = 0
    for item in items:
        if _is_new_axis(item):
            tensor = _new_axis(tensor, axis)
            axis += 1
        elif isinstance(item, Span):
            tensor = sliced(tensor, axis, item)
            axis += 1
        else:
            tensor = selected(tensor, axis, _position(item))
    return tensor


def _new_axis(tensor: TensorFacts, axis: int) -> TensorFacts:
    from kdacheck.source.torch_views import unsqueeze

    return tensor_of(unsqueeze(tensor, Literal(axis)))


def _basic_of_unknown_rank(tensor: TensorFacts, items: Sequence[Value]) -> TensorFacts:
    """Items before an ellipsis stand for known axes, whatever the rank."""
    position = next((i for i, item in enumerate(items) if _is_ellipsis(item)), None)
    if position is None:
        return _basic(tensor, items)
    front, back = items[:position], items[position + 1 :]
    if not back:
        return _basic(tensor, front)
    tail = _consumed(back)
    changes = [item for item in back if item != Span(NONE, NONE, NONE)]
    result = _basic(tensor, front)
    if not changes:
        return result
    if all(map(_is_new_axis, changes)) and len(changes) == len(back):
        return renewed(result, None, partial=dict(result.partial), dense=result.dense)
    limit = max(result.partial, default=-1) + 1 - tail
    return renewed(
        result,
        None,
        partial={a: s for a, s in result.partial.items() if a < limit},
        tags=frozenset(),
    )


def _clamped(position: Dim, size: Dim) -> Dim | None:
    """A slice bound as an offset from the front within [0, size]; None where that cannot be told."""
    if bounds(position)[1] is not None and bounds(add(position, 1))[1] is not None:
        high = bounds(position)[1]
        if high is not None and high < 0:
            position = add(position, size)
            if at_least(position, 0):
                return position
            return max(0, position) if isinstance(position, int) else None
    if not at_least(position, 0):
        return None
    if equal(position, size) or at_least(add(size, multiply(position, -1)), 0):
        return position
    if at_least(add(position, multiply(size, -1)), 0):
        return size
    return None


def sliced(tensor: TensorFacts, axis: int, span: Span) -> TensorFacts:
    """`start:stop:step` along an axis."""
    start, stop, step = (
        None if part == NONE else dim_of(part) for part in (span.start, span.stop, span.step)
    )
    unknown_start = span.start != NONE and start is None
    unknown_stop = span.stop != NONE and stop is None
    if span.step == NONE:
        step = 1
    if isinstance(step, int) and step < 1:
        raise GiveUpError
    whole = tensor.dim(axis)
    if tensor.shape is not None and axis >= len(tensor.shape):
        raise GiveUpError
    from_front = start is None and not unknown_start
    to_end = stop is None and not unknown_stop
    if (from_front or start == 0) and to_end and step == 1:
        return tensor
    first: Dim | None = None
    last: Dim | None = None
    if whole is not None:
        first = 0 if from_front else None if start is None else _clamped(start, whole)
        last = whole if to_end else None if stop is None else _clamped(stop, whole)
    elif from_front or start == 0:
        first = 0
    return _taken(tensor, axis, whole, first, last, (start, stop, step), to_end)


def _taken(
    tensor: TensorFacts,
    axis: int,
    whole: Dim | None,
    first: Dim | None,
    last: Dim | None,
    written: tuple[Dim | None, Dim | None, Dim | None],
    to_end: bool,
) -> TensorFacts:
    start, stop, step = written
    size = _taken_size(whole, first, last, stop, step)
    values = None
    if (
        tensor.values is not None
        and isinstance(first, int)
        and isinstance(last, int)
        and isinstance(step, int)
        and len(tensor.shape or ()) == 1
    ):
        values = tensor.values[first:last:step]
    tags = tensor.tags
    if first != 0:
        tags -= {"padded-left"}
    if step != 1:
        tags = frozenset()
    if tensor.handle and axis == 0 and step == 1:
        # Of `x[1:] - x[:-1]`.
        if first == 0 and stop == -1:
            tags |= {f"head-of-{tensor.handle}"}
        elif start == 1 and stop is None and to_end:
            tags |= {f"tail-of-{tensor.handle}"}
    if tensor.shape is None:
        partial: dict[int, Dim] = dict(tensor.partial)
        partial[axis] = size
        dense = True if tensor.dense and axis == 0 and step == 1 else None
        return renewed(tensor, None, partial=partial, dense=dense, tags=tags)
    steps = list(steps_of(tensor))
    old = steps[axis]
    if step is None:
        steps[axis] = None
    elif old is not None:
        steps[axis] = multiply(old, step)
    shape = (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
    keeps = step == 1 and (
        all(part == 1 for part in tensor.shape[:axis]) or (whole is not None and equal(size, whole))
    )
    return renewed(
        tensor,
        shape,
        tuple(steps),
        dense=True if tensor.dense and keeps else None,
        values=values,
        tags=tags,
    )


def _taken_size(
    whole: Dim | None, first: Dim | None, last: Dim | None, stop: Dim | None, step: Dim | None
) -> Dim:
    if first is not None and last is not None:
        length = add(last, multiply(first, -1))
        if isinstance(length, int):
            if length <= 0:
                return 0
            if isinstance(step, int):
                return -(-length // step)
        elif at_least(length, 0):
            if step == 1:
                return length
            exact = None if step is None else divide(length, step)
            if exact is not None:
                return exact
        high = bounds(length)[1]
        if high is not None and high <= 0:
            return 0
        return symbol("?", high=None if high is None else max(0, high))
    limits = []
    if whole is not None:
        limits.append(bounds(whole)[1])
    if first == 0 and stop is not None and at_least(stop, 0):
        limits.append(bounds(stop)[1])
    known = [limit for limit in limits if limit is not None]
    return symbol("?", high=min(known) if known else None)


def _advanced(tensor: TensorFacts, items: Sequence[Value]) -> Value:
    """Index tensors and lists: a copy."""
    if tensor.shape is None:
        return _gathered_of_unknown_rank(tensor, items)
    spelled = _spelled_out(tensor, items)
    # First what makes a view, then the index tensors on what is left.
    view = tensor
    axis = 0
    indexed: list[tuple[int, TensorFacts]] = []
    pending: list[tuple[int, Value]] = []
    for item in spelled:
        if _is_new_axis(item):
            view = _new_axis(view, axis)
            axis += 1
        elif isinstance(item, Span):
            view = sliced(view, axis, item)
            axis += 1
        elif _is_index_tensor(item):
            pending.append((axis, item))
            axis += _consumed((item,))
        else:
            # Integers are taken first, unlike in NumPy.
            view = selected(view, axis, _position(item))
    assert view.shape is not None
    for at, item in pending:
        indexed.extend(_as_indices(at, item))
    positions = [at for at, _ in indexed]
    shapes = [index.shape for _, index in indexed]
    if any(shape is None for shape in shapes):
        rank_free = build(None, dtypes=tensor.dtypes, device=tensor.device)
        if len(positions) == 1:
            kept = dict(enumerate(view.shape[: positions[0]]))
            return rank_free.with_(partial=kept)
        return rank_free
    common = layout.broadcast([shape for shape in shapes if shape is not None])
    rest = [size for at, size in enumerate(view.shape) if at not in positions]
    adjacent = positions == list(range(positions[0], positions[0] + len(positions)))
    front = positions[0] if adjacent else 0
    shape = (*rest[:front], *common, *rest[front:])
    plain = view.dense and (positions[0] == 0 or layout.is_canonical(view.shape, view.strides))
    if plain and len(indexed) == 1 and _index_is_dense(indexed[0][1]):
        values = _picked(view, indexed[0][1])
        result = fresh(shape, tensor.dtypes, tensor.device, values)
        if len(shape) == 1:
            return result
        return renewed(result, shape, layout.known_strides(shape, None, True), dense=True)
    return build(shape, dtypes=tensor.dtypes, device=tensor.device)


def _index_is_dense(index: TensorFacts) -> bool:
    return bool(index.dense) or (index.shape is not None and len(index.shape) <= 1)


def _picked(view: TensorFacts, index: TensorFacts) -> list[int] | None:
    values = view.values
    if values is None or index.values is None or index.shape is None or len(index.shape) != 1:
        return None
    if not all(-len(values) <= at < len(values) for at in index.values):
        raise GiveUpError
    return [values[at] for at in index.values]


def _as_indices(axis: int, item: Value) -> list[tuple[int, TensorFacts]]:
    """The index tensors one item stands for; a mask stands for one per axis."""
    if isinstance(item, Items):
        leaves = item.items
        if any(isinstance(leaf, Items) for leaf in leaves):
            raise GiveUpError
        if any(isinstance(leaf, Literal) and isinstance(leaf.value, bool) for leaf in leaves):
            picked = symbol("?", high=len(leaves))
            return [(axis, build((picked,), (1,)))]
        if any(isinstance(leaf, TensorFacts) for leaf in leaves):
            raise GiveUpError
        numbers = [dim_of(leaf) for leaf in leaves]
        values = [number for number in numbers if isinstance(number, int)]
        return [
            (
                axis,
                build((len(leaves),), (1,), values=values if len(values) == len(leaves) else None),
            )
        ]
    if not isinstance(item, TensorFacts):
        raise GiveUpError
    if item.dtypes is None or (item.dtypes & {"bool", "uint8"} and len(item.dtypes) > 1):
        if item.dtypes is None:
            # It may be a mask.
            return [(axis, TensorFacts())]
        raise GiveUpError
    if item.dtypes & {"bool", "uint8"}:
        if item.shape is None:
            raise GiveUpError
        count = symbol("?", high=bounds(item.numel)[1] if item.numel is not None else None)
        return [(axis + i, build((count,), (1,))) for i in range(len(item.shape))]
    return [(axis, item)]


def _gathered_of_unknown_rank(tensor: TensorFacts, items: Sequence[Value]) -> TensorFacts:
    first = items[0]
    partial: dict[int, Dim] = {}
    if (
        len(items) == 1
        and isinstance(first, TensorFacts)
        and first.dtypes is not None
        and not first.dtypes & {"bool", "uint8"}
        and first.shape is not None
    ):
        partial = dict(enumerate(first.shape))
        shift = len(first.shape) - 1
        partial |= {a + shift: s for a, s in tensor.partial.items() if a > 0}
    elif len(items) == 1 and isinstance(first, Items):
        partial = {a: s for a, s in tensor.partial.items() if a > 0}
        if not any(
            isinstance(leaf, Items) or (isinstance(leaf, Literal) and isinstance(leaf.value, bool))
            for leaf in first.items
        ):
            partial[0] = len(first.items)
    return build(None, dtypes=tensor.dtypes, device=tensor.device, partial=partial)
