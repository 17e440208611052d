"""Copies that keep the shape: contiguous, clone, and changes of dtype and device."""

from __future__ import annotations

from kdacheck.facts import Literal, TensorFacts, contiguous_strides, equal
from kdacheck.source import torch_layout as layout
from kdacheck.source import torch_views
from kdacheck.source.torch_arguments import (
    build,
    device_of,
    dtypes_of,
    flag_of,
    memory_format_of,
    tensor_of,
)
from kdacheck.source.torch_dtypes import Dtypes, fits
from kdacheck.source.torch_registry import GiveUpError, method, operation
from kdacheck.source.values import NONE, Device, DType, External, Unknown, Value


@method("contiguous")
def contiguous(input: TensorFacts, memory_format: Value = NONE) -> Value:
    kind = memory_format_of(memory_format)
    if kind not in ("preserve_format", "contiguous_format"):
        return input.with_(strides=None, dense=None)
    return torch_views.contiguous(input)


@operation("clone")
def clone(input: TensorFacts, memory_format: Value = NONE) -> Value:
    return copied(input, input.dtypes, input.device, memory_format_of(memory_format))


def copied(
    tensor: TensorFacts, dtypes: Dtypes, device: str | None, memory_format: str | None
) -> TensorFacts:
    """A copy, perhaps of another dtype or on another device."""
    values = tensor.values if tensor.values is not None and fits(tensor.values, dtypes) else None
    shape = tensor.shape
    if shape is None:
        dense = (
            True
            if memory_format == "contiguous_format"
            or (tensor.dense and memory_format == "preserve_format")
            else None
        )
        return tensor.with_(dtypes=dtypes, device=device, dense=dense)
    strides, dense = None, None
    if memory_format == "contiguous_format":
        strides, dense = contiguous_strides(shape), True
    elif memory_format == "preserve_format":
        strides, dense = layout.preserved(shape, tensor.strides, tensor.dense)
    return build(
        shape,
        strides,
        dense=dense,
        dtypes=dtypes,
        device=device,
        values=values,
        tags=tensor.tags,
    )


def perhaps_copied(
    tensor: TensorFacts,
    dtypes: Dtypes,
    device: str | None,
    memory_format: str | None = "preserve_format",
    *,
    copy: bool | None = False,
    other_device: bool | None = False,
) -> TensorFacts:
    """`tensor.to(...)`: the tensor itself where there is nothing to do."""
    copy_made = copied(tensor, dtypes, device, memory_format)
    changes = copy or other_device
    if dtypes is not None and tensor.dtypes is not None and not dtypes & tensor.dtypes:
        changes = True
    if changes:
        return copy_made
    unchanged = (
        dtypes is not None
        and dtypes == tensor.dtypes
        and len(dtypes) == 1
        and copy is False
        and other_device is False
        and memory_format == "preserve_format"
    )
    if unchanged:
        return tensor
    if tensor.shape is None:
        return copy_made.with_(dense=tensor.dense if tensor.dense == copy_made.dense else None)
    strides = None
    if tensor.strides is not None and copy_made.strides is not None:
        strides = tuple(
            a if a is not None and b is not None and equal(a, b) else None
            for a, b in zip(tensor.strides, copy_made.strides, strict=True)
        )
    dense = tensor.dense if tensor.dense == copy_made.dense else None
    return (
        build(
            tensor.shape,
            strides,
            dense=dense,
            dtypes=dtypes,
            device=device,
            values=copy_made.values,
            tags=tensor.tags,
        )
        if dense is not None
        else copy_made.with_(strides=strides, dense=None)
    )


def _moves(tensor: TensorFacts, device: str | None, exact: bool) -> bool | None:
    """Whether a change to a device copies; two CUDA devices may be different ones."""
    if device is None or tensor.device is None:
        return None
    if device != tensor.device:
        return True
    return False if device == "cpu" or exact else None


