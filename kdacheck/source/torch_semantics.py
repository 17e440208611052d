"""What torch and einops operations do to facts: the entry points for the interpreter.

Every function returns None where the result is not modelled or torch would raise. A claim that is made equals
torch's own answer, with sizes of unknown value taken to be at least 1 where strides are concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kdacheck.facts import Literal, TensorFacts
from kdacheck.source import (
    einops,
    torch_attributes,
    torch_constructors,  # noqa: F401
    torch_copies,  # noqa: F401
    torch_elementwise,
    torch_indexing,
    torch_joins,  # noqa: F401
    torch_reductions,  # noqa: F401
    torch_views,  # noqa: F401
)
from kdacheck.source.torch_arguments import Defaults
from kdacheck.source.torch_dtypes import DTYPE_NAMES
from kdacheck.source.torch_registry import (
    FUNCTIONS,
    METHODS,
    GiveUpError,
    invoke,
    over_alternatives,
    words,
)
from kdacheck.source.values import DType, Value

__all__ = [
    "INPLACE_SHAPE_METHODS",
    "TENSOR_METHODS",
    "Defaults",
    "attribute",
    "binary",
    "call_function",
    "call_method",
    "compare",
    "module_constant",
    "subscript",
    "unary",
]

#: Methods that tell a tensor from the other objects that such code handles, modules included.
TENSOR_METHODS = frozenset(
    words(
        "reshape reshape_as view_as unsqueeze squeeze expand expand_as permute unflatten contiguous narrow chunk unbind "
        "repeat_interleave index_select masked_select new_zeros new_ones new_empty new_full new_tensor detach "
        "is_contiguous data_ptr numel element_size stride storage_offset is_floating_point cumsum masked_fill "
        "masked_fill_ type_as transpose_ unsqueeze_ squeeze_ index_copy_ index_add_ scatter_add_ tensor_split "
        "clamp_min clamp_max movedim swapaxes as_strided"
    )
)

#: Methods after which the facts of the receiver are void.
INPLACE_SHAPE_METHODS = frozenset(
    words(
        "resize_ resize_as_ unsqueeze_ squeeze_ transpose_ swapaxes_ swapdims_ t_ as_strided_ set_ swap_"
    )
)

_PREFIXES = ("torch.Tensor.", "torch._C.TensorBase.", "torch.tensor.Tensor.")


def call_function(path: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """The result of a function by its dotted path."""
    entry = FUNCTIONS.get(path)
    if entry is not None:
        return invoke(entry, args, kwargs)
    if path.startswith("einops."):
        return einops.call(path.rpartition(".")[2], args, kwargs)
    for prefix in _PREFIXES:
        if path.startswith(prefix) and args:
            entry = METHODS.get(path[len(prefix) :])
            return None if entry is None else invoke(entry, args, kwargs)
    return None


def call_method(
    name: str, tensor: TensorFacts, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value | None:
    """The result of a method of a tensor."""
    entry = METHODS.get(name)
    if entry is not None:
        return invoke(entry, (tensor, *args), kwargs)
    if not name.endswith("_") or name.startswith("_") or name in INPLACE_SHAPE_METHODS:
        return None
    entry = METHODS.get(name[:-1])
    result = None if entry is None else invoke(entry, (tensor, *args), kwargs)
    return torch_elementwise.overwritten(tensor, result)


def attribute(tensor: TensorFacts, name: str) -> Value | None:
    """An attribute of a tensor."""
    try:
        return torch_attributes.attribute(tensor, name)
    except GiveUpError:
        return None


def _over_operands(call: Callable[..., Value | None], *operands: Value) -> Value | None:
    def run(given: tuple[Value, ...], named: dict[str, Value]) -> Value | None:
        try:
            return call(*given)
        except GiveUpError:
            return None

    return over_alternatives(run, operands, {})


def binary(op: str, left: Value, right: Value) -> Value | None:
    """`left op right`, at least one being a tensor."""
    return _over_operands(lambda a, b: torch_elementwise.binary(op, a, b), left, right)


def unary(op: str, tensor: TensorFacts) -> Value | None:
    """`-tensor`, `+tensor`, `~tensor`."""
    return _over_operands(lambda value: torch_elementwise.unary(op, value), tensor)


def compare(op: str, left: Value, right: Value) -> Value | None:
    """An elementwise comparison."""
    return _over_operands(lambda a, b: torch_elementwise.compare(op, a, b), left, right)


def subscript(tensor: TensorFacts, index: Value) -> Value | None:
    """`tensor[index]`."""
    return _over_operands(torch_indexing.subscript, tensor, index)


_CONSTANTS: dict[str, Value] = {
    **{"torch." + spelling: DType(name) for spelling, name in DTYPE_NAMES.items()},
    "torch.inf": Literal(float("inf")),
    "torch.nan": Literal(float("nan")),
    "torch.pi": Literal(3.141592653589793),
    "torch.e": Literal(2.718281828459045),
    "torch.newaxis": Literal(None),
}


def module_constant(path: str) -> Value | None:
    """`torch.float32` and its like."""
    return _CONSTANTS.get(path)
