"""Copies of another shape: concatenation, padding, repetition and reordering of entries."""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.facts import Dim, Literal, TensorFacts, contiguous_strides, differs
from kdacheck.facts.dims import add, at_least, multiply, symbol
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import (
    ZERO,
    Shape,
    axis_of,
    build,
    dim_of,
    sequence_of,
    sizes_of,
    tensor_of,
)
from kdacheck.source.torch_constructors import fresh, number_of
from kdacheck.source.torch_dtypes import Dtypes
from kdacheck.source.torch_elementwise import device_of_all, promoted
from kdacheck.source.torch_registry import GiveUpError, function, operation
from kdacheck.source.torch_views import reshaped, sum_of, unsqueeze
from kdacheck.source.values import NONE, Items, Repeated, Unknown, Value

#: Tags that stay true of offsets with entries added to them.
OFFSETS = frozenset(("cumsum", "padded-left"))


def _parts(tensors: Value) -> list[TensorFacts]:
    items = sequence_of(tensors)
    if not items:
        raise GiveUpError
    return [tensor_of(item) for item in items]


def _joined_dtypes(parts: Sequence[TensorFacts]) -> Dtypes:
    if any(part.dtypes is None for part in parts):
        return None
    return promoted(parts)


@function("torch.cat", "torch.concat", "torch.concatenate")
def cat(tensors: Value, dim: Value = ZERO, out: Value = NONE) -> Value:
    if isinstance(tensors, Repeated | Unknown):
        element = tensors.element if isinstance(tensors, Repeated) else None
        if isinstance(element, TensorFacts):
            return build(None, dtypes=element.dtypes, device=element.device)
        return build(None)
    return joined(_parts(tensors), dim)


def joined(parts: Sequence[TensorFacts], dim: Value) -> TensorFacts:
    dtypes, device = _joined_dtypes(parts), device_of_all(parts)
    known = [part for part in parts if part.shape is not None and part.shape != (0,)]
    if not known:
        if all(part.shape == (0,) for part in parts):
            return fresh((0,), dtypes, device)
        return build(None, dtypes=dtypes, device=device)
    model = known[0].shape
    assert model is not None
    rank = len(model)
    # A tensor of shape [0] may be joined to anything; which the unknown ones may be.
    axis_dim = dim_of(dim)
    if not isinstance(axis_dim, int):
        return build((*(symbol("?") for _ in model),), dtypes=dtypes, device=device)
    axis = axis_of(dim, rank)
    if rank == 0 or any(part.shape is not None and len(part.shape) != rank for part in known):
        raise GiveUpError
    sizes: list[Dim] = []
    for at in range(rank):
        if at != axis:
            sizes.append(_same_size([part.shape[at] for part in known if part.shape is not None]))
        elif all(part.shape is not None for part in parts):
            sizes.append(sum_of([part.shape[at] for part in known if part.shape is not None]))
        else:
            sizes.append(symbol("?"))
    contents = None
    if rank == 1 and all(part.values is not None for part in parts):
        contents = [value for part in parts for value in part.values or ()]
    tags: frozenset[str] = frozenset()
    first = parts[0]
    if rank == 1 and axis == 0 and first.values and not any(first.values) and len(parts) > 1:
        tags = frozenset(("padded-left",))
        if len(parts) == 2:
            tags |= parts[1].tags & OFFSETS
    shape = tuple(sizes)
    return _laid_out(fresh(shape, dtypes, device, contents).with_(tags=tags), parts)


def _laid_out(result: TensorFacts, parts: Sequence[TensorFacts]) -> TensorFacts:
    """A new tensor made of parts, which keeps the layout of images in channels-last."""
    assert result.shape is not None
    ranks = {len(result.shape), *(part.rank for part in parts)}
    if not ranks & {4, 5} or all(
        part.shape is not None and layout.is_canonical(part.shape, part.strides) for part in parts
    ):
        return result
    return result.with_(strides=None, dense=True if 0 in result.shape else None)


