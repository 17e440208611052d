"""Random programs, linted and run: whether what is claimed and flagged is so."""

from __future__ import annotations

import ast
import random
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch

import kdacheck
from tests.programs import flow
from tests.programs.running import Outcome, Runner
from tests.programs.watching import watch

LIBRARIES = ("fla", "sglang", "flash_kda")
#: The kernels that the programs call.
KERNELS = (
    ("fla.ops.kda", "chunk_kda"),
    ("sglang.kernels.ops.attention.fla.kda", "chunk_kda"),
    ("sglang.kernels.ops.attention.helion.kda_decode", "helion_fused_recurrent_kda_packed_decode"),
    ("flash_kda", "fwd"),
)
#: How often each function of a program is called.
CALLS = 2


class Elsewhere:
    """What programs import from outside: functions of which the linter knows nothing."""

    def __init__(self) -> None:
        self.random = random.Random(0)
        self.module = types.ModuleType("elsewhere")
        for name in ("chance", "number", "handed", "mangle", "perhaps", "risky", "Box"):
            setattr(self.module, name, getattr(self, name))

    def chance(self) -> bool:
        return self.random.random() < 0.5

    def number(self) -> int:
        return self.random.randint(0, 3)

    def handed(self, value: Any) -> Any:
        return value

    def perhaps(self) -> Any:
        return torch.zeros(1, 2) if self.chance() else None

    def risky(self, share: float = 0.5) -> None:
        if self.random.random() < share:
            raise ValueError

    def mangle(self, value: Any) -> None:
        """Change an object, as a function may that is handed one."""
        if self.chance():
            return
        if isinstance(value, list):
            value.reverse()
            del value[1:]
        elif isinstance(value, dict):
            for key in list(value):
                value[key] = None
            value.pop("q", None)
            value["a"] = torch.zeros(5)
        elif isinstance(value, torch.Tensor):
            value.zero_()
        else:
            for name in list(getattr(value, "__dict__", {})):
                value.__dict__[name] = torch.zeros(1, 1, 1)

    class Box:
        """A decorator that is not known."""

        @staticmethod
        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*args: Any, **named: Any) -> Any:
                result = function(*args, **named)
                return result.clone() if isinstance(result, torch.Tensor) else None

            return changed


@dataclass
class Bench:
    """Where programs are made and run: with stand-ins for the kernels, and what is outside."""

    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    runner: Runner | None = None

    def kernel(self, stand_in: Callable[..., Any]) -> Callable[..., Any]:
        """A stand-in that tells what was wrong with its call."""

        def called(*args: Any, **named: Any) -> Any:
            runner = self.runner
            if runner is None:
                return stand_in(*args, **named)
            try:
                with kdacheck.checking("values"):
                    result = stand_in(*args, **named)
            except kdacheck.ContractError as error:
                runner.called(frozenset((*error.codes, *_codes(stand_in, args, named))))
                raise
            except NotImplementedError:
                result = None
            runner.called(frozenset())
            return result

        return called

    def run(self, text: str, roots: Sequence[str], seed: int) -> Outcome:
        """Lint one program, and call each of its functions some times."""
        tree = ast.parse(text)
        runner = self.runner = Runner(text, tree, watch(text, tree))
        self.elsewhere.random = rng = random.Random(seed)
        torch.manual_seed(seed)
        try:
            with _patches_undone():
                scope = runner.load()
                for root in roots:
                    for _ in range(CALLS if root in scope else 0):
                        runner.call(scope[root], *flow.arguments(rng))
        finally:
            self.runner = None
        return runner.outcome


def _codes(stand_in: Callable[..., Any], args: Any, named: Any) -> tuple[str, ...]:
    """The laws that a call breaks whatever its tensors contain."""
    try:
        with kdacheck.checking("meta"):
            stand_in(*args, **named)
    except kdacheck.ContractError as error:
        return error.codes
    except NotImplementedError:
        pass
    return ()


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench for as long as the block runs."""
    made = Bench()
    with (
        kdacheck.dry(*LIBRARIES),
        mock.patch.dict(sys.modules, {"elsewhere": made.elsewhere.module}),
        kdacheck.checking("off"),
    ):
        for module, name in KERNELS:
            __import__(module)
            target = sys.modules[module]
            setattr(target, name, made.kernel(getattr(target, name)))
        yield made


@contextmanager
def _patches_undone() -> Iterator[None]:
    """What a program puts in the place of functions of torch is taken back."""
    places = [(torch.nn.functional, ("pad", "relu", "silu")), (torch, ("zeros_like",))]
    kept = [(owner, name, getattr(owner, name)) for owner, names in places for name in names]
    try:
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)


@dataclass
class Tally:
    """What came of many programs."""

    programs: int = 0
    outcome: Counter[str] = field(default_factory=Counter)
    constructs: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, str, list[str], list[str]]] = field(default_factory=list)

    def add(self, seed: int, made: flow.Random, outcome: Outcome) -> None:
        self.programs += 1
        self.constructs.update(name for name, count in made.constructs.items() if count)
        self.claims.update(outcome.claims.counts)
        for name in ("statements", "calls", "raising", "raising_and_flagged", "other_code"):
            self.outcome[name] += getattr(outcome, name)
        self.outcome["with a claim"] += outcome.claims.counts["result"] > 0
        self.outcome["with a finding"] += outcome.found > 0
        self.outcome["runs"] += outcome.runs
        self.outcome["finished"] += outcome.finished
        if outcome.problems:
            self.bad.append((seed, made.text, made.roots, outcome.problems))

    def join(self, other: Tally) -> None:
        self.programs += other.programs
        self.outcome.update(other.outcome)
        self.constructs.update(other.constructs)
        self.claims.update(other.claims)
        self.bad += other.bad


def generate(seed: int, length: int = 6) -> flow.Random:
    """The program of a seed."""
    torch.manual_seed(seed)
    with _patches_undone():
        return flow.program(random.Random(seed), length)
