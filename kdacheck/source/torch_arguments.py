"""Read the arguments of torch calls, and build their results."""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown, is_dense
from kdacheck.facts.dims import at_least, symbol
from kdacheck.source.torch_dtypes import DTYPE_NAMES, Dtypes
from kdacheck.source.torch_registry import GiveUpError
from kdacheck.source.values import (
    NONE,
    AnyOf,
    Device,
    DType,
    External,
    Items,
    Value,
)

#: Frequent defaults of parameters.
ZERO, ONE, LAST = Literal(0), Literal(1), Literal(-1)

#: More contents than this are not tracked.
MAX_VALUES = 4096

Shape = tuple[Dim, ...]
Strides = tuple[Dim | None, ...] | None


class Defaults:
    """What constructors do unless told otherwise; None for unknown."""

    dtype: str | None = "float32"
    device: str | None = "cpu"


def default_dtypes() -> Dtypes:
    return None if Defaults.dtype is None else frozenset((Defaults.dtype,))


def dim_of(value: Value) -> Dim | None:
    """An int argument, or None where it is not known to be one."""
    if isinstance(value, Integer):
        return value.dim
    if isinstance(value, Literal):
        number = value.value
        return number if isinstance(number, int) and not isinstance(number, bool) else None
    if isinstance(value, AnyOf):
        choices = [dim_of(part) for part in value.values]
        if all(isinstance(choice, int) for choice in choices):
            return symbol("?", low=None, choices=[c for c in choices if isinstance(c, int)])
    return None


def int_of(value: Value) -> int:
    """An argument that must be a known int."""
    dim = dim_of(value)
    if not isinstance(dim, int):
        raise GiveUpError
    return dim


def size_of(value: Value, name: str = "?") -> Dim:
    """A size: known, or a fresh symbol."""
    dim = dim_of(value)
    if dim is not None:
        return dim
    if isinstance(value, Literal | DType | Device | Items):
        raise GiveUpError
    return symbol(name)


def flag_of(value: Value) -> bool | None:
    """A bool argument, or None where unknown."""
    return bool(value.value) if isinstance(value, Literal) else None


def certain_flag(value: Value) -> bool:
    flag = flag_of(value)
    if flag is None:
        raise GiveUpError
    return flag


def sequence_of(value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple or list, or None."""
    return value.items if isinstance(value, Items) else None


def spread(args: Sequence[Value]) -> tuple[Value, ...] | None:
    """`f(*ints)` or `f(ints)` as the ints; None where their number is unknown."""
    if len(args) == 1:
        if isinstance(args[0], Items):
            return args[0].items
        if dim_of(args[0]) is None:
            return None
    return tuple(args)


def sizes_of(args: Sequence[Value]) -> Shape | None:
    """`f(*sizes)` or `f(sizes)` as sizes; None where their number is unknown."""
    values = spread(args)
    return None if values is None else tuple(size_of(value) for value in values)


def hidden_holes(shape: Shape) -> Shape:
    """A shape argument where -1 has a meaning: a symbol that may be -1 says nothing, unless another size is -1."""
    if -1 in shape:
        return shape
    return tuple(size if at_least(size, 0) else symbol("?") for size in shape)


def axis_of(value: Value, rank: int) -> int:
    """An axis argument, counted from the front."""
    axis = int_of(value)
    span = max(rank, 1)
    if not -span <= axis < span:
        raise GiveUpError
    return axis % span


def axes_of(value: Value, rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the front."""
    items = sequence_of(value)
    axes = tuple(axis_of(item, rank) for item in ((value,) if items is None else items))
    if len(set(axes)) != len(axes):
        raise GiveUpError
    return axes


def dtypes_of(value: Value, default: Dtypes) -> Dtypes:
    """A dtype argument; `default` where it is None."""
    if value == NONE:
        return default
    if isinstance(value, DType):
        return None if value.name is None else frozenset((value.name,))
    if isinstance(value, External):
        name = DTYPE_NAMES.get(value.path.removeprefix("torch."))
        return None if name is None else frozenset((name,))
    return None


def device_of(value: Value, default: str | None) -> str | None:
    """A device argument, by type; `default` where it is None."""
    if value == NONE:
        return default
    if isinstance(value, Device):
        return value.name
    if isinstance(value, Literal):
        if isinstance(value.value, str):
            return value.value.split(":")[0]
        if isinstance(value.value, int):
            return "cuda"
    return None


def memory_format_of(value: Value) -> str | None:
    """`"preserve_format"`, `"contiguous_format"`, ...; None where unknown."""
    if value == NONE:
        return "preserve_format"
    if isinstance(value, External):
        return value.path.rpartition(".")[2]
    return None


def tensor_of(value: Value) -> TensorFacts:
    """An argument that must be a tensor."""
    if isinstance(value, TensorFacts):
        return value
    if isinstance(value, Unknown):
        return TensorFacts(handle=value.handle)
    raise GiveUpError


def tensors_of(value: Value) -> tuple[TensorFacts, ...]:
    """The tensors of a sequence of known length."""
    items = sequence_of(value)
    if items is None:
        raise GiveUpError
    return tuple(tensor_of(item) for item in items)


def build(
    shape: Shape | None,
    strides: Strides = None,
    *,
    dense: bool | None = None,
    dtypes: Dtypes = None,
    device: str | None = None,
    values: Sequence[int] | None = None,
    tags: frozenset[str] = frozenset(),
    partial: dict[int, Dim] | None = None,
    handle: int = 0,
) -> TensorFacts:
    """Facts with the density that follows from the strides; strides of which none is known are dropped."""
    if shape is None:
        return TensorFacts(
            partial=partial or {},
            dense=dense,
            dtypes=dtypes,
            device=device,
            tags=tags,
            handle=handle,
        )
    if 0 in shape:
        # The strides of nothing follow no rule worth knowing.
        strides, dense = None, True
    elif dense is None:
        dense = is_dense(shape, strides or (None,) * len(shape))
    if strides is not None and shape and all(stride is None for stride in strides):
        strides = None
    if strides is None and not shape:
        strides = ()
    if values is not None and len(values) > MAX_VALUES:
        values = None
    return TensorFacts(
        shape=shape,
        strides=strides,
        dense=dense,
        dtypes=dtypes,
        device=device,
        values=None if values is None else tuple(values),
        tags=tags,
    )


def renewed(
    source: TensorFacts,
    shape: Shape | None,
    strides: Strides = None,
    *,
    dense: bool | None = None,
    partial: dict[int, Dim] | None = None,
    values: Sequence[int] | None = None,
    tags: frozenset[str] | None = None,
) -> TensorFacts:
    """A tensor of the same dtype, device and tags as `source`, with another shape."""
    return build(
        shape,
        strides,
        dense=dense,
        dtypes=source.dtypes,
        device=source.device,
        values=values,
        tags=source.tags if tags is None else tags,
        partial=partial,
    )
