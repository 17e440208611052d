"""Views: operations that share the storage of their input."""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.contracts.tags import ONE_ROW
from kdacheck.facts import Dim, Literal, TensorFacts, contiguous_strides, differs, equal, exactly
from kdacheck.facts.dims import add, at_least, bounds, divide, multiply, product, symbol
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import (
    LAST,
    ONE,
    ZERO,
    Shape,
    axes_of,
    axis_of,
    dim_of,
    hidden_holes,
    int_of,
    renewed,
    sequence_of,
    size_of,
    sizes_of,
    spread,
    tensor_of,
)
from kdacheck.source.torch_dtypes import INTEGERS
from kdacheck.source.torch_registry import GiveUpError, function, method, operation
from kdacheck.source.values import NONE, DType, Items, Value


def steps_of(tensor: TensorFacts) -> tuple[Dim | None, ...]:
    """The strides of a tensor of known rank, those that density implies included."""
    assert tensor.shape is not None
    return layout.known_strides(tensor.shape, tensor.strides, tensor.dense)


def complete(shape: Shape, numel: Dim | None) -> Shape:
    """A shape argument with its -1 replaced."""
    holes = [axis for axis, size in enumerate(shape) if size == -1]
    if not holes:
        if numel is not None and differs(product(shape), numel):
            raise GiveUpError
        return shape
    if len(holes) > 1:
        raise GiveUpError
    rest = product(size for size in shape if size != -1)
    missing = None if numel is None else divide(numel, rest)
    if missing is None:
        if rest == 0 or (isinstance(numel, int) and isinstance(rest, int)):
            raise GiveUpError
        missing = symbol("?")
    return tuple(missing if size == -1 else size for size in shape)


def _reshaped(tensor: TensorFacts, shape: Shape | None, *, copies: bool) -> TensorFacts:
    if shape is None:
        return renewed(tensor, None, dense=tensor.dense if tensor.dense or not copies else None)
    shape = complete(hidden_holes(shape), tensor.numel)
    values = tensor.values if len(shape) == 1 else None
    if tensor.shape is None:
        strides, dense = layout.known_strides(shape, None, tensor.dense), tensor.dense
        if copies and not dense:
            strides = dense = None
        return renewed(tensor, shape, strides, dense=dense)
    strides, dense = layout.view(tensor.shape, tensor.strides, tensor.dense, shape, copies=copies)
    return renewed(tensor, shape, strides, dense=dense, values=values)


def reshaped(tensor: TensorFacts, shape: Shape) -> TensorFacts:
    """`tensor.reshape(shape)`."""
    return _reshaped(tensor, shape, copies=True)


@method("view")
def view(input: TensorFacts, *size: Value) -> Value:
    if len(size) == 1 and isinstance(size[0], DType):
        return _bit_cast(input, size[0].name)
    sizes = sizes_of(size)
    result = _reshaped(input, sizes, copies=False)
    # What is given may be a dtype.
    return result if sizes is not None else result.with_(dtypes=None)


def _bit_cast(tensor: TensorFacts, name: str | None) -> TensorFacts:
    if name is not None and tensor.dtypes == frozenset((name,)):
        return tensor
    return TensorFacts(dtypes=None if name is None else frozenset((name,)), device=tensor.device)


@operation("reshape")
def reshape(input: TensorFacts, *shape: Value) -> Value:
    return _reshaped(input, sizes_of(shape), copies=True)


@function("torch.reshape", of_tensor=True)
def reshape_function(input: TensorFacts, shape: Value) -> Value:
    return _reshaped(input, sizes_of((shape,)), copies=True)


@method("view_as", "reshape_as")
def view_as(input: TensorFacts, other: Value) -> Value:
    return _reshaped(input, tensor_of(other).shape, copies=True)


@operation("ravel")
def ravel(input: TensorFacts) -> Value:
    if input.shape is None:
        return TensorFacts(
            shape=(symbol("?"),), dense=True, dtypes=input.dtypes, device=input.device
        )
    return _reshaped(contiguous(input), (-1,), copies=False)