@method("to")
def to(
    input: TensorFacts,
    *args: Value,
    device: Value = NONE,
    dtype: Value = NONE,
    other: Value = NONE,
    non_blocking: Value = NONE,
    copy: Value = NONE,
    memory_format: Value = NONE,
) -> Value:
    flags = []
    for index, arg in enumerate(args):
        if isinstance(arg, TensorFacts) and index == 0:
            other = arg
        elif isinstance(arg, DType) or (
            isinstance(arg, External) and dtypes_of(arg, None) is not None
        ):
            dtype = arg
        elif isinstance(arg, Device):
            device = arg
        elif isinstance(arg, Literal) and isinstance(arg.value, bool):
            flags.append(arg)
        elif isinstance(arg, Literal) and (isinstance(arg.value, str | int) or arg == NONE):
            if arg != NONE:
                device = arg
        elif isinstance(arg, Unknown) and index == 0:
            # A device, a dtype or a tensor.
            device = device if device != NONE else arg
            dtype = dtype if dtype != NONE else arg
        elif isinstance(arg, Unknown) and index == 1:
            dtype = arg
        elif isinstance(arg, Unknown):
            flags.append(arg)
        else:
            raise GiveUpError
    if len(flags) > 1:
        copy = flags[1]
    if other != NONE:
        model = tensor_of(other)
        return perhaps_copied(
            input,
            model.dtypes,
            model.device,
            copy=flag_of(copy) if copy != NONE else False,
            other_device=_moves(input, model.device, False),
        )
    moves: bool | None = False
    where = input.device
    if device != NONE:
        where = device_of(device, None)
        moves = _moves(input, where, False)
    return perhaps_copied(
        input,
        dtypes_of(dtype, input.dtypes),
        where,
        memory_format_of(memory_format),
        copy=flag_of(copy) if copy != NONE else False,
        other_device=moves,
    )


def _cast(name: str) -> None:
    def cast(input: TensorFacts, memory_format: Value = NONE) -> Value:
        return perhaps_copied(
            input,
            frozenset((DTYPES_BY_METHOD[name],)),
            input.device,
            memory_format_of(memory_format),
        )

    method(name)(cast)


DTYPES_BY_METHOD = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
for _name in DTYPES_BY_METHOD:
    _cast(_name)


@method("type")
def type_(input: TensorFacts, dtype: Value = NONE, non_blocking: Value = NONE) -> Value:
    if not isinstance(dtype, DType):
        raise GiveUpError
    return perhaps_copied(input, dtypes_of(dtype, None), input.device)


@method("type_as")
def type_as(input: TensorFacts, other: Value) -> Value:
    model = tensor_of(other)
    return perhaps_copied(
        input, model.dtypes, model.device, other_device=_moves(input, model.device, False)
    )


@method("cuda")
def cuda(
    input: TensorFacts,
    device: Value = NONE,
    non_blocking: Value = NONE,
    memory_format: Value = NONE,
) -> Value:
    return perhaps_copied(
        input,
        input.dtypes,
        "cuda",
        memory_format_of(memory_format),
        other_device=_moves(input, "cuda", False),
    )


@method("cpu")
def cpu(input: TensorFacts, memory_format: Value = NONE) -> Value:
    return perhaps_copied(
        input,
        input.dtypes,
        "cpu",
        memory_format_of(memory_format),
        other_device=_moves(input, "cpu", True),
    )


@method("pin_memory")
def pin_memory(input: TensorFacts, device: Value = NONE) -> Value:
    return input if input.dense else input.with_(strides=None, dense=None)


@method("tolist")
def tolist(input: TensorFacts) -> Value:
    from kdacheck.source.values import Items

    if input.values is None or input.shape is None or len(input.shape) != 1:
        raise GiveUpError
    if not input.dtypes or any("float" in name for name in input.dtypes):
        raise GiveUpError
    return Items(tuple(Literal(value) for value in input.values), "list")
