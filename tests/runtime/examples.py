"""Runs the examples of the rules: their parameters become whatever completes the call they reach."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

import kdacheck
from kdacheck.contracts import Call
from kdacheck.contracts.annotations import Axes, TensorSpec, evaluate
from kdacheck.contracts.clauses import Elements, Packed, PackedWidth
from kdacheck.runtime import judge
from kdacheck.runtime.guard import Guard


class Anything:
    """A parameter of an example, until it is known where it is passed."""


#: What a parameter that is a plain number stands for: fewer than an example makes of anything.
NUMBER = 100

#: Sizes that nothing in the example says.
SIZES = {"H": 4, "HV": 4, "K": 32, "V": 16, "L": 8, "slots": 16, "S": 16, "N": 2, "D": 8, "W": 4}


def call_example(text: str, **given: Any) -> tuple[str, ...]:
    """Run an example; the codes it raises, or none. A GPU is played by the device `meta`.

    given: parameters that the example does more with than pass them on.
    """
    scope: dict[str, Any] = {}
    text = text.replace('device="cuda"', 'device="meta"')
    exec(compile(text, "example.py", "exec", dont_inherit=True), scope)
    for name, value in list(scope.items()):
        if hasattr(value, "__kdacheck_guard__"):
            scope[name] = _filled_in(value)
        elif name == "flash_kda":
            value.fwd = _filled_in(value.fwd)
    parameters = inspect.signature(scope["run"], eval_str=False).parameters.values()
    try:
        scope["run"](**{p.name: _stand_in(p) for p in parameters} | given)
    except kdacheck.ContractError as error:
        return error.codes
    return ()


def _stand_in(parameter: inspect.Parameter) -> Any:
    if parameter.name == "mask":
        return _mask()
    return NUMBER if parameter.annotation is int else Anything()


def _mask() -> Tensor:
    """A padding mask of rows of 8 and of 5 tokens."""
    return torch.arange(8) < torch.tensor([[8], [5]])


def _filled_in(function: Any) -> Any:
    guard: Guard = function.__kdacheck_guard__()

    def call(*args: Any, **keywords: Any) -> Any:
        bound = judge.bind(guard.signature, args, keywords)
        filled = _fill(guard, bound)
        names = [parameter.name for parameter in guard.signature.contract.positional]
        return function(
            *(filled.get(name, value) for name, value in zip(names, args, strict=False)),
            **{name: filled.get(name, value) for name, value in keywords.items()},
        )

    return call


def _fill(guard: Guard, bound: judge.Bound) -> dict[str, Any]:
    """Something for every argument that is not known."""
    contract = guard.signature.contract
    # a state of another call says in its own order what its sizes are
    told = {
        n: v
        for n, v in bound.given.items()
        if not isinstance(v, Anything) and contract.roles[n] != "state"
    }
    known = judge.Bound(told, bound.positional)
    call = judge.call_of(guard.signature, known, 0)
    dims = call.unified.dims
    packed = [law.by for law in contract.each(Packed) if bound.given.get(law.by) is not None]
    sizes: dict[str, Any] = dict(SIZES)
    sizes |= dims
    offsets = known.given.get(packed[0]) if packed else None
    sizes.setdefault("B", 1 if packed else 3)
    if "T" not in sizes:
        readable = isinstance(offsets, Tensor) and not offsets.is_meta
        sizes["T"] = int(offsets.max()) if readable else 16  # type: ignore[union-attr]
    if not packed:
        sizes["N"] = sizes["B"]
    elif offsets is None:
        sizes["N"] = 2
    if "HV" not in dims and "H" in dims:
        sizes["HV"] = sizes["H"]
    for count in contract.each(Elements):
        parameter = known.given.get(count.parameter)
        if isinstance(parameter, Tensor) and count.count in ("H*K", "HV*K") and "K" not in dims:
            sizes["K"] = max(1, parameter.numel() // sizes["HV"])
    devices = [v.device for v in known.given.values() if isinstance(v, Tensor)]
    device = devices[0] if devices else torch.device("cpu")
    filled: dict[str, Any] = {}
    for name, value in bound.given.items():
        if isinstance(value, Anything):
            filled[name] = _one(call, name, sizes, device, name in packed)
    return filled


def _one(call: Call, name: str, sizes: dict[str, Any], device: torch.device, offsets: bool) -> Any:
    contract = call.contract
    annotation = call.annotation(name)
    if not annotation.tensors or annotation.others:
        return 1.0
    spec = annotation.tensors[0]
    dtypes = spec.dtypes or frozenset(("float32",))
    dtype = next(d for d in ("float32", "bfloat16", "int64", "int32", *dtypes) if d in dtypes)
    role = contract.roles[name]
    if offsets:
        ends = torch.arange(sizes["N"] + 1) * sizes["T"] // sizes["N"]
        return ends.to(getattr(torch, dtype)).to(device)
    shape = _shape(call, name, spec, sizes)
    if role == "index":
        return torch.arange(shape[0], dtype=getattr(torch, dtype), device=device)
    return torch.zeros(shape, dtype=getattr(torch, dtype), device=device)


def _shape(call: Call, name: str, spec: TensorSpec, sizes: dict[str, Any]) -> list[int]:
    contract = call.contract
    for law in contract.each(PackedWidth):
        if law.parameter == name:
            width = 2 * sizes["H"] * sizes["K"] + sizes["HV"] * sizes["V"]
            return [sizes["B"], width]
    for count in contract.each(Elements):
        if count.parameter == name and (count.flag is None or call.on(count.flag) is count.value):
            return [int(evaluate(count.count, sizes) or 1)]  # type: ignore[call-overload]
    axes = spec.axes or Axes(("...",), 0)
    shape: list[int] = []
    for index, text in enumerate(axes.names):
        if index == axes.variadic:
            shape.append(2)
        elif text == "_":
            shape.append(sizes["T"] if index == 1 else sizes["K"])
        else:
            size = evaluate(text, sizes)
            shape.append(size if isinstance(size, int) else 2)
    return shape