def contiguous(tensor: TensorFacts) -> TensorFacts:
    """`tensor.contiguous()`: the same tensor where it is dense, else a copy."""
    if tensor.dense:
        return tensor
    if tensor.shape is None:
        return tensor.with_(dense=True)
    strides = layout.known_strides(tensor.shape, None, True)
    if tensor.dense is False:
        strides = contiguous_strides(tensor.shape)
    return renewed(tensor, tensor.shape, strides, dense=True, values=tensor.values)


@operation("flatten")
def flatten(input: TensorFacts, start_dim: Value = ZERO, end_dim: Value = LAST) -> Value:
    if input.shape is None:
        return _flatten_unknown(input, dim_of(start_dim), dim_of(end_dim))
    start, end = axis_of(start_dim, len(input.shape)), axis_of(end_dim, len(input.shape))
    if not input.shape:
        return reshaped(input, (1,))
    if start > end:
        raise GiveUpError
    if start == end:
        return input
    merged = product(input.shape[start : end + 1])
    return reshaped(input, (*input.shape[:start], merged, *input.shape[end + 1 :]))


def _flatten_unknown(tensor: TensorFacts, start: Dim | None, end: Dim | None) -> TensorFacts:
    dense = True if tensor.dense else None
    if start == 0 and end == -1:
        size = symbol("?")
        return renewed(tensor, (size,), (1,) if dense else None, dense=dense)
    partial: dict[int, Dim] = {}
    if isinstance(start, int) and start >= 0:
        partial = {axis: size for axis, size in tensor.partial.items() if axis < start}
        if isinstance(end, int) and end >= start:
            sizes = [tensor.partial.get(axis) for axis in range(start, end + 1)]
            known = [size for size in sizes if size is not None]
            if len(known) == len(sizes):
                partial[start] = product(known)
            partial |= {
                axis - (end - start): size for axis, size in tensor.partial.items() if axis > end
            }
    return renewed(tensor, None, partial=partial, dense=dense)


@operation("unflatten")
def unflatten(input: TensorFacts, dim: Value, sizes: Value) -> Value:
    items = sequence_of(sizes)
    if items is None:
        return renewed(input, None, dense=input.dense)
    parts = hidden_holes(tuple(size_of(item) for item in items))
    if input.shape is None:
        axis = dim_of(dim)
        partial: dict[int, Dim] = {}
        if isinstance(axis, int):
            for at, size in input.partial.items():
                if axis < 0 or at < axis:
                    partial[at] = size
                elif at > axis:
                    partial[at + len(parts) - 1] = size
            if axis < 0:
                limit = max(input.partial, default=-1) + 1 + axis
                partial = {at: size for at, size in input.partial.items() if at < limit}
            else:
                whole = input.partial.get(axis)
                parts = complete(parts, whole) if whole is not None or -1 not in parts else parts
                partial |= {axis + i: size for i, size in enumerate(parts) if size != -1}
        return renewed(input, None, partial=partial, dense=input.dense)
    axis = axis_of(dim, len(input.shape))
    parts = complete(parts, input.shape[axis])
    shape = (*input.shape[:axis], *parts, *input.shape[axis + 1 :])
    return _reshaped(input, shape, copies=False)


def _moved(tensor: TensorFacts, order: Sequence[int]) -> TensorFacts:
    """The axes in another order."""
    assert tensor.shape is not None
    if list(order) == list(range(len(order))):
        return tensor
    steps = steps_of(tensor)
    return renewed(
        tensor,
        tuple(tensor.shape[axis] for axis in order),
        tuple(steps[axis] for axis in order),
    )


def permuted(tensor: TensorFacts, order: Sequence[int]) -> TensorFacts:
    """`tensor.permute(order)`."""
    if tensor.shape is None:
        raise GiveUpError
    return _moved(tensor, order)


