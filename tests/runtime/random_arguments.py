"""Random arguments for a contract: most of them right, some broken in one or two ways."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor

from kdacheck.contracts import Contract
from kdacheck.contracts.annotations import Axes, TensorSpec, evaluate
from kdacheck.contracts.clauses import Packed, PackedWidth, PerSequence

DTYPES = (
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.int32,
    torch.int64,
    torch.bool,
)


def sizes(rng: random.Random) -> dict[str, int]:
    """A size for every name, as a call that keeps its contract has them."""
    heads = rng.choice((1, 2, 3))
    bound = {
        "B": rng.choice((1, 1, 2, 3)),
        "T": rng.choice((1, 4, 6, 8)),
        "H": heads,
        "HV": heads * rng.choice((1, 1, 2)),
        "K": rng.choice((1, 2, 4, 8)),
        "V": rng.choice((1, 2, 4, 8)),
        "N": rng.choice((1, 2, 3)),
        "L": rng.choice((1, 4)),
        "D": rng.choice((2, 4)),
        "W": 3,
        "slots": rng.choice((4, 7)),
    }
    if rng.random() < 0.3:
        bound["HV"] = heads
    return bound


def tensor(rng: random.Random, spec: TensorSpec, bound: dict[str, int]) -> Tensor:
    """A tensor that an alternative of an annotation admits."""
    axes = spec.axes or Axes(("...",), 0)
    shape: list[int] = []
    for index, text in enumerate(axes.names):
        if index == axes.variadic:
            shape += [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 1, 1, 2)))]
        elif text == "_":
            shape.append(rng.choice((1, 2, 4, 8)))
        else:
            if text.isidentifier():
                bound.setdefault(text, rng.choice((1, 2, 3)))
            size = evaluate(text, bound)
            shape.append(size if isinstance(size, int) else 2)
    names = sorted(spec.dtypes) if spec.dtypes is not None else ["float32"]
    plain = [n for n in names if n in ("float32", "bfloat16", "float16", "int32", "int64")]
    dtype = getattr(torch, rng.choice(plain or names))
    return torch.zeros(shape, dtype=dtype)


def arguments(rng: random.Random, contract: Contract) -> dict[str, Any]:
    """Arguments by name, drawn to keep the contract more often than not."""
    bound = sizes(rng)
    by = {law.by for law in contract.each(Packed)} | {law.by for law in contract.each(PerSequence)}
    packed = rng.random() < 0.5
    if packed:
        bound["B"] = 1
    else:
        bound["N"] = bound["B"]
    given: dict[str, Any] = {}
    for parameter in contract.parameters:
        name, annotation = parameter.name, parameter.annotation
        if name in by and annotation.optional and not packed:
            continue
        if not parameter.required and name not in by and rng.random() < 0.55:
            continue
        if annotation.tensors and not annotation.others:
            given[name] = tensor(rng, rng.choice(annotation.tensors), bound)
        else:
            given[name] = scalar(rng, annotation.others, parameter.default)
    for law in contract.each(PackedWidth):
        if isinstance(given.get(law.parameter), Tensor) and rng.random() < 0.8:
            width = 2 * bound["H"] * bound["K"] + bound["HV"] * bound["V"]
            given[law.parameter] = torch.zeros(bound["B"], width)
    return given


def scalar(rng: random.Random, kinds: tuple[str, ...], default: Any) -> Any:
    if isinstance(default, bool) or "bool" in kinds:
        return rng.random() < 0.5
    if "float" in kinds:
        return rng.choice((0.5, -1.0, -5.0, 1, 0.0, -7.5))
    if "int" in kinds:
        return rng.choice((64, 32, 16, 1, 7))
    return None


def mutate(rng: random.Random, given: dict[str, Any]) -> None:
    """Change one argument in one way; the call may be broken by it, or stay right."""
    names = list(given)
    if not names:
        return
    name = rng.choice(names)
    value = given[name]
    if not isinstance(value, Tensor):
        given[name] = rng.choice((None, True, False, 0.5, -3.0, 3, "x", torch.zeros(2)))
        return
    rank = value.dim()
    match rng.randrange(11):
        case 0 if rank:
            axis = rng.randrange(rank)
            given[name] = torch.cat([value, value.narrow(axis, 0, min(1, value.shape[axis]))], axis)
        case 1 if rank:
            axis = rng.randrange(rank)
            given[name] = value.narrow(axis, 0, value.shape[axis] // 2)
        case 2:
            given[name] = value[None]
        case 3 if rank:
            given[name] = value.flatten(0, min(1, rank - 1))
        case 4 if rank:
            axis = rng.randrange(rank)
            given[name] = value.narrow(axis, 0, 1).expand(value.shape) if value.numel() else value
        case 5 if rank > 1:
            axis = rng.randrange(rank - 1)
            given[name] = value.transpose(axis, axis + 1).contiguous().transpose(axis, axis + 1)
        case 6 if rank > 1:
            given[name] = value.transpose(-1, -2)
        case 7 if rank:
            axis = rng.randrange(rank)
            given[name] = (
                torch.repeat_interleave(value, 2, axis).unflatten(axis, (-1, 2)).select(axis + 1, 0)
                if value.shape[axis]
                else value
            )
        case 8:
            given[name] = value.to(rng.choice(DTYPES))
        case 9:
            given[name] = rng.choice((None, [1, 2], value.to("meta")))
        case _:
            del given[name]


def positional(
    rng: random.Random, contract: Contract, given: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The same call with some leading arguments by position."""
    args: list[Any] = []
    rest = dict(given)
    many = rng.choice((0, 3, 5, 5, 8, 12))
    for parameter in contract.positional[:many]:
        if parameter.name not in rest:
            break
        args.append(rest.pop(parameter.name))
    return args, rest
