"""Random programs of torch operations, run in torch and on facts at the same time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import torch

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import symbol, symbols
from kdacheck.source import torch_semantics as semantics
from kdacheck.source.values import Device, DType, Items, Span, Value
from tests.programs.claims import Assignment, Claims, Mismatch, check, dtype_name
from tests.programs.operations import DTYPES, HIDING, REFUSALS, Call, Source, show


class Program(Source):
    """A chain of operations on one tensor, with others made on the way."""

    def __init__(self, seed: int, mode: str) -> None:
        super().__init__(random.Random(seed))
        self.alive: list[torch.Tensor] = []
        self.mode = mode
        self.at = Assignment()
        self.claims = Claims()
        self.facts: dict[int, TensorFacts] = {}
        self.shared: dict[int, Dim] = {}
        self.log: list[str] = []

    def tensors(self) -> Sequence[torch.Tensor]:
        return self.alive

    # Abstraction

    def hide(self, value: int, low: int | None = 0) -> Dim:
        """A symbol that stands for `value`."""
        chance = self.random.random()
        if chance < 0.5 and low == 0 and value in self.shared:
            return self.shared[value]
        if chance < 0.7:
            dim = symbol("s", low=low if low is None else min(low, value))
        elif chance < 0.8 and value >= 2:
            dim = symbol("s", low=2)
        elif chance < 0.9:
            dim = symbol("s", low=low, high=value + self.random.randint(0, 3))
        else:
            dim = symbol(
                "s",
                low=None if value < 0 else 0,
                choices={value, value + self.random.randint(1, 4)},
            )
        (sym,) = symbols(dim)
        self.at.bind(sym, value)
        if low == 0:
            self.shared[value] = dim
        return dim

    def lift(self, value: Any, hide: bool = False) -> Value:
        """The abstract value of an argument."""
        if isinstance(value, torch.Tensor):
            return self.facts[id(value)]
        if value is None or value is ... or isinstance(value, bool | float | str):
            return Literal(value)
        if isinstance(value, int):
            if hide and self.mode != "known" and self.random.random() < 0.4:
                if self.random.random() < 0.1:
                    return Unknown()
                return Integer(self.hide(value, 0 if value >= 0 else None))
            return Literal(value)
        if isinstance(value, tuple | list):
            kind = "list" if isinstance(value, list) else "tuple"
            return Items(tuple(self.lift(item, hide) for item in value), kind)
        if isinstance(value, slice):
            return Span(*(self.lift(p, hide) for p in (value.start, value.stop, value.step)))
        if isinstance(value, torch.dtype):
            return DType(dtype_name(value))
        if isinstance(value, torch.device):
            return Device(value.type)
        raise TypeError(value)

    def know(self, tensor: torch.Tensor, facts: TensorFacts | None = None) -> torch.Tensor:
        """Keep a tensor with its facts; exact ones unless given."""
        if facts is None:
            values = None
            whole = tensor.dtype in (torch.int32, torch.int64)
            if tensor.dim() <= 1 and whole and tensor.numel() <= 64:
                values = tensor.reshape(-1).tolist()
            facts = TensorFacts.of(
                tuple(tensor.shape),
                tuple(tensor.stride()),
                dtype=dtype_name(tensor.dtype),
                device="cpu",
                values=values,
            )
        self.alive.append(tensor)
        self.facts[id(tensor)] = facts
        return tensor

    # Inputs

    def make(self, shape: Sequence[int], dtype: torch.dtype | None = None) -> torch.Tensor:
        """A contiguous input, hidden as the mode says."""
        dtype = dtype or self.random.choice(DTYPES)
        data = torch.arange(math.prod(shape)).reshape(tuple(shape)) % 7
        tensor = data.to(dtype)
        if self.mode == "known":
            return self.know(tensor)
        chance = self.random.random()
        hidden = tuple(self.hide(size) if self.random.random() < 0.5 else size for size in shape)
        name = None if self.random.random() < 0.1 else dtype_name(dtype)
        if self.mode == "unknown" and chance < 0.7:
            partial = {axis: size for axis, size in enumerate(hidden) if self.random.random() < 0.5}
            facts = TensorFacts(
                partial=partial,
                dense=True if self.random.random() < 0.5 else None,
                dtypes=None if name is None else frozenset((name,)),
                device="cpu" if self.random.random() < 0.5 else None,
                handle=len(self.alive) + 1,
            )
        elif 0 in hidden:
            facts = TensorFacts(shape=hidden, dense=True, device="cpu")
        elif chance < 0.8 or self.at.empty:
            facts = TensorFacts.of(
                hidden, dense=not self.at.empty or None, dtype=name, device="cpu"
            )
        else:
            facts = TensorFacts.of(hidden, dense=None, dtype=name, device="cpu")
        return self.know(tensor, facts)

    def start(self) -> torch.Tensor:
        tensor = self.make(self.shape())
        self.log.append(f"start {show(tensor)} {self.facts[id(tensor)]}")
        return tensor

    # Running

    def run(self, steps: int) -> None:
        tensor = self.start()
        for _ in range(steps):
            call = self.choose(tensor)
            if call is None:
                continue
            result = self.step(call)
            following = self.pick(result)
            if following is not None:
                tensor = following
            if tensor.numel() > 2000:
                break

    def step(self, call: Call) -> Any:
        """Run one operation both ways; None where torch raises."""
        hide = call.kind in HIDING
        args = [self.lift(arg, hide and i > 0) for i, arg in enumerate(call.args)]
        kwargs = {key: self.lift(value, hide) for key, value in call.kwargs.items()}
        claim = self.abstract(call, args, kwargs)
        try:
            actual = call.run()
        except REFUSALS:
            return None
        self.log.append(str(call))
        try:
            check(claim, actual, self.at, self.claims)
        except Mismatch as error:
            raise Mismatch(
                "\n".join([str(error), *self.log, f"args {args} {kwargs}", f"claim {claim}"])
            ) from None
        self.remember(claim, actual)
        return actual

    def remember(self, claim: Value | None, actual: Any) -> None:
        if isinstance(actual, torch.Tensor):
            if isinstance(claim, TensorFacts) and (self.mode != "known" or claim.shape is not None):
                self.know(actual, claim)
            elif id(actual) not in self.facts:
                self.know(actual)
        elif isinstance(actual, tuple | list):
            parts = claim.items if isinstance(claim, Items) else (None,) * len(actual)
            for part, item in zip(parts, actual, strict=True):
                self.remember(part, item)

    def abstract(self, call: Call, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
        first = args[0] if args else None
        if call.kind.startswith("method"):
            assert isinstance(first, TensorFacts)
            return semantics.call_method(call.name, first, args[1:], kwargs)
        if call.kind.startswith("function"):
            return semantics.call_function(call.name, args, kwargs)
        if call.kind == "binary":
            return semantics.binary(call.name, args[0], args[1])
        if call.kind == "compare":
            return semantics.compare(call.name, args[0], args[1])
        assert isinstance(first, TensorFacts)
        if call.kind == "subscript":
            return semantics.subscript(first, args[1])
        if call.kind == "unary":
            return semantics.unary(call.name, first)
        return semantics.attribute(first, call.name)


def run_programs(seeds: range, mode: str) -> tuple[Claims, int]:
    """Run one program per seed; the claims made and the number of operations."""
    claims = Claims()
    steps = 0
    for seed in seeds:
        program = Program(seed, mode)
        program.run(1 + program.random.randrange(8))
        claims.counts += program.claims.counts
        steps += len(program.log) - 1
    return claims, steps