@operation("transpose", "swapaxes", "swapdims")
def transpose(input: TensorFacts, dim0: Value, dim1: Value) -> Value:
    if input.shape is None:
        first, second = dim_of(dim0), dim_of(dim1)
        if not isinstance(first, int) or not isinstance(second, int):
            return renewed(input, None)
        if first < 0 or second < 0:
            # Which axis is meant depends on the rank; those before both are not.
            reach = -min(first, second)
            known = max(input.partial, default=-1) + 1
            fixed = min((d for d in (first, second) if d >= 0), default=known)
            limit = min(known - reach, fixed)
            return renewed(
                input, None, partial={a: s for a, s in input.partial.items() if a < limit}
            )
        swap = {first: second, second: first}
        return renewed(
            input,
            None,
            partial={swap.get(axis, axis): size for axis, size in input.partial.items()},
            dense=input.dense if first == second else None,
        )
    rank = len(input.shape)
    first, second = axis_of(dim0, rank), axis_of(dim1, rank)
    order = list(range(rank))
    if rank:
        order[first], order[second] = order[second], order[first]
    return _moved(input, order)


@function("torch.transpose", "torch.swapaxes", "torch.swapdims", of_tensor=True)
def transpose_function(
    input: TensorFacts,
    dim0: Value = NONE,
    dim1: Value = NONE,
    axis0: Value = NONE,
    axis1: Value = NONE,
) -> Value:
    return transpose(input, dim0 if dim0 != NONE else axis0, dim1 if dim1 != NONE else axis1)


@operation("t")
def t(input: TensorFacts) -> Value:
    if input.shape is None:
        return renewed(input, None)
    if len(input.shape) > 2:
        raise GiveUpError
    return _moved(input, tuple(reversed(range(len(input.shape)))))


@operation("adjoint")
def matrix_transpose(input: TensorFacts) -> Value:
    """`mT`."""
    if input.shape is None:
        return transpose(input, Literal(-1), Literal(-2))
    rank = len(input.shape)
    if rank < 2:
        raise GiveUpError
    return _moved(input, (*range(rank - 2), rank - 1, rank - 2))


@operation("permute")
def permute(input: TensorFacts, *dims: Value) -> Value:
    items = spread(dims)
    if items is None:
        return renewed(input, None)
    axes = tuple(int_of(item) for item in items)
    if input.shape is None:
        # The pattern fixes the rank.
        shape = tuple(input.partial.get(axis % len(axes), symbol("?")) for axis in axes)
        dense = input.dense if [a % len(axes) for a in axes] == list(range(len(axes))) else None
        return renewed(input, shape, dense=dense)
    if len(axes) != len(input.shape):
        raise GiveUpError
    return _moved(input, axes_of(Items(items), len(axes)) if axes else ())


@function("torch.permute", of_tensor=True)
def permute_function(input: TensorFacts, dims: Value) -> Value:
    return permute(input, dims)


@operation("movedim", "moveaxis")
def movedim(input: TensorFacts, source: Value, destination: Value) -> Value:
    if input.shape is None:
        return renewed(input, None)
    rank = len(input.shape)
    old, new = axes_of(source, rank), axes_of(destination, rank)
    if len(old) != len(new):
        raise GiveUpError
    rest = iter(axis for axis in range(rank) if axis not in old)
    return _moved(input, [old[new.index(at)] if at in new else next(rest) for at in range(rank)])


@operation("unsqueeze")
def unsqueeze(input: TensorFacts, dim: Value) -> Value:
    if input.shape is None:
        axis = dim_of(dim)
        if not isinstance(axis, int):
            return renewed(input, None, dense=input.dense)
        if axis < 0:
            known = max(input.partial, default=-1) + 1
            partial = {a: s for a, s in input.partial.items() if a <= known + axis}
        else:
            partial = {a + (a >= axis): s for a, s in input.partial.items()}
            partial[axis] = 1
        return renewed(input, None, partial=partial, dense=input.dense)
    rank = len(input.shape)
    return _with_axis(input, axis_of(dim, rank + 1))


def _with_axis(tensor: TensorFacts, axis: int) -> TensorFacts:
    assert tensor.shape is not None
    steps = steps_of(tensor)
    following = steps[axis] if axis < len(steps) else None
    step = (
        1
        if axis == len(steps)
        else None
        if following is None
        else multiply(tensor.shape[axis], following)
    )
    return renewed(
        tensor,
        (*tensor.shape[:axis], 1, *tensor.shape[axis:]),
        (*steps[:axis], step, *steps[axis:]),
        dense=tensor.dense,
    )


