"""Functions that make new tensors."""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.facts import Dim, Integer, Literal, Number, TensorFacts, contiguous_strides
from kdacheck.facts.dims import divide, symbol
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import (
    LAST,
    MAX_VALUES,
    Defaults,
    Shape,
    Strides,
    build,
    default_dtypes,
    device_of,
    dim_of,
    dtypes_of,
    memory_format_of,
    sequence_of,
    size_of,
    sizes_of,
    tensor_of,
)
from kdacheck.source.torch_dtypes import Dtypes, fits, is_complex, is_float, over
from kdacheck.source.torch_registry import GiveUpError, function, method
from kdacheck.source.values import NONE, AnyOf, Device, DType, Items, Unknown, Value

_INT64: Dtypes = frozenset(("int64",))


def fresh(
    shape: Shape | None, dtypes: Dtypes, device: str | None, values: Sequence[int] | None = None
) -> TensorFacts:
    """A newly allocated contiguous tensor."""
    if shape is None:
        return build(None, dense=True, dtypes=dtypes, device=device)
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise GiveUpError
    if values is not None and not fits(values, dtypes):
        values = None
    return build(
        shape, contiguous_strides(shape), dense=True, dtypes=dtypes, device=device, values=values
    )


def number_of(value: Value) -> int | None:
    """An integral number, such as 1 or 1.0."""
    if isinstance(value, Literal) and isinstance(value.value, int | float):
        number = value.value
        if not isinstance(number, bool) and number == number and abs(number) < 1 << 62:
            return int(number) if number == int(number) else None
    return None


def _constant(shape: Shape | None, number: int | None) -> tuple[int, ...] | None:
    if shape is None or number is None or len(shape) != 1:
        return None
    size = shape[0]
    return (number,) * size if isinstance(size, int) and 0 <= size <= MAX_VALUES else None


def python_dtypes(value: Value) -> Dtypes:
    """The dtype that torch gives a Python number."""
    if isinstance(value, Integer):
        return _INT64
    if isinstance(value, Literal):
        number = value.value
        if isinstance(number, bool):
            return frozenset(("bool",))
        if isinstance(number, int):
            return _INT64
        if isinstance(number, float):
            return default_dtypes()
        if isinstance(number, complex):
            return over(
                lambda name: "complex128" if name == "float64" else "complex64", default_dtypes()
            )
    return None


def _sized(
    size: Sequence[Value],
    given: Value,
    shape: Value,
    dtype: Value,
    device: Value,
    number: int | None,
) -> TensorFacts:
    for keyword in (given, shape):
        if keyword != NONE:
            size = (keyword,)
    # `torch.zeros()` is an error, `torch.zeros(())` is not.
    if not size:
        raise GiveUpError
    sizes = sizes_of(size)
    return fresh(
        sizes,
        dtypes_of(dtype, default_dtypes()),
        device_of(device, Defaults.device),
        _constant(sizes, number),
    )


