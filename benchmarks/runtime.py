"""What a contract costs per passing call: one function of 10 tensors, undecorated and under every kind of check.

    python benchmarks/runtime.py [--calls N] [--rounds N] [--save]

All variants take turns in one process; the table gives the fastest round of each, in microseconds a call. A second
table has functions of 1 to 16 tensors without clauses: what is paid for shapes and dtypes alone.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import os
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

os.environ["KDACHECK"] = "meta"

import beartype
import torch
from jaxtyping import Float, Float32, Int, jaxtyped
from torch import Tensor

import kdacheck
from kdacheck.clauses import (
    Dense,
    Gate,
    GateParameters,
    OffsetsEnd,
    Packed,
    PerSequence,
    SameDevice,
    States,
)
from kdacheck.runtime import levels

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from benchmarks import results

#: Tensors of the functions of the second table.
COUNTS = (1, 2, 4, 8, 16)

#: Seconds for so many calls with these arguments.
Variant = Callable[[int, Sequence[Any]], float]

CLAUSES = (
    Packed(("q", "k", "v", "g", "beta"), by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)


def plain(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    A_log: Float32[Tensor, "HV"],
    dt_bias: Float32[Tensor, "HV*K"],
    initial_state: Float[Tensor, "N HV K V"] | None,
    cu_seqlens: Int[Tensor, "N+1"] | None,
    out: Float[Tensor, "B T HV V"],
    scale: float = 1.0,
) -> Tensor:
    """A kernel that does nothing."""
    return out


def off() -> Callable[..., Any]:
    """The function as it is decorated in a process with `KDACHECK=off`: the function itself."""
    before = levels.process.level
    levels.process.set(levels.OFF)
    function = kdacheck.contract(*CLAUSES)(plain)
    levels.process.set(before)
    assert function is plain
    return function


def arguments() -> tuple[Tensor, ...]:
    """Ten tensors of a packed call."""
    heads, dim, tokens = 8, 64, 256
    q, k, v, g, out = (torch.randn(1, tokens, heads, dim) for _ in range(5))
    return (
        q,
        k,
        v,
        g,
        torch.rand(1, tokens, heads),
        torch.zeros(heads),
        torch.zeros(heads * dim),
        torch.zeros(2, heads, dim, dim),
        torch.tensor([0, 100, tokens]),
        out,
    )


def at(level: levels.Level, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, run with a level in force for the whole process."""

    def measured(calls: int, given: Sequence[Any]) -> float:
        before = levels.process.level
        levels.process.set(levels.number(level))
        try:
            return timed(function, calls, given)
        finally:
            levels.process.set(before)

    return measured


def timed(function: Callable[..., Any], calls: int, given: Sequence[Any]) -> float:
    """Seconds for some calls."""
    start = time.perf_counter()
    for _ in range(calls):
        function(*given)
    return time.perf_counter() - start


def kernel_of(tensors: int) -> Callable[..., Any]:
    """A kernel that does nothing, of so many operands."""
    operands = ", ".join(f'x{i}: Float[Tensor, "B T H K"]' for i in range(tensors))
    scope: dict[str, Any] = {"Float": Float, "Tensor": Tensor}
    exec(f"def kernel({operands}) -> Tensor:\n    return x0\n", scope)
    return scope["kernel"]


def fastest(
    variants: dict[str, tuple[Variant, int]], given: Sequence[Any], calls: int, rounds: int
) -> dict[str, float]:
    """Microseconds a call in the fastest round of each, which take turns; one with a number makes so many times fewer calls."""
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(rounds):
        for name, (run, slower) in variants.items():
            number = max(1, calls // slower)
            best[name] = min(best[name], run(number, given) / number * 1e6)
    return best


def by_arguments(calls: int, rounds: int) -> dict[str, list[tuple[int, float]]]:
    """(tensors, microseconds a call above the undecorated function) by kind of check."""
    found: dict[str, list[tuple[int, float]]] = {"meta": [], "jaxtyped + beartype": []}
    for count in COUNTS:
        function = kernel_of(count)
        given = [torch.randn(1, 256, 8, 64) for _ in range(count)]
        both = jaxtyped(typechecker=beartype.beartype)(kernel_of(count))
        best = fastest(
            {
                "undecorated": (functools.partial(timed, function), 1),
                "meta": (at("meta", kdacheck.contract()(function)), 1),
                "jaxtyped + beartype": (functools.partial(timed, both), 10),
            },
            given,
            calls,
            rounds,
        )
        for name, line in found.items():
            line.append((count, best[name] - best["undecorated"]))
    return found


def main() -> int:
    """Measure and print the table; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000, help="calls in a round")
    parser.add_argument("--rounds", type=int, default=60)
    results.add_option(parser)
    options = parser.parse_args()
    given = arguments()
    contracted = kdacheck.contract(*CLAUSES)(plain)
    both = jaxtyped(typechecker=beartype.beartype)(plain)
    variants: dict[str, tuple[Variant, int]] = {
        "undecorated": (functools.partial(timed, plain), 1),
        "`KDACHECK=off` (the same function)": (functools.partial(timed, off()), 1),
        '`checking("off")`': (at("off", contracted), 1),
        "`meta`": (at("meta", contracted), 1),
        "`values`": (at("values", contracted), 1),
        "`@jaxtyped(typechecker=beartype)`": (functools.partial(timed, both), 10),
    }
    best = fastest(variants, given, options.calls, options.rounds)
    versions = ", ".join(
        f"{package} {importlib.metadata.version(package)}"
        for package in ("torch", "jaxtyping", "beartype")
    )
    print(f"{results.machine()}, {versions}")
    print(f"`{results.command()}`; best of {options.rounds} rounds\n")
    print("| 10 tensors, passing | us a call | above undecorated | jaxtyped + beartype is |")
    print("|---|---:|---:|---:|")
    floor, most = best["undecorated"], best["`@jaxtyped(typechecker=beartype)`"]
    for name, cost in best.items():
        times = f"{most / cost:.1f}x" if name.startswith("`meta") else ""
        print(f"| {name} | {cost:.2f} | {cost - floor:.2f} | {times} |")
    meta = best["`meta`"]
    kept = meta <= 4.0 and most / meta >= 12
    print(f"\nbars: at most 4 us, at least 12x cheaper: {'kept' if kept else 'missed'}")
    rows = by_arguments(options.calls, options.rounds)
    print("\n| tensors | " + " | ".join(f"{name}, us a call" for name in rows) + " |")
    print("|---:|" + "---:|" * len(rows))
    for costs in zip(*rows.values(), strict=True):
        print(f"| {costs[0][0]} | " + " | ".join(f"{cost:.2f}" for _, cost in costs) + " |")
    if options.save:
        results.save("runtime", {"ten tensors": best, "by_arguments": rows})
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