@operation("squeeze")
def squeeze(input: TensorFacts, dim: Value = NONE) -> Value:
    if input.shape is None:
        axis = dim_of(dim)
        partial: dict[int, Dim] = {}
        if isinstance(axis, int) and axis >= 0:
            size = input.partial.get(axis)
            if size == 1:
                partial = {a - (a > axis): s for a, s in input.partial.items() if a != axis}
            elif size is not None and differs(size, 1):
                return input
            else:
                partial = {a: s for a, s in input.partial.items() if a < axis}
        return renewed(input, None, partial=partial, dense=input.dense)
    rank = len(input.shape)
    axes = range(rank) if dim == NONE else sorted(axes_of(dim, rank))
    if rank == 0:
        return input
    gone = []
    for axis in axes:
        if input.shape[axis] == 1:
            gone.append(axis)
        elif not differs(input.shape[axis], 1):
            # Whether the axis goes depends on its size.
            stays = min((*gone, axis))
            return renewed(
                input, None, partial=dict(enumerate(input.shape[:stays])), dense=input.dense
            )
    kept = [axis for axis in range(rank) if axis not in gone]
    steps = steps_of(input)
    return renewed(
        input,
        tuple(input.shape[axis] for axis in kept),
        tuple(steps[axis] for axis in kept),
        dense=input.dense,
        values=input.values,
    )


def expanded(tensor: TensorFacts, shape: Shape) -> TensorFacts:
    """`tensor.expand(shape)`; -1 keeps a size."""
    if tensor.shape is None:
        # Axis 0 is new, or it is the tensor's own first axis: of size 1, that one is expanded as well.
        spread = bool(shape) and shape[0] != -1 and differs(shape[0], 1)
        first = 0 if spread and tensor.partial.get(0) == 1 else None
        shape = tuple(symbol("?") if size == -1 else size for size in shape)
        return renewed(tensor, shape, (first, *[None] * (len(shape) - 1)) if shape else None)
    lead = len(shape) - len(tensor.shape)
    if lead < 0:
        raise GiveUpError
    if not tensor.shape:
        if -1 in shape:
            raise GiveUpError
        return renewed(tensor, shape, (0,) * lead)
    sizes: list[Dim] = []
    steps: list[Dim | None] = []
    own = steps_of(tensor)
    for axis in range(len(shape) - 1, -1, -1):
        old: Dim = tensor.shape[axis - lead] if axis >= lead else 1
        # A new axis has the stride of an axis of size 1 placed there.
        step: Dim | None
        if axis >= lead:
            step = own[axis - lead]
        elif not sizes:
            step = 1
        else:
            below = steps[-1]
            step = None if below is None else multiply(sizes[-1], below)
        new = shape[axis]
        if new == -1:
            if axis < lead:
                raise GiveUpError
            new = old
        if equal(old, new):
            sizes.append(new)
            steps.append(step)
        elif old == 1:
            sizes.append(new)
            steps.append(0 if differs(new, 1) else None)
        elif differs(old, 1):
            if differs(old, new):
                raise GiveUpError
            sizes.append(old)
            steps.append(step)
        else:
            sizes.append(new)
            steps.append(step if step == 0 else None)
    return renewed(tensor, tuple(reversed(sizes)), tuple(reversed(steps)))


@method("expand")
def expand(input: TensorFacts, *size: Value) -> Value:
    shape = sizes_of(size)
    if shape is None:
        return renewed(input, None)
    # Here any number of sizes may be -1.
    return expanded(input, tuple(n if n == -1 or at_least(n, 0) else symbol("?") for n in shape))


@method("expand_as")
def expand_as(input: TensorFacts, other: Value) -> Value:
    shape = tensor_of(other).shape
    return renewed(input, None) if shape is None else expanded(input, shape)


@operation("broadcast_to")
def broadcast_to(input: TensorFacts, size: Value = NONE, shape: Value = NONE) -> Value:
    return expand(input, size if size != NONE else shape)