def _same_size(sizes: Sequence[Dim]) -> Dim:
    known = next((size for size in sizes if isinstance(size, int)), sizes[0])
    if any(differs(size, known) for size in sizes):
        raise GiveUpError
    return known


@function("torch.stack")
def stack(tensors: Value, dim: Value = ZERO, out: Value = NONE) -> Value:
    if isinstance(tensors, Repeated | Unknown):
        return build(None)
    parts = _parts(tensors)
    known = [part.shape for part in parts if part.shape is not None]
    dtypes, device = _joined_dtypes(parts), device_of_all(parts)
    if not known:
        partial: dict[int, Dim] = {0: len(parts)} if dim == Literal(0) else {}
        return build(None, dtypes=dtypes, device=device, dense=True, partial=partial)
    rank = len(known[0])
    if any(len(shape) != rank for shape in known):
        raise GiveUpError
    shape = [_same_size([part[axis] for part in known]) for axis in range(rank)]
    axis = axis_of(dim, rank + 1)
    shape.insert(axis, len(parts))
    # rows that are one list say no more than each of them does
    alike = all(part == parts[0] for part in parts)
    tags = frozenset(("rows-alike",)) if alike and axis == 0 else frozenset[str]()
    return _laid_out(fresh(tuple(shape), dtypes, device).with_(tags=tags), parts)


@function("torch.column_stack")
def column_stack(tensors: Value) -> Value:
    parts = _parts(tensors)
    if any(part.shape is None for part in parts):
        return build(None, dtypes=_joined_dtypes(parts), device=device_of_all(parts))
    flat = {len(part.shape) < 2 for part in parts if part.shape is not None}
    return joined([reshaped(p, (-1, 1)) for p in parts] if True in flat else parts, Literal(1))


@function("torch.hstack")
def hstack(tensors: Value) -> Value:
    parts = _parts(tensors)
    if any(part.shape is None for part in parts):
        return build(None, dtypes=_joined_dtypes(parts), device=device_of_all(parts))
    parts = [reshaped(part, (1,)) if part.shape == () else part for part in parts]
    one = all(part.shape is not None and len(part.shape) == 1 for part in parts)
    return joined(parts, Literal(0 if one else 1))


@function("torch.vstack", "torch.row_stack")
def vstack(tensors: Value) -> Value:
    parts = _parts(tensors)
    if any(part.shape is None for part in parts):
        return build(None, dtypes=_joined_dtypes(parts), device=device_of_all(parts))
    rows = []
    for part in parts:
        row = reshaped(part, (1,)) if part.shape == () else part
        rows.append(tensor_of(unsqueeze(row, ZERO)) if row.rank == 1 else row)
    return joined(rows, Literal(0))


