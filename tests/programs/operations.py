"""Random operations on tensors: what is called, with which arguments."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import einops
import torch

from tests.programs.claims import dtype_name

DTYPES = [torch.float32, torch.int64, torch.int32, torch.bool, torch.float64, torch.bfloat16]

#: What torch and einops raise for arguments that they do not take.
REFUSALS = (
    ArithmeticError,
    RuntimeError,
    IndexError,
    ValueError,
    TypeError,
    einops.EinopsError,
)


@dataclass
class Call:
    """One operation: how torch is called, and how the semantics are."""

    kind: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        shown = [show(arg) for arg in self.args]
        shown += [f"{key}={show(value)}" for key, value in self.kwargs.items()]
        return f"{self.kind} {self.name}({', '.join(shown)})"

    def run(self) -> Any:
        """What torch makes of it. Raises what torch raises."""
        if self.kind.startswith("method"):
            return getattr(self.args[0], self.name)(*self.args[1:], **self.kwargs)
        if self.kind.startswith("function"):
            target: Any = {"torch": torch, "einops": einops}[self.name.split(".")[0]]
            for part in self.name.split(".")[1:]:
                target = getattr(target, part)
            return target(*self.args, **self.kwargs)
        if self.kind == "binary":
            return _OPERATORS[self.name](*self.args)
        if self.kind == "compare":
            return COMPARISONS[self.name](*self.args)
        if self.kind == "subscript":
            return self.args[0][self.args[1]]
        if self.kind == "unary":
            return -self.args[0] if self.name == "-" else ~self.args[0]
        return getattr(self.args[0], self.name)

    def text(self, write: Callable[[Any], str]) -> str:
        """The source text of the operation. write: the text of an argument."""
        first, *rest = [write(arg) for arg in self.args]
        named = [f"{key}={write(value)}" for key, value in self.kwargs.items()]
        if self.kind.startswith("method"):
            return f"{first}.{self.name}({', '.join(rest + named)})"
        if self.kind.startswith("function"):
            return f"{self.name}({', '.join([first, *rest, *named])})"
        if self.kind in ("binary", "compare"):
            return f"{first} {self.name} {rest[0]}"
        if self.kind == "subscript":
            return f"{first}[{_index(self.args[1], write)}]"
        if self.kind == "unary":
            return f"{self.name}{first}"
        return f"{first}.{self.name}"


def _index(index: Any, write: Callable[[Any], str]) -> str:
    if isinstance(index, tuple):
        return ", ".join(_index(part, write) for part in index) + "," * (len(index) == 1) or "()"
    if isinstance(index, slice):
        parts = ["" if part is None else write(part) for part in (index.start, index.stop)]
        return ":".join(parts) + ("" if index.step is None else f":{write(index.step)}")
    return write(index)


def show(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"<{list(value.shape)} {value.stride()} {dtype_name(value.dtype)}>"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(show, value)) + ")"
    return repr(value)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
}


class Source(ABC):
    """Where operations take their arguments from: the tensors made so far, and new ones."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    @abstractmethod
    def tensors(self) -> Sequence[torch.Tensor]:
        """The tensors made so far."""

    @abstractmethod
    def make(self, shape: Sequence[int], dtype: torch.dtype | None = None) -> torch.Tensor:
        """A new contiguous tensor."""

    @abstractmethod
    def know(self, tensor: torch.Tensor) -> torch.Tensor:
        """Keep a tensor that was made elsewhere."""

    @abstractmethod
    def step(self, call: Call) -> Any:
        """Do one operation; None where torch raises."""

    def choose(self, tensor: torch.Tensor) -> Call | None:
        generator = self.random.choice(GENERATORS)
        return generator(self, tensor)

    def pick(self, result: Any) -> torch.Tensor | None:
        """A tensor to go on with."""
        if isinstance(result, torch.Tensor):
            return result
        if isinstance(result, tuple | list):
            tensors = [item for item in result if isinstance(item, torch.Tensor)]
            return self.random.choice(tensors) if tensors else None
        return None

    def size(self) -> int:
        return self.random.choice(
            [1, 1, 2, 2, 3, 4, 5, 0] if self.random.random() < 0.3 else [1, 2, 3, 4]
        )

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        if rank is None:
            rank = self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5])
        return tuple(self.size() for _ in range(rank))

    # Arguments

    def axis(self, tensor: torch.Tensor, extra: int = 0) -> int:
        rank = tensor.dim() + extra
        return self.random.randrange(-rank, rank) if rank else self.random.choice([0, -1])

    def coin(self) -> bool:
        return self.random.random() < 0.5

    def other(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor that broadcasts with another one, of any layout."""
        choices = [item for item in self.tensors() if item.shape == tensor.shape]
        if self.random.random() < 0.3 and choices:
            return self.random.choice(choices)
        shape = list(tensor.shape)
        for axis, size in enumerate(shape):
            if self.random.random() < 0.25:
                shape[axis] = 1 if self.coin() else self.size() if size == 1 else size
        if self.random.random() < 0.25:
            shape = shape[self.random.randint(0, len(shape)) :]
        elif self.random.random() < 0.1:
            shape = [self.size(), *shape]
        other = self.make(shape)
        if self.random.random() < 0.4 and len(shape) > 1:
            order = list(range(len(shape)))
            self.random.shuffle(order)
            source = self.make([shape[axis] for axis in order], other.dtype)
            inverse = [order.index(axis) for axis in range(len(shape))]
            moved = self.step(Call("method", "permute", (source, *inverse), {}))
            return other if moved is None else moved
        return other


Generator = Callable[[Source, torch.Tensor], "Call | None"]
GENERATORS: list[Generator] = []

#: Calls whose int arguments are sizes or positions, which may be hidden.
HIDING = frozenset(("method sizes", "function sizes", "subscript"))


def generator(weight: int = 1) -> Callable[[Generator], Generator]:
    def register(make: Generator) -> Generator:
        GENERATORS.extend([make] * weight)
        return make

    return register


def factors(program: Source, numel: int) -> list[int]:
    """A random shape of so many elements."""
    shape = []
    rest = numel
    for _ in range(program.random.randint(0, 3)):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0] or [1]
        size = program.random.choice(divisors)
        shape.append(size)
        rest = rest // size if size else 0
    shape.append(rest)
    program.random.shuffle(shape)
    if program.random.random() < 0.3:
        shape.insert(program.random.randint(0, len(shape)), 1)
    return shape


@generator(5)
def _reshape(p: Source, x: torch.Tensor) -> Call:
    shape = factors(p, x.numel())
    if p.random.random() < 0.25:
        # Merge or keep neighbouring axes of the tensor.
        shape = list(x.shape)
        while len(shape) > 1 and p.coin():
            at = p.random.randrange(len(shape) - 1)
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
    if p.random.random() < 0.4 and shape and 0 not in shape:
        shape[p.random.randrange(len(shape))] = -1
    name = p.random.choice(["view", "reshape", "reshape"])
    if p.random.random() < 0.3:
        return Call("function sizes", "torch.reshape", (x, tuple(shape)), {})
    return Call("method sizes", name, (x, *shape) if p.coin() and shape else (x, tuple(shape)), {})


@generator(4)
def _order(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        ["transpose", "transpose", "permute", "movedim", "t", "swapaxes", "T", "mT"]
    )
    if name in ("transpose", "movedim", "swapaxes"):
        args = (x, p.axis(x), p.axis(x))
        return (
            Call("function", "torch." + name, args, {})
            if p.coin()
            else Call("method", name, args, {})
        )
    if name == "permute":
        order = list(range(x.dim()))
        p.random.shuffle(order)
        return Call("method", name, (x, *order) if p.coin() else (x, tuple(order)), {})
    if name == "t":
        return Call("method", name, (x,), {})
    return Call("attribute", name, (x,), {})


@generator(4)
def _axes(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        ["unsqueeze", "unsqueeze", "squeeze", "squeeze", "flatten", "unflatten", "ravel"]
    )
    if name == "unsqueeze":
        return Call("method", name, (x, p.axis(x, 1)), {})
    if name == "squeeze":
        return Call("method", name, (x, p.axis(x)) if p.coin() else (x,), {})
    if name == "flatten":
        args = (x, p.axis(x), p.axis(x)) if p.coin() else (x,)
        return Call("method", name, args, {})
    if name == "unflatten" and x.dim():
        axis = p.axis(x)
        sizes = factors(p, x.shape[axis])
        if p.coin() and 0 not in sizes:
            sizes[p.random.randrange(len(sizes))] = -1
        return Call("method sizes" if axis >= 0 else "method", name, (x, axis, tuple(sizes)), {})
    return Call("method", "ravel", (x,), {})


@generator(3)
def _expand(p: Source, x: torch.Tensor) -> Call:
    shape = [p.size() if size == 1 and p.coin() else size for size in x.shape]
    if p.coin():
        shape = [-1 if p.random.random() < 0.3 else size for size in shape]
    for _ in range(p.random.choice([0, 0, 1, 2])):
        shape.insert(0, p.size())
    if p.random.random() < 0.2 and x.dim():
        return Call("function", "torch.broadcast_to", (x, tuple(shape)), {})
    return Call(
        "method sizes", "expand", (x, *shape) if shape and p.coin() else (x, tuple(shape)), {}
    )


@generator(2)
def _expand_as(p: Source, x: torch.Tensor) -> Call:
    other = p.other(x)
    if p.coin():
        return Call("method", "expand_as", (x, other), {})
    return Call("function", "torch.broadcast_tensors", (x, other), {})


@generator(3)
def _pieces(p: Source, x: torch.Tensor) -> Call | None:
    if not x.dim():
        return None
    axis = p.axis(x)
    size = x.shape[axis]
    name = p.random.choice(
        ["split", "split", "sections", "chunk", "tensor_split", "unbind", "narrow", "select"]
    )
    if name == "split":
        args: tuple[Any, ...] = (x, p.random.randint(1, max(1, size)), axis)
        return (
            Call("method", "split", args, {})
            if p.coin()
            else Call("function", "torch.split", args, {})
        )
    if name == "sections":
        first = p.random.randint(0, size)
        return Call("method", "split", (x, [first, size - first]), {"dim": axis})
    if name in ("chunk", "tensor_split"):
        return Call("method", name, (x, p.random.randint(1, 4), axis), {})
    if name == "unbind":
        return Call("method", name, (x, axis), {})
    if name == "narrow":
        start = p.random.randint(0, size)
        length = p.random.randint(0, size - start)
        return Call("method sizes" if axis >= 0 else "method", name, (x, axis, start, length), {})
    if not size:
        return None
    return Call("method", "select", (x, axis, p.random.randrange(-size, size)), {})


@generator(6)
def _subscript(p: Source, x: torch.Tensor) -> Call:
    items: list[Any] = []
    axis = 0
    while axis < x.dim() and p.random.random() < 0.75:
        size = x.shape[axis]
        chance = p.random.random()
        if chance < 0.1:
            items.append(None)
            continue
        if chance < 0.3 and size:
            items.append(p.random.randrange(-size, size))
        elif chance < 0.4:
            items.append(slice(None))
        elif chance < 0.5 and size:
            count = p.random.randint(1, 3)
            if p.coin():
                items.append([p.random.randrange(size) for _ in range(count)])
            else:
                index = p.make((count,) if p.coin() else (count, 2), torch.int64)
                items.append(index if size > 6 else p.know(index % size))
        elif chance < 0.55:
            items.append(p.know(torch.arange(size) % 2 == 0))
        else:
            start = p.random.choice([None, 0, p.random.randint(-size - 1, size + 1)])
            stop = p.random.choice([None, p.random.randint(-size - 1, size + 2)])
            step = p.random.choice([None, None, None, 1, 2])
            items.append(slice(start, stop, step))
        axis += 1
    if p.random.random() < 0.3:
        items.insert(p.random.randint(0, len(items)), ...)
    if len(items) == 1 and p.coin():
        return Call("subscript", "[]", (x, items[0]), {})
    return Call("subscript", "[]", (x, tuple(items)), {})


@generator(4)
def _copy(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "contiguous",
            "clone",
            "float",
            "double",
            "int",
            "long",
            "bfloat16",
            "to",
            "to_device",
            "to_like",
            "detach",
            "cpu",
            "bool",
            "type_as",
        ]
    )
    if name == "to":
        return Call(
            "method",
            "to",
            (x, p.random.choice(DTYPES)),
            {"copy": True} if p.random.random() < 0.2 else {},
        )
    if name == "to_device":
        return Call("method", "to", (x, "cpu", p.random.choice(DTYPES)), {})
    if name == "to_like":
        return Call("method", "to", (x, p.other(x)), {})
    if name == "type_as":
        return Call("method", "type_as", (x, p.other(x)), {})
    return Call("method", name, (x,), {})


@generator(3)
def _like(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "zeros_like",
            "ones_like",
            "empty_like",
            "randn_like",
            "full_like",
            "new_zeros",
            "new_ones",
            "new_full",
            "new_empty",
        ]
    )
    if name == "full_like":
        return Call("function", "torch.full_like", (x, 3), {})
    if name.endswith("like"):
        kwargs = {"dtype": torch.float32} if p.coin() or name == "randn_like" else {}
        return Call("function", "torch." + name, (x,), kwargs)
    if name == "new_full":
        return Call("method", name, (x, p.shape(), 2), {})
    return Call("method sizes", name, (x, p.shape()), {"dtype": torch.int32} if p.coin() else {})


@generator(3)
def _construct(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "zeros",
            "ones",
            "rand",
            "randn",
            "empty",
            "full",
            "arange",
            "arange",
            "linspace",
            "eye",
            "randint",
            "tensor",
            "empty_strided",
        ]
    )
    kwargs: dict[str, Any] = {}
    if p.coin() and name not in ("rand", "randn"):
        kwargs["dtype"] = p.random.choice([torch.int32, torch.float32, torch.int64])
    if name in ("zeros", "ones", "empty", "rand", "randn"):
        shape = p.shape()
        return Call(
            "function sizes", "torch." + name, (*shape,) if shape and p.coin() else (shape,), kwargs
        )
    if name == "full":
        return Call(
            "function sizes", "torch.full", (p.shape(), p.random.choice([0, 3, 2.0, True])), kwargs
        )
    if name == "arange":
        stop = p.random.randint(0, 12)
        args = p.random.choice([(stop,), (1, 1 + stop), (0, stop, 2), (stop, 0, -3), (0.5, 3.0)])
        return Call("function sizes", "torch.arange", args, kwargs)
    if name == "linspace":
        return Call("function", "torch.linspace", (0, 1, p.size()), {})
    if name == "eye":
        return Call(
            "function", "torch.eye", (p.size(),) if p.coin() else (p.size(), p.size()), kwargs
        )
    if name == "randint":
        return Call("function", "torch.randint", (0, 5, p.shape()), kwargs)
    if name == "empty_strided":
        shape = p.shape()
        return Call(
            "function",
            "torch.empty_strided",
            (shape, tuple(p.random.randint(0, 9) for _ in shape)),
            kwargs,
        )
    data = p.random.choice(
        [[0, 3, 8], [1], [], 5, [[1, 2], [3, 4]], [0.5, 1], [True, False], [2.0, 3.0], [True, 2]]
    )
    return Call("function", "torch.tensor", (data,), kwargs)


@generator(6)
def _binary(p: Source, x: torch.Tensor) -> Call:
    op = p.random.choice(["+", "-", "*", "/", "//", "%", "**", "&", "|"])
    if p.coin():
        other: Any = p.random.choice([1, 2, 3, -1, 2.0, 0.5, True])
        return Call("binary", op, (x, other) if p.random.random() < 0.8 else (other, x), {})
    y = p.other(x)
    pair = (x, y) if p.coin() else (y, x)
    if p.random.random() < 0.2:
        return Call("compare", p.random.choice(list(COMPARISONS)), pair, {})
    if p.random.random() < 0.2:
        return Call(
            "function",
            p.random.choice(["torch.add", "torch.maximum", "torch.mul", "torch.sub"]),
            pair,
            {},
        )
    return Call("binary", op, pair, {})


@generator(2)
def _compare(p: Source, x: torch.Tensor) -> Call:
    return Call("compare", p.random.choice(list(COMPARISONS)), (x, p.random.choice([0, 1.5])), {})


@generator(4)
def _unary(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "exp",
            "sigmoid",
            "relu",
            "abs",
            "neg",
            "sqrt",
            "log",
            "tanh",
            "floor",
            "square",
            "logical_not",
            "sin",
            "clamp",
            "clamp_min",
            "silu",
            "softplus",
            "logsigmoid",
            "gelu",
            "softmax",
            "-",
            "~",
            "isnan",
            "masked_fill",
            "where",
            "normalize",
            "dropout",
            "leaky_relu",
            "nan_to_num",
        ]
    )
    if name in ("-", "~"):
        return Call("unary", name, (x,), {})
    if name == "clamp":
        kwargs = p.random.choice([{"min": 0}, {"max": 3}, {"min": 1, "max": 2}, {"min": 0.5}])
        return Call("method", "clamp", (x,), kwargs)
    if name == "clamp_min":
        return Call("method", "clamp_min", (x, 2), {})
    if name in ("silu", "softplus", "logsigmoid", "gelu", "normalize", "leaky_relu"):
        return Call("function", "torch.nn.functional." + name, (x,), {})
    if name == "dropout":
        return Call("function", "torch.nn.functional.dropout", (x, 0.5), {"training": p.coin()})
    if name == "softmax":
        return Call("method", "softmax", (x, p.axis(x)), {})
    if name in ("masked_fill", "where"):
        mask = p.other(x)
        if mask.dtype != torch.bool:
            made = p.step(Call("compare", ">=", (mask, 2), {}))
            mask = mask if made is None else made
        if name == "masked_fill":
            return Call("method", "masked_fill", (x, mask, 0), {})
        other = p.random.choice([0, 1.5, p.other(x)])
        return Call(
            "function", "torch.where", (mask, x, other) if p.coin() else (mask, other, x), {}
        )
    return (
        Call("method", name, (x,), {}) if p.coin() else Call("function", "torch." + name, (x,), {})
    )


@generator(3)
def _join(p: Source, x: torch.Tensor) -> Call:
    others = [item for item in p.tensors() if item.shape == x.shape]
    parts = [x, *(p.random.choice(others) for _ in range(p.random.randint(0, 2)))]
    if p.coin():
        parts.append(p.make(tuple(x.shape)))
    p.random.shuffle(parts)
    name = p.random.choice(["cat", "cat", "stack", "hstack", "vstack", "meshgrid"])
    if name == "meshgrid":
        return Call(
            "function", "torch.meshgrid", tuple(parts), {"indexing": p.random.choice(["ij", "xy"])}
        )
    if name in ("hstack", "vstack"):
        return Call("function", "torch." + name, (parts,), {})
    return Call("function", "torch." + name, (parts,), {"dim": p.axis(x, name == "stack")})


@generator(3)
def _reduce(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "sum",
            "mean",
            "amax",
            "amin",
            "max",
            "min",
            "argmax",
            "all",
            "any",
            "prod",
            "sort",
            "topk",
            "norm",
            "argsort",
            "std",
            "logsumexp",
            "median",
        ]
    )
    kwargs: dict[str, Any] = {}
    if name in ("sort", "argsort"):
        return Call("method", name, (x,), {"dim": p.axis(x)})
    if name == "topk":
        return Call("method", name, (x, 1), {"dim": p.axis(x)})
    if p.coin() or name in ("logsumexp", "median"):
        kwargs["dim"] = p.axis(x)
        if p.coin():
            kwargs["keepdim"] = True
    if name == "sum" and p.random.random() < 0.3:
        kwargs["dtype"] = torch.int32
    if name == "sum" and x.dim() > 1 and p.random.random() < 0.3:
        kwargs["dim"] = (0, -1)
    return Call("method", name, (x,), kwargs)


@generator(3)
def _scan(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(["cumsum", "cumsum", "diff", "cumprod", "cummax", "logcumsumexp"])
    if name == "diff":
        return Call("method", "diff", (x,), {} if p.coin() else {"dim": p.axis(x)})
    kwargs = {"dtype": torch.int32} if p.random.random() < 0.3 and name.startswith("cums") else {}
    return Call("method", name, (x, p.axis(x)), kwargs)


@generator(3)
def _repeat(p: Source, x: torch.Tensor) -> Call | None:
    name = p.random.choice(
        [
            "repeat",
            "tile",
            "repeat_interleave",
            "flip",
            "roll",
            "pad",
            "pad",
            "index_select",
            "gather",
            "unfold",
            "diagonal",
            "as_strided",
            "tril",
        ]
    )
    if name in ("repeat", "tile"):
        counts = [p.random.choice([1, 1, 2]) for _ in range(x.dim() + p.random.choice([0, 0, 1]))]
        if not counts:
            return None
        return Call("method sizes", name, (x, *counts) if p.coin() else (x, tuple(counts)), {})
    if name == "repeat_interleave":
        if p.random.random() < 0.3:
            return Call("method sizes", name, (x, 2), {})
        if x.dim() and p.random.random() < 0.3:
            axis = p.axis(x)
            counts = p.know(torch.arange(x.shape[axis]) % 3)
            return Call("method", name, (x, counts), {"dim": axis})
        return Call("method", name, (x, p.random.randint(0, 3)), {"dim": p.axis(x)})
    if name in ("flip", "roll"):
        return Call("method", name, (x, (p.axis(x),)) if name == "flip" else (x, 1, p.axis(x)), {})
    if name == "pad":
        amounts = [
            p.random.choice([0, 1, 1, 2]) for _ in range(2 * p.random.randint(1, max(1, x.dim())))
        ]
        return Call("function sizes", "torch.nn.functional.pad", (x, tuple(amounts)), {})
    if not x.dim():
        return None
    axis = p.axis(x)
    size = x.shape[axis]
    if name == "index_select" and size:
        return Call(
            "method", name, (x, axis, p.know(torch.arange(p.random.randint(0, 5)) % size)), {}
        )
    if name == "gather":
        return Call(
            "method", name, (x, axis, p.make(tuple(min(1, s) for s in x.shape), torch.int64)), {}
        )
    if name == "unfold":
        return Call(
            "method", name, (x, axis, p.random.randint(0, size), p.random.randint(1, 2)), {}
        )
    if name == "diagonal":
        return Call("method", name, (x, p.random.choice([0, 0, 1, -1]), p.axis(x), p.axis(x)), {})
    if name == "tril":
        return Call("method", name, (x,), {})
    return Call("method", "as_strided", (x, (1, 2), (p.size(), p.size())), {})


@generator(2)
def _product(p: Source, x: torch.Tensor) -> Call | None:
    if not x.dim():
        return None
    rows = x.shape[-1]
    shape = p.random.choice([(rows,), (rows, p.size()), (*x.shape[:-2], rows, p.size())])
    y = p.make(shape, x.dtype)
    if p.random.random() < 0.3 and x.dim() == 2:
        return Call(
            "function", "torch.einsum", (p.random.choice(["ij->ji", "ij->i", "ij,ij->j"]), x), {}
        )
    if p.random.random() < 0.3:
        return Call(
            "function", "torch.nn.functional.linear", (x, p.make((p.size(), rows), x.dtype)), {}
        )
    return (
        Call("binary", "@", (x, y), {})
        if p.coin()
        else Call("function", "torch.matmul", (x, y), {})
    )


@generator(2)
def _question(p: Source, x: torch.Tensor) -> Call:
    name = p.random.choice(
        [
            "shape",
            "dtype",
            "ndim",
            "size",
            "numel",
            "dim",
            "is_contiguous",
            "item",
            "tolist",
            "element_size",
            "stride",
            "data",
        ]
    )
    if name in ("shape", "dtype", "ndim", "data"):
        return Call("attribute", name, (x,), {})
    return Call("method", name, (x,), {})


def pattern(p: Source, x: torch.Tensor, name: str) -> Call | None:
    """A random einops pattern that fits a tensor."""
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left: list[str] = []
    names: list[str] = []
    given: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for size in x.shape:
        chance = p.random.random()
        if size == 1 and chance < 0.5:
            left.append("1" if p.coin() else "()")
        elif chance < 0.35:
            parts = factors(p, size)[:3]
            if math.prod(parts) != size:
                return None
            group = [next(letters) for _ in parts]
            names += group
            sizes |= dict(zip(group, parts, strict=True))
            hidden = p.random.randrange(len(group))
            given |= {
                g: s for i, (g, s) in enumerate(zip(group, parts, strict=True)) if i != hidden
            }
            left.append("(" + " ".join(group) + ")")
        else:
            letter = next(letters)
            names.append(letter)
            sizes[letter] = size
            left.append(letter)
    order = list(names)
    if p.random.random() < 0.8:
        p.random.shuffle(order)
    if name == "reduce" and order:
        order = order[: p.random.randint(0, len(order))]
    if name == "repeat":
        for _ in range(p.random.randint(1, 2)):
            if p.coin():
                letter = next(letters)
                given[letter] = p.size()
            else:
                letter = str(p.random.randint(2, 3))
            order.insert(p.random.randint(0, len(order)), letter)
    right: list[str] = []
    while order:
        if p.random.random() < 0.35:
            count = p.random.randint(1, 3)
            right.append("(" + " ".join(order[:count]) + ")")
            order = order[count:]
        else:
            right.append(order.pop(0))
    if p.random.random() < 0.4:
        right.insert(p.random.randint(0, len(right)), p.random.choice(["1", "()"]))
    if name != "reduce" and p.random.random() < 0.2 and left and right and left[0] == right[0]:
        left[0] = right[0] = "..."
    text = " ".join(left) + " -> " + " ".join(right)
    args: tuple[Any, ...] = (x, text)
    if name == "reduce":
        args = (x, text, p.random.choice(["sum", "max", "prod"]))
    return Call("function sizes", f"einops.{name}", args, dict(given))


@generator(4)
def _einops(p: Source, x: torch.Tensor) -> Call | None:
    return pattern(p, x, p.random.choice(["rearrange", "rearrange", "repeat", "reduce"]))
