"""Facts about real arguments."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from kdacheck.facts import Dim, Fact, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import symbol
from kdacheck.runtime.traced import UNTRACED


def fact(value: Any, values: tuple[int, ...] | None = None) -> Fact:
    """What is known of an argument."""
    if isinstance(value, Tensor):
        return tensor(value, values) if not is_lazy(value) else Unknown(not_none=True)
    if value is None or isinstance(value, (bool, int, float, str)):
        return Literal(value)
    if value is UNTRACED or isinstance(value, torch.fx.Proxy):
        return Unknown()
    if isinstance(value, torch.SymInt):
        known = size(value)
        return Literal(known) if isinstance(known, int) else Unknown(not_none=True)
    if isinstance(value, numbers.Integral):
        return Literal(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, torch.SymFloat):
        return Literal(float(value))
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return Literal(bool(value))
    return Unknown(not_none=True)


def tensor(value: Tensor, values: tuple[int, ...] | None = None) -> TensorFacts:
    """What a tensor tells of itself, without waiting for its device."""
    strided = value.layout is torch.strided and not value.is_nested
    return TensorFacts.of(
        [size(n) for n in value.shape] if not value.is_nested else None,
        [size(n) for n in value.stride()] if strided else None,
        dtype=str(value.dtype).removeprefix("torch."),
        device=str(value.device),
        values=values,
    )


_symbols: dict[str, Dim] = {}


def size(number: int | torch.SymInt) -> Dim:
    """A size, or the one a traced size stands for in this trace; asking for it adds no guard."""
    if isinstance(number, int):
        return number
    node = number.node
    hint = node.hint if getattr(node, "has_hint", bool)() else None
    if hint is not None:
        return int(hint)
    return _symbols.setdefault(str(node), symbol(str(node)))


def readable(value: Tensor) -> bool:
    """Whether the contents can be read here: not of fake, meta and wrapped tensors, and not under capture."""
    if type(value) is not Tensor and type(value) is not torch.nn.Parameter:
        return False
    if value.is_meta or value.layout is not torch.strided or torch._C._len_torch_dispatch_stack():
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(value):  # type: ignore[attr-defined]
        return False
    return not (value.is_cuda and torch.cuda.is_current_stream_capturing())


class Contents:
    """The integer contents of 1-D tensors, each copied from its device once, and where the caller has a copy not at all.

    arguments: the call, in which `cu_seqlens_cpu` is a copy of `cu_seqlens`.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._read: dict[int, tuple[int, ...] | None] = {}

    def __call__(self, name: str) -> tuple[int, ...] | None:
        """The contents of a parameter; None where they cannot or need not be read."""
        value = self._arguments.get(name)
        if not isinstance(value, Tensor):
            return None
        copy = self._arguments.get(f"{name}_cpu")
        if isinstance(copy, Tensor) and copy.device.type == "cpu" and copy.shape == value.shape:
            value = copy
        if id(value) not in self._read:
            self._read[id(value)] = _contents(value)
        return self._read[id(value)]


def _contents(value: Tensor) -> tuple[int, ...] | None:
    if value.dim() != 1 or value.is_complex() or not readable(value):
        return None
    values = value.tolist()
    if value.is_floating_point() and not all(float(number).is_integer() for number in values):
        return None
    return tuple(map(int, values))


def arguments_of(values: Mapping[str, Any], read: Iterable[str] = ()) -> dict[str, Fact]:
    """Facts by parameter; `read` names those whose contents count."""
    contents, wanted = Contents(values), frozenset(read)
    return {
        name: fact(value, contents(name) if name in wanted else None)
        for name, value in values.items()
    }
