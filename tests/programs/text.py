"""Source text that is run line by line while it is written, so that every line is one that torch accepts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import einops
import torch
from torch import Tensor

from tests.programs.claims import dtype_name
from tests.programs.operations import REFUSALS, Call, Source

#: Larger tensors are not made.
MAX_ELEMENTS = 1 << 16
MAX_RANK = 6


class Text(Source):
    """Straight-line code, with the values that its names have by now (`scope`)."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "torch": torch,
            "F": torch.nn.functional,
            "einops": einops,
        }
        self.made = 0

    def fresh(self, stem: str) -> str:
        """A name that is not taken."""
        self.made += 1
        return f"{stem}{self.made}"

    def emit(self, line: str) -> None:
        """Write a line."""
        self.lines.append(line)

    def assign(self, name: str, expression: str) -> bool:
        """Add `name = expression`; False where torch refuses it or the result is no small tensor."""
        try:
            value = eval(expression, self.scope)
        except REFUSALS:
            return False
        if not isinstance(value, Tensor) or not is_small(value) or 0 in value.shape:
            return False
        self.scope[name] = value
        self.emit(f"{name} = {expression}")
        return True

    # a source of operations

    def tensors(self) -> Sequence[Tensor]:
        return [value for value in self.scope.values() if isinstance(value, Tensor)]

    def make(self, shape: Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
        dtype = dtype or self.random.choice((torch.float32, torch.int64, torch.bool))
        size = str(tuple(shape)) if len(shape) != 1 else str(shape[0])
        kind = "" if dtype == torch.float32 else f", dtype={dtype}"
        maker = self.random.choice(("zeros", "ones"))
        return self._kept(f"torch.{maker}({size}{kind})")

    def know(self, tensor: Tensor) -> Tensor:
        return self._kept(f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype})")

    def _kept(self, expression: str) -> Tensor:
        name = self.fresh("t")
        self.scope[name] = value = eval(expression, self.scope)
        self.emit(f"{name} = {expression}")
        return value

    def step(self, call: Call) -> Any:
        name = self.fresh("t")
        return self.scope[name] if self.assign(name, call.text(self.write)) else None

    def write(self, value: Any) -> str:
        """The text of an argument: a name for a tensor."""
        match value:
            case Tensor():
                return next(name for name, held in self.scope.items() if held is value)
            case tuple():
                return f"({', '.join(map(self.write, value))}{',' * (len(value) == 1)})"
            case list():
                return f"[{', '.join(map(self.write, value))}]"
            case torch.dtype():
                return f"torch.{dtype_name(value)}"
            case builtin if builtin is ...:
                return "..."
            case _:
                return repr(value)

    def operate(self, name: str) -> str | None:
        """The text of a random operation on the tensor of this name."""
        value = self.scope[name]
        call = self.choose(value)
        if call is None:
            return None
        return call.text(self.write)


def is_small(value: Tensor) -> bool:
    return value.numel() <= MAX_ELEMENTS and value.dim() <= MAX_RANK
