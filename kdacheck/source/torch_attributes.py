"""Attributes of tensors, and the methods that ask about them."""

from __future__ import annotations

from kdacheck.facts import Literal, TensorFacts
from kdacheck.facts.dims import multiply
from kdacheck.source import torch_views
from kdacheck.source.integers import from_dim
from kdacheck.source.torch_arguments import axis_of, dim_of, memory_format_of
from kdacheck.source.torch_dtypes import ITEM_SIZES, is_complex, is_float
from kdacheck.source.torch_registry import GiveUpError, function, method
from kdacheck.source.values import NONE, SOMETHING, Device, DType, Items, ShapeOf, Value

_SIZES = "tuple"


def attribute(tensor: TensorFacts, name: str) -> Value | None:
    if name == "shape":
        return _shape(tensor)
    if name in ("T", "mT", "H", "mH"):
        return _transposed(tensor, name)
    if name == "dtype":
        return DType(tensor.dtype)
    if name == "device":
        return Device(tensor.device)
    if name == "ndim":
        return rank(tensor)
    if name in ("data", "real"):
        return tensor
    if name == "is_cuda" and tensor.device is not None:
        return Literal(tensor.device == "cuda")
    if name == "is_cpu" and tensor.device is not None:
        return Literal(tensor.device == "cpu")
    if name == "is_meta" and tensor.device is not None:
        return Literal(tensor.device == "meta")
    if name in ("itemsize", "nbytes") and tensor.dtype in ITEM_SIZES:
        size = ITEM_SIZES[tensor.dtype or ""]
        if name == "itemsize":
            return Literal(size)
        return None if tensor.numel is None else from_dim(multiply(tensor.numel, size))
    return None


def _shape(tensor: TensorFacts) -> Value | None:
    if tensor.shape is not None:
        return Items(tuple(map(from_dim, tensor.shape)), _SIZES)
    return ShapeOf(tensor.handle) if tensor.handle else None


def _transposed(tensor: TensorFacts, name: str) -> Value | None:
    if tensor.dtypes is None and name in ("H", "mH"):
        pass
    if name in ("mT", "mH"):
        return torch_views.matrix_transpose(tensor)
    if tensor.shape is None:
        return torch_views.t(tensor)
    return torch_views.permuted(tensor, tuple(reversed(range(len(tensor.shape)))))


@method("dim", "ndimension")
def rank(input: TensorFacts) -> Value:
    if input.shape is None:
        raise GiveUpError
    return Literal(len(input.shape))


@method("size")
def size(input: TensorFacts, dim: Value = NONE) -> Value:
    if dim == NONE:
        shape = _shape(input)
        if shape is None:
            raise GiveUpError
        return shape
    if input.shape is None:
        axis = dim_of(dim)
        known = input.partial.get(axis) if isinstance(axis, int) else None
        if known is None:
            raise GiveUpError
        return from_dim(known)
    if not input.shape:
        raise GiveUpError
    return from_dim(input.shape[axis_of(dim, len(input.shape))])


@method("stride")
def stride(input: TensorFacts, dim: Value = NONE) -> Value:
    if input.shape is None:
        raise GiveUpError
    steps = [SOMETHING if s is None else from_dim(s) for s in torch_views.steps_of(input)]
    if dim == NONE:
        return Items(tuple(steps))
    if not steps:
        raise GiveUpError
    return steps[axis_of(dim, len(steps))]


@method("numel", "nelement")
@function("torch.numel", of_tensor=True)
def numel(input: TensorFacts) -> Value:
    if input.numel is None:
        raise GiveUpError
    return from_dim(input.numel)


@method("element_size")
def element_size(input: TensorFacts) -> Value:
    if input.dtype not in ITEM_SIZES:
        raise GiveUpError
    return Literal(ITEM_SIZES[input.dtype or ""])


@method("is_contiguous")
def is_contiguous(input: TensorFacts, memory_format: Value = NONE) -> Value:
    if input.dense is None or memory_format_of(memory_format) not in (
        "preserve_format",
        "contiguous_format",
    ):
        raise GiveUpError
    return Literal(input.dense)


@method("is_floating_point")
@function("torch.is_floating_point", of_tensor=True)
def is_floating_point(input: TensorFacts) -> Value:
    if not input.dtypes:
        raise GiveUpError
    answers = {is_float(name) for name in input.dtypes}
    if len(answers) > 1:
        raise GiveUpError
    return Literal(answers.pop())


@method("is_complex")
@function("torch.is_complex", of_tensor=True)
def complex_(input: TensorFacts) -> Value:
    if not input.dtypes:
        raise GiveUpError
    answers = {is_complex(name) for name in input.dtypes}
    if len(answers) > 1:
        raise GiveUpError
    return Literal(answers.pop())


@method("get_device", "storage_offset", "data_ptr")
def some_integer(input: TensorFacts) -> Value:
    return SOMETHING


@function("torch.is_tensor")
def is_tensor(obj: Value) -> Value:
    if not isinstance(obj, TensorFacts):
        raise GiveUpError
    return Literal(True)


@method("item")
def item(input: TensorFacts) -> Value:
    values = input.values
    if values is None or len(values) != 1 or not input.dtypes:
        return SOMETHING
    if all(is_float(name) for name in input.dtypes):
        return Literal(float(values[0]))
    if any(is_float(name) for name in input.dtypes):
        return SOMETHING
    return Literal(values[0])


@method("tolist")
def tolist(input: TensorFacts) -> Value:
    if input.values is None or input.shape is None or len(input.shape) != 1 or not input.dtypes:
        return SOMETHING
    if any(is_float(name) for name in input.dtypes):
        return SOMETHING
    return Items(tuple(Literal(value) for value in input.values), "list")