@function("torch.broadcast_tensors")
def broadcast_tensors(*tensors: Value) -> Value:
    facts = [tensor_of(item) for item in tensors]
    shapes = [fact.shape for fact in facts if fact.shape is not None]
    if len(shapes) != len(facts):
        return Items(tuple(renewed(fact, None) for fact in facts))
    shape = layout.broadcast(shapes)
    return Items(tuple(expanded(fact, shape) for fact in facts))


def cut(tensor: TensorFacts, axis: int, size: Dim, values: slice | None = None) -> TensorFacts:
    """Consecutive entries along an axis: the strides stay."""
    if tensor.shape is None:
        partial = dict(tensor.partial)
        partial[axis] = size
        dense = True if axis == 0 and tensor.dense else None
        return renewed(tensor, None, partial=partial, dense=dense)
    shape = (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
    same = equal(size, tensor.shape[axis])
    contents = None
    if tensor.values is not None and values is not None:
        contents = tensor.values[values]
    elif same:
        contents = tensor.values
    steps = steps_of(tensor)
    return renewed(
        tensor,
        shape,
        steps,
        dense=True if tensor.dense and (same or axis == 0) else None,
        values=contents,
    )


def _cut_axis(tensor: TensorFacts, dim: Value) -> int:
    if tensor.shape is not None:
        if not tensor.shape:
            raise GiveUpError
        return axis_of(dim, len(tensor.shape))
    axis = int_of(dim)
    if axis < 0:
        raise GiveUpError
    return axis


def _shortened(tensor: TensorFacts, dim: Value) -> TensorFacts | None:
    """A cut along an axis that cannot be told, for a tensor of unknown rank."""
    axis = dim_of(dim)
    if tensor.shape is None and not (isinstance(axis, int) and axis >= 0):
        limit = 0
        if isinstance(axis, int):
            limit = max(tensor.partial, default=-1) + 1 + axis
        return renewed(tensor, None, partial={a: s for a, s in tensor.partial.items() if a < limit})
    return None


@operation("narrow")
def narrow(input: TensorFacts, dim: Value, start: Value, length: Value) -> Value:
    if (unsure := _shortened(input, dim)) is not None:
        return unsure
    axis, size = _cut_axis(input, dim), size_of(length)
    first = dim_of(start)
    whole = input.dim(axis)
    if (
        whole is not None
        and differs(size, whole)
        and not at_least(add(whole, multiply(size, -1)), 0)
    ):
        high = bounds(add(whole, multiply(size, -1)))[1]
        if high is not None and high < 0:
            raise GiveUpError
    chosen = None
    if isinstance(first, int) and isinstance(size, int):
        if first < 0 and isinstance(whole, int):
            first += whole
        if first >= 0:
            chosen = slice(first, first + size)
            if isinstance(whole, int) and first + size > whole:
                raise GiveUpError
    return cut(input, axis, size, chosen)


@operation("select")
def select(input: TensorFacts, dim: Value, index: Value) -> Value:
    axis = dim_of(dim)
    if input.shape is None and isinstance(axis, int) and axis < 0:
        limit = max(input.partial, default=-1) + 1 + axis
        return renewed(input, None, partial={a: s for a, s in input.partial.items() if a < limit})
    return selected(input, _cut_axis(input, dim), dim_of(index))


def selected(tensor: TensorFacts, axis: int, index: Dim | None) -> TensorFacts:
    """One entry along an axis, which goes."""
    tags = tensor.tags
    if tensor.shape is None:
        partial = {a - (a > axis): s for a, s in tensor.partial.items() if a != axis}
        return renewed(
            tensor,
            None,
            partial=partial,
            dense=True if axis == 0 and tensor.dense else None,
            tags=frozenset(),
        )
    size = tensor.shape[axis]
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise GiveUpError
    rest = [a for a in range(len(tensor.shape)) if a != axis]
    steps = steps_of(tensor)
    tags = frozenset()
    if len(rest) == 1 and axis == 0 and isinstance(index, int) and exactly(size) != 1:
        tags = frozenset(("row-of-2d",))
        alike = "rows-alike" in tensor.tags or steps[0] == 0
        several = isinstance(index, int) and at_least(size, 2) and not alike
        if several and tensor.dtypes and tensor.dtypes <= INTEGERS:
            tags |= {ONE_ROW}
    values = None
    if tensor.values is not None and isinstance(index, int):
        values = (tensor.values[index],)
    return renewed(
        tensor,
        tuple(tensor.shape[a] for a in rest),
        tuple(steps[a] for a in rest),
        dense=True if axis == 0 and tensor.dense else None,
        values=values,
        tags=tags,
    )


def _pieces(tensor: TensorFacts, axis: int, sizes: Sequence[Dim]) -> Value:
    parts = []
    start: Dim = 0
    for size in sizes:
        stop = add(start, size)
        known = isinstance(start, int) and isinstance(stop, int)
        parts.append(
            cut(tensor, axis, size, slice(exactly(start), exactly(stop)) if known else None)
        )
        start = stop
    return Items(tuple(parts))


@operation("split")
def split(input: TensorFacts, split_size: Value, dim: Value = ZERO) -> Value:
    items = sequence_of(split_size)
    unsure = _shortened(input, dim)
    if items is not None:
        if unsure is not None:
            return Items((unsure,) * len(items))
        axis = _cut_axis(input, dim)
        sizes = [size_of(item) for item in items]
        whole = input.dim(axis)
        if whole is not None and differs(whole, sum_of(sizes)):
            raise GiveUpError
        return _pieces(input, axis, sizes)
    axis = _cut_axis(input, dim)
    whole, each = input.dim(axis), dim_of(split_size)
    if each == 0 and whole == 0:
        return _pieces(input, axis, [0])
    if whole is None or each is None or each == 0:
        raise GiveUpError
    return _pieces(input, axis, _split_sizes(whole, each))


def _split_sizes(whole: Dim, each: Dim) -> list[Dim]:
    if isinstance(whole, int) and isinstance(each, int):
        full = max(1, -(-whole // each)) - 1
        return [*(each for _ in range(full)), whole - each * full]
    count = divide(whole, each)
    if not isinstance(count, int) or count < 1:
        raise GiveUpError
    return [each] * count


@function("torch.split", of_tensor=True)
def split_function(tensor: TensorFacts, split_size_or_sections: Value, dim: Value = ZERO) -> Value:
    return split(tensor, split_size_or_sections, dim)


@operation("split_with_sizes")
def split_with_sizes(input: TensorFacts, split_sizes: Value, dim: Value = ZERO) -> Value:
    return split(input, split_sizes, dim)


def sum_of(dims: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for dim in dims:
        total = add(total, dim)
    return total


@operation("chunk")
def chunk(input: TensorFacts, chunks: Value, dim: Value = ZERO) -> Value:
    count = int_of(chunks)
    if count < 1:
        raise GiveUpError
    axis = _cut_axis(input, dim)
    whole = input.dim(axis)
    if whole == 0:
        return _pieces(input, axis, [0] * count)
    if isinstance(whole, int):
        return _pieces(input, axis, _split_sizes(whole, -(-whole // count)))
    each = None if whole is None else divide(whole, count)
    if each is not None and at_least(each, 1):
        return _pieces(input, axis, [each] * count)
    raise GiveUpError


@operation("unsafe_chunk")
def unsafe_chunk(input: TensorFacts, chunks: Value, dim: Value = ZERO) -> Value:
    return chunk(input, chunks, dim)


@operation("tensor_split")
def tensor_split(input: TensorFacts, indices_or_sections: Value, dim: Value = ZERO) -> Value:
    axis = _cut_axis(input, dim)
    whole = input.dim(axis)
    items = sequence_of(indices_or_sections)
    if items is None:
        count = int_of(indices_or_sections)
        if count < 1:
            raise GiveUpError
        if isinstance(whole, int):
            small, larger = divmod(whole, count)
            return _pieces(input, axis, [small + 1] * larger + [small] * (count - larger))
        each = None if whole is None else divide(whole, count)
        if each is None:
            return Items(tuple(cut(input, axis, symbol("?")) for _ in range(count)))
        return _pieces(input, axis, [each] * count)
    if not isinstance(whole, int):
        return Items(tuple(cut(input, axis, symbol("?")) for _ in range(len(items) + 1)))
    stops = [slice(int_of(item)).indices(whole)[1] for item in items]
    starts = [0, *stops]
    parts = []
    for start, stop in zip(starts, [*stops, whole], strict=True):
        parts.append(cut(input, axis, max(0, stop - start), slice(start, max(start, stop))))
    return Items(tuple(parts))


@operation("unbind")
def unbind(input: TensorFacts, dim: Value = ZERO) -> Value:
    axis = _cut_axis(input, dim)
    size = input.dim(axis)
    if not isinstance(size, int) or size > 256:
        raise GiveUpError
    return Items(tuple(selected(input, axis, index) for index in range(size)))


@method("unfold")
def unfold(input: TensorFacts, dimension: Value, size: Value, step: Value) -> Value:
    if input.shape is None:
        return renewed(input, None)
    axis, length, pace = axis_of(dimension, len(input.shape)), size_of(size), size_of(step)
    steps = steps_of(input)
    if not input.shape:
        raise GiveUpError
    whole = input.shape[axis]
    if isinstance(whole, int) and isinstance(length, int) and isinstance(pace, int):
        if length > whole or pace < 1:
            raise GiveUpError
        count: Dim = (whole - length) // pace + 1
    else:
        count = symbol("?")
    stride = steps[axis]
    return renewed(
        input,
        (*input.shape[:axis], count, *input.shape[axis + 1 :], length),
        (
            *steps[:axis],
            None if stride is None else multiply(stride, pace),
            *steps[axis + 1 :],
            stride,
        ),
    )


@operation("diagonal")
def diagonal(
    input: TensorFacts,
    offset: Value = ZERO,
    dim1: Value = ZERO,
    dim2: Value = ONE,
) -> Value:
    if input.shape is None:
        return renewed(input, None)
    rank = len(input.shape)
    first, second = axis_of(dim1, rank), axis_of(dim2, rank)
    if first == second or rank < 2:
        raise GiveUpError
    shift = dim_of(offset)
    rows, columns = input.shape[first], input.shape[second]
    size: Dim = symbol("?")
    if shift == 0 and equal(rows, columns):
        size = rows
    elif isinstance(shift, int) and isinstance(rows, int) and isinstance(columns, int):
        size = max(0, min(rows, columns - shift) if shift >= 0 else min(rows + shift, columns))
    steps = steps_of(input)
    a, b = steps[first], steps[second]
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    return renewed(
        input,
        (*(input.shape[axis] for axis in rest), size),
        (*(steps[axis] for axis in rest), None if a is None or b is None else add(a, b)),
    )


@operation("as_strided")
def as_strided(
    input: TensorFacts, size: Value, stride: Value, storage_offset: Value = NONE
) -> Value:
    shape = sizes_of((size,))
    steps = sequence_of(stride)
    if shape is None or any(size == -1 for size in shape):
        return renewed(input, None, tags=frozenset())
    if steps is None:
        return renewed(input, shape, tags=frozenset())
    if len(steps) != len(shape):
        raise GiveUpError
    return renewed(input, shape, tuple(dim_of(step) for step in steps), tags=frozenset())


@operation("detach", "alias", "view_as_real_", "lift_fresh")
@function("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer", of_tensor=True)
def same(input: TensorFacts, requires_grad: Value = NONE, persistent: Value = NONE) -> Value:
    return input


@method("requires_grad_", "share_memory_", "retain_grad_", "coalesce_")
def itself(input: TensorFacts, *arguments: Value) -> Value:
    return input


@method("record_stream", "backward", "retain_grad", "register_hook")
def nothing(input: TensorFacts, *arguments: Value) -> Value:
    return NONE


@operation("real")
def real(input: TensorFacts) -> Value:
    if input.dtypes is not None and not any(name.startswith("complex") for name in input.dtypes):
        return input
    return TensorFacts(shape=input.shape, device=input.device)