@function("torch.nn.functional.pad", "torch.constant_pad_nd", of_tensor=True)
def pad(input: TensorFacts, pad: Value, mode: Value = NONE, value: Value = NONE) -> Value:
    amounts = sequence_of(pad)
    plain = mode in (NONE, Literal("constant"))
    if amounts is None or len(amounts) % 2:
        if input.shape is None:
            return build(None, dtypes=input.dtypes, device=input.device)
        return build(
            tuple(symbol("?") for _ in input.shape), dtypes=input.dtypes, device=input.device
        )
    number = 0 if value == NONE else number_of(value)
    left = dim_of(amounts[0]) if amounts else None
    tags: frozenset[str] = frozenset()
    ends = [dim_of(amount) for amount in amounts]
    if plain and number == 0 and len(ends) == 2 and isinstance(left, int) and left >= 1:
        tags = frozenset(("padded-left",)) | (input.tags & OFFSETS)
    elif plain and len(ends) == 2 and left == 0:
        tags = input.tags & OFFSETS
    if input.shape is None:
        if ends == [1, 0] and plain:
            # Offsets are one-dimensional more often than not, but that is not known here.
            return build(None, dtypes=input.dtypes, device=input.device, tags=tags)
        return build(None, dtypes=input.dtypes, device=input.device, tags=tags)
    rank = len(input.shape)
    if len(ends) // 2 > rank:
        raise GiveUpError
    shape = list(input.shape)
    for index in range(len(ends) // 2):
        axis = rank - 1 - index
        before, after = ends[2 * index], ends[2 * index + 1]
        if before is None or after is None:
            shape[axis] = symbol("?")
        else:
            shape[axis] = add(add(shape[axis], before), after)
    contents = None
    if (
        plain
        and input.values is not None
        and rank == 1
        and number is not None
        and len(ends) == 2
        and isinstance(left, int)
        and isinstance(ends[1], int)
        and left >= 0
        and ends[1] >= 0
    ):
        contents = (number,) * left + input.values + (number,) * ends[1]
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise GiveUpError
    result = fresh(tuple(shape), input.dtypes, input.device, contents).with_(tags=tags)
    if plain and any(end is not None and at_least(end, 1) for end in ends):
        return _laid_out(result, (input,))
    # Where nothing is added, the layout of the input is kept.
    dense = True if plain and input.dense and rank < 4 else None
    strides = layout.known_strides(tuple(shape), None, dense)
    return build(
        tuple(shape),
        strides,
        dense=dense,
        dtypes=input.dtypes,
        device=input.device,
        values=result.values,
        tags=tags,
    )


@operation("tile")
def tile(input: TensorFacts, *dims: Value) -> Value:
    counts = sizes_of(dims)
    if counts is None or input.shape is None:
        return build(None, dtypes=input.dtypes, device=input.device)
    if len(counts) < len(input.shape):
        counts = (*(1 for _ in range(len(input.shape) - len(counts))), *counts)
    return repeated(input, counts)


def repeated(tensor: TensorFacts, counts: Shape) -> TensorFacts:
    """`tensor.repeat(counts)`."""
    if tensor.shape is None:
        return fresh(None, tensor.dtypes, tensor.device)
    lead = len(counts) - len(tensor.shape)
    if lead < 0:
        raise GiveUpError
    shape = tuple(map(multiply, (*(1,) * lead, *tensor.shape), counts))
    values = None
    if tensor.values is not None and len(shape) == 1 and isinstance(counts[0], int):
        size = shape[0]
        values = tensor.values * counts[0] if isinstance(size, int) and size <= 4096 else None
    return fresh(shape, tensor.dtypes, tensor.device, values)


@operation("repeat")
def repeat(input: TensorFacts, *repeats: Value) -> Value:
    counts = sizes_of(repeats)
    if counts is None:
        return fresh(None, input.dtypes, input.device)
    return repeated(input, counts)


@operation("repeat_interleave")
def repeat_interleave(
    input: TensorFacts, repeats: Value = NONE, dim: Value = NONE, output_size: Value = NONE
) -> Value:
    if repeats == NONE:
        return fresh((symbol("?"),), input.dtypes, input.device)
    count = dim_of(repeats)
    per_entry = repeats.values if isinstance(repeats, TensorFacts) else None
    shape = input.shape
    if dim == NONE:
        numel = input.numel
        size: Dim = symbol("?")
        if numel is not None and count is not None:
            size = multiply(numel, count)
        values = None
        if input.values is not None and shape is not None and len(shape) == 1:
            if isinstance(count, int) and len(input.values) * count <= 4096:
                values = [value for value in input.values for _ in range(count)]
            elif per_entry is not None:
                if len(per_entry) == 1:
                    per_entry = per_entry * len(input.values)
                if sum(per_entry) <= 4096 and len(per_entry) == len(input.values):
                    pairs = zip(input.values, per_entry, strict=True)
                    values = [value for value, times in pairs for _ in range(times)]
        if values is not None:
            size = len(values)
        elif per_entry is not None and numel == len(per_entry):
            size = sum(per_entry)
        return fresh((size,), input.dtypes, input.device, values)
    if shape is None:
        return fresh(None, input.dtypes, input.device)
    if not shape:
        raise GiveUpError
    axis = axis_of(dim, len(shape))
    size = symbol("?") if count is None else multiply(shape[axis], count)
    if per_entry is not None and shape[axis] == len(per_entry):
        size = sum(per_entry)
    values = None
    if input.values is not None and len(shape) == 1 and isinstance(count, int):
        values = [value for value in input.values for _ in range(count)]
    return fresh((*shape[:axis], size, *shape[axis + 1 :]), input.dtypes, input.device, values)


@operation("flip")
def flip(input: TensorFacts, *dims: Value) -> Value:
    if input.shape is None:
        return build(None, dense=input.dense or None, dtypes=input.dtypes, device=input.device)
    strides, dense = layout.preserved(input.shape, input.strides, input.dense)
    values = None
    if input.values is not None and len(input.shape) == 1 and dims not in ((), (Items(()),)):
        values = input.values[::-1]
    return build(
        input.shape,
        strides,
        dense=dense,
        dtypes=input.dtypes,
        device=input.device,
        values=values,
    )


@operation("fliplr", "flipud")
def fliplr(input: TensorFacts) -> Value:
    return flip(input.with_(values=None))


@operation("roll")
def roll(input: TensorFacts, shifts: Value, dims: Value = NONE) -> Value:
    if input.shape is None or not input.dense:
        return build(
            input.shape, dtypes=input.dtypes, device=input.device, partial=dict(input.partial)
        )
    strides = layout.known_strides(input.shape, None, True)
    return build(input.shape, strides, dense=True, dtypes=input.dtypes, device=input.device)


@operation("index_select")
def index_select(input: TensorFacts, dim: Value, index: Value) -> Value:
    chosen = tensor_of(index)
    if input.shape is None:
        return fresh(None, input.dtypes, input.device)
    if not input.shape:
        return fresh((), input.dtypes, input.device)
    axis = axis_of(dim, len(input.shape))
    size = chosen.numel
    shape = (
        *input.shape[:axis],
        symbol("?") if size is None else size,
        *input.shape[axis + 1 :],
    )
    values = None
    if input.values is not None and chosen.values is not None and len(shape) == 1:
        if not all(0 <= at < len(input.values) for at in chosen.values):
            raise GiveUpError
        values = [input.values[at] for at in chosen.values]
    return fresh(shape, input.dtypes, input.device, values)


@operation("gather")
def gather(input: TensorFacts, dim: Value, index: Value, sparse_grad: Value = NONE) -> Value:
    chosen = tensor_of(index)
    if chosen.shape is None:
        return build(None, dtypes=input.dtypes, device=input.device, partial=dict(chosen.partial))
    return build(
        chosen.shape,
        contiguous_strides(chosen.shape),
        dense=True,
        dtypes=input.dtypes,
        device=input.device,
    )


@operation("take_along_dim")
def take_along_dim(input: TensorFacts, indices: Value, dim: Value = NONE) -> Value:
    chosen = tensor_of(indices)
    if input.shape is None or chosen.shape is None or dim == NONE:
        return build(None, dtypes=input.dtypes, device=input.device)
    rank = len(chosen.shape)
    if len(input.shape) != rank or rank == 0:
        raise GiveUpError
    axis = axis_of(dim, rank)
    shape = tuple(
        chosen.shape[at] if at == axis else layout.broadcast_size(input.shape[at], chosen.shape[at])
        for at in range(rank)
    )
    return build(shape, dtypes=input.dtypes, device=input.device)


@operation("masked_select")
def masked_select(input: TensorFacts, mask: Value) -> Value:
    return build((symbol("?"),), dtypes=input.dtypes, device=input.device)


@operation("take")
def take(input: TensorFacts, index: Value) -> Value:
    return build(tensor_of(index).shape, dtypes=input.dtypes, device=input.device)


@operation("masked_scatter", "scatter", "scatter_add", "index_add", "index_copy", "index_fill")
def scattered(input: TensorFacts, *arguments: Value) -> Value:
    return build(
        input.shape if len(arguments) != 2 else None,
        dtypes=input.dtypes,
        device=input.device,
        partial=dict(input.partial),
    )