@function("torch.zeros")
def zeros(
    *args: Value,
    size: Value = NONE,
    shape: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _sized(args, size, shape, dtype, device, 0)


@function("torch.ones")
def ones(
    *args: Value,
    size: Value = NONE,
    shape: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _sized(args, size, shape, dtype, device, 1)


@function("torch.empty", "torch.rand", "torch.randn")
def empty(
    *args: Value,
    size: Value = NONE,
    shape: Value = NONE,
    generator: Value = NONE,
    names: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
    memory_format: Value = NONE,
) -> Value:
    if memory_format_of(memory_format) not in ("preserve_format", "contiguous_format"):
        made = _sized(args, size, shape, dtype, device, None)
        return build(made.shape, dtypes=made.dtypes, device=made.device)
    return _sized(args, size, shape, dtype, device, None)


@function("torch.full")
def full(
    size: Value,
    fill_value: Value,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    shape = sizes_of((size,)) if sequence_of(size) is not None else None
    return fresh(
        shape,
        dtypes_of(dtype, python_dtypes(fill_value)),
        device_of(device, Defaults.device),
        _constant(shape, number_of(fill_value)),
    )


@function("torch.randint")
def randint(
    *args: Value,
    low: Value = NONE,
    high: Value = NONE,
    size: Value = NONE,
    generator: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    sizes = size if size != NONE else args[-1] if args else NONE
    items = sequence_of(sizes)
    return fresh(
        None if items is None else tuple(size_of(item) for item in items),
        dtypes_of(dtype, _INT64),
        device_of(device, Defaults.device),
    )


@function("torch.randperm")
def randperm(
    n: Value,
    generator: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return fresh((size_of(n),), dtypes_of(dtype, _INT64), device_of(device, Defaults.device))


@function("torch.arange")
def arange(
    *args: Value,
    start: Value = NONE,
    end: Value = NONE,
    step: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    given = list(args)
    if end == NONE and len(given) == 1:
        given = [start if start != NONE else Literal(0), given[0]]
    elif end != NONE:
        given = [*(given or [start if start != NONE else Literal(0)]), end, *given[1:]]
    if step != NONE:
        given = [*given[:2], step]
    if not 2 <= len(given) <= 3:
        raise GiveUpError
    first, last = dim_of(given[0]), dim_of(given[1])
    pace = dim_of(given[2]) if len(given) == 3 else 1
    where = device_of(device, Defaults.device)
    if first is None or last is None or pace is None:
        floats = [v for v in given if isinstance(v, Literal) and isinstance(v.value, float)]
        default = default_dtypes() if floats else None
        return fresh((symbol("?"),), dtypes_of(dtype, default), where)
    dtypes = dtypes_of(dtype, _INT64)
    if isinstance(first, int) and isinstance(last, int) and isinstance(pace, int):
        if pace == 0 or (last - first) * pace < 0:
            raise GiveUpError
        count = len(range(first, last, pace))
        values = range(first, last, pace) if count <= MAX_VALUES else None
        return fresh((count,), dtypes, where, values)
    size = divide(last - first, pace)
    return fresh((symbol("?") if size is None else size,), dtypes, where)


@function("torch.linspace", "torch.logspace")
def linspace(
    start: Value,
    end: Value,
    steps: Value,
    base: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
) -> Value:
    plain = isinstance(start, Literal | Integer) and isinstance(end, Literal | Integer)
    return fresh(
        (size_of(steps),),
        dtypes_of(dtype, default_dtypes() if plain else None),
        device_of(device, Defaults.device if plain else None),
    )


@function("torch.eye")
def eye(
    n: Value,
    m: Value = NONE,
    out: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
) -> Value:
    rows = size_of(n)
    return fresh(
        (rows, rows if m == NONE else size_of(m)),
        dtypes_of(dtype, default_dtypes()),
        device_of(device, Defaults.device),
    )


@function("torch.empty_strided")
def empty_strided(
    size: Value,
    stride: Value,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    shape, steps = sizes_of((size,)), sequence_of(stride)
    if shape is not None and steps is not None and len(shape) != len(steps):
        raise GiveUpError
    return build(
        shape,
        None if shape is None or steps is None else tuple(dim_of(step) for step in steps),
        dtypes=dtypes_of(dtype, default_dtypes()),
        device=device_of(device, Defaults.device),
    )


def _nested(data: Value) -> tuple[Shape, list[Value], bool]:
    """The shape and the leaves of nested lists, and whether there are no further axes."""
    items = sequence_of(data)
    if items is None:
        if not isinstance(data, Literal | Integer):
            raise GiveUpError
        return (), [data], True
    if not items:
        return (0,), [], True
    if not any(isinstance(item, Items) for item in items):
        if any(isinstance(item, DType) for item in items):
            raise GiveUpError
        # What is unknown may be a list; beside a number it is a number.
        return (len(items),), list(items), any(map(_is_scalar, items))
    parts = [_nested(item) for item in items]
    longest = max((shape for shape, _, _ in parts), key=len)
    if any(shape != (longest if whole else longest[: len(shape)]) for shape, _, whole in parts):
        raise GiveUpError
    leaves = [leaf for _, inner, _ in parts for leaf in inner]
    return (len(items), *longest), leaves, any(whole for _, _, whole in parts)


def _is_scalar(item: Value) -> bool:
    if isinstance(item, AnyOf):
        return all(map(_is_scalar, item.values))
    return isinstance(item, Literal | Integer | Number) or (
        isinstance(item, TensorFacts) and item.shape == ()
    )


def _inferred(leaves: Sequence[Value]) -> Dtypes:
    if not leaves:
        return default_dtypes()
    kinds = [python_dtypes(leaf) for leaf in leaves]
    if any(kind is None for kind in kinds):
        return None
    found = {name for kind in kinds for name in kind or ()}
    for family in (is_complex, is_float):
        chosen = frozenset(name for name in found if family(name))
        if chosen:
            return chosen
    return _INT64 if "int64" in found else frozenset(("bool",))


@function("torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor.new_tensor_")
def tensor(
    data: Value,
    dtype: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
    copy: Value = NONE,
) -> Value:
    if isinstance(data, TensorFacts):
        return _from_tensor(data, dtype, device)
    if isinstance(data, Unknown) or (isinstance(data, Items) and _holds_tensors(data)):
        dtypes = dtypes_of(dtype, None)
        where = device_of(device, None)
        if isinstance(data, Items) and all(
            isinstance(item, TensorFacts) and item.shape == () for item in data.items
        ):
            return fresh((len(data.items),), dtypes, where)
        return build(None, dtypes=dtypes, device=where)
    shape, leaves, complete = _nested(data)
    if not complete:
        return build(
            None,
            dense=True,
            dtypes=dtypes_of(dtype, None),
            device=device_of(device, Defaults.device),
            partial=dict(enumerate(shape)),
        )
    numbers = [number_of(leaf) for leaf in leaves]
    values = None
    if len(shape) <= 1 and all(number is not None for number in numbers):
        values = [number for number in numbers if number is not None]
    return fresh(
        shape, dtypes_of(dtype, _inferred(leaves)), device_of(device, Defaults.device), values
    )


def _holds_tensors(data: Items) -> bool:
    return any(
        isinstance(item, TensorFacts) or (isinstance(item, Items) and _holds_tensors(item))
        for item in data.items
    )


def _from_tensor(data: TensorFacts, dtype: Value, device: Value) -> TensorFacts:
    """A copy, or with `as_tensor` perhaps the tensor itself."""
    dtypes = dtypes_of(dtype, data.dtypes)
    values = data.values
    if values is not None and not fits(values, dtypes):
        values = None
    strides: Strides = None
    dense = None
    if data.dense:
        strides, dense = data.strides, True
    return TensorFacts(
        shape=data.shape,
        partial=data.partial,
        strides=strides,
        dense=dense,
        dtypes=dtypes,
        device=device_of(device, data.device),
        values=values,
        tags=data.tags,
    )


def like(
    source: TensorFacts,
    dtype: Value,
    device: Value,
    memory_format: Value = NONE,
    number: int | None = None,
    default: Dtypes = None,
) -> TensorFacts:
    """A new tensor of the shape and, in `preserve_format`, of the layout of `source`."""
    dtypes = dtypes_of(dtype, default if default is not None else source.dtypes)
    where = device_of(device, source.device)
    shape = source.shape
    kind = memory_format_of(memory_format)
    if shape is None:
        dense = (
            True
            if kind == "contiguous_format" or (source.dense and kind == "preserve_format")
            else None
        )
        return build(None, dense=dense, dtypes=dtypes, device=where, partial=dict(source.partial))
    if kind == "contiguous_format":
        return fresh(shape, dtypes, where, _constant(shape, number))
    strides: Strides = None
    dense = None
    if kind == "preserve_format":
        strides, dense = layout.preserved(shape, source.strides, source.dense)
    values = _constant(shape, number)
    if values is not None and not fits(values, dtypes):
        values = None
    return build(shape, strides, dense=dense, dtypes=dtypes, device=where, values=values)


@function("torch.empty_like", "torch.rand_like", "torch.randn_like", of_tensor=True)
def empty_like(
    input: TensorFacts,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
    memory_format: Value = NONE,
    generator: Value = NONE,
) -> Value:
    return like(input, dtype, device, memory_format)


@function("torch.zeros_like", of_tensor=True)
def zeros_like(
    input: TensorFacts,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    memory_format: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return like(input, dtype, device, memory_format, 0)


@function("torch.ones_like", of_tensor=True)
def ones_like(
    input: TensorFacts,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    memory_format: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return like(input, dtype, device, memory_format, 1)


@function("torch.full_like", of_tensor=True)
def full_like(
    input: TensorFacts,
    fill_value: Value,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    memory_format: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return like(input, dtype, device, memory_format, number_of(fill_value))


@function("torch.randint_like", of_tensor=True)
def randint_like(
    input: TensorFacts,
    low: Value = NONE,
    high: Value = NONE,
    dtype: Value = NONE,
    layout: Value = NONE,
    device: Value = NONE,
    memory_format: Value = NONE,
) -> Value:
    return like(input, dtype, device, memory_format)


def _new(
    source: TensorFacts,
    size: Sequence[Value],
    given: Value,
    dtype: Value,
    device: Value,
    number: int | None = None,
) -> TensorFacts:
    if given != NONE:
        size = (given,)
    shape = sizes_of(size)
    return fresh(
        shape,
        dtypes_of(dtype, source.dtypes),
        device_of(device, source.device),
        _constant(shape, number),
    )


@method("new_zeros")
def new_zeros(
    input: TensorFacts,
    *args: Value,
    size: Value = NONE,
    dtype: Value = NONE,
    device: Value = NONE,
    layout: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _new(input, args, size, dtype, device, 0)


@method("new_ones")
def new_ones(
    input: TensorFacts,
    *args: Value,
    size: Value = NONE,
    dtype: Value = NONE,
    device: Value = NONE,
    layout: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _new(input, args, size, dtype, device, 1)


@method("new_empty")
def new_empty(
    input: TensorFacts,
    *args: Value,
    size: Value = NONE,
    dtype: Value = NONE,
    device: Value = NONE,
    layout: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _new(input, args, size, dtype, device)


@method("new_full")
def new_full(
    input: TensorFacts,
    size: Value,
    fill_value: Value,
    dtype: Value = NONE,
    device: Value = NONE,
    layout: Value = NONE,
    requires_grad: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    return _new(input, (), size, dtype, device, number_of(fill_value))


@method("new_tensor")
def new_tensor(
    input: TensorFacts,
    data: Value,
    dtype: Value = NONE,
    device: Value = NONE,
    requires_grad: Value = NONE,
    layout: Value = NONE,
    pin_memory: Value = NONE,
) -> Value:
    made = tensor(data, dtype, device)
    if not isinstance(made, TensorFacts):
        raise GiveUpError
    # Unlike torch.tensor, the dtype and device are those of the receiver.
    dtypes = dtypes_of(dtype, input.dtypes)
    values = made.values if made.values is not None and fits(made.values, dtypes) else None
    return made.with_(dtypes=dtypes, device=device_of(device, input.device), values=values)


@method("new_empty_strided")
def new_empty_strided(
    input: TensorFacts, size: Value, stride: Value, dtype: Value = NONE, device: Value = NONE
) -> Value:
    made = empty_strided(size, stride)
    if not isinstance(made, TensorFacts):
        raise GiveUpError
    return made.with_(dtypes=dtypes_of(dtype, input.dtypes), device=device_of(device, input.device))


@function("torch.meshgrid")
def meshgrid(*tensors: Value, indexing: Value = NONE) -> Value:
    items = tensors
    if len(tensors) == 1 and isinstance(tensors[0], Items):
        items = tensors[0].items
    facts = [tensor_of(item) for item in items]
    swap = indexing != NONE and isinstance(indexing, Literal) and indexing.value == "xy"
    if (indexing != NONE and not isinstance(indexing, Literal)) or not facts:
        raise GiveUpError
    sizes: list[Dim] = []
    for fact in facts:
        if fact.shape is None or len(fact.shape) > 1:
            raise GiveUpError
        sizes.append(fact.shape[0] if fact.shape else 1)
    if swap and len(sizes) > 1:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    return Items(
        tuple(build(tuple(sizes), dtypes=fact.dtypes, device=fact.device) for fact in facts)
    )


@function("torch.tril_indices", "torch.triu_indices")
def triangle_indices(
    row: Value, col: Value, offset: Value = NONE, dtype: Value = NONE, device: Value = NONE
) -> Value:
    return fresh((2, symbol("?")), dtypes_of(dtype, _INT64), device_of(device, Defaults.device))


@function("torch.nn.functional.one_hot", of_tensor=True)
def one_hot(input: TensorFacts, num_classes: Value = LAST) -> Value:
    classes = dim_of(num_classes)
    if input.shape is None:
        return build(None, dtypes=_INT64, device=input.device)
    last = symbol("?") if classes is None or classes == -1 else classes
    return build((*input.shape, last), dtypes=_INT64, device=input.device)


@function("torch.from_numpy", "torch.frombuffer")
def from_numpy(
    ndarray: Value, dtype: Value = NONE, count: Value = NONE, offset: Value = NONE
) -> Value:
    return build(None, device="cpu", dtypes=dtypes_of(dtype, None))


@function("torch.device")
def device_(type: Value, index: Value = NONE) -> Value:
    return Device(device_of(type, None))


@function("torch.get_default_dtype")
def get_default_dtype() -> Value:
    return DType(Defaults.dtype)
