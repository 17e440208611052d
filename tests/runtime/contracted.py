"""Contracted functions of a user, as tests call them."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

import kdacheck
from kdacheck.clauses import (
    Dense,
    Elements,
    Gate,
    GateParameters,
    Indices,
    Needs,
    OffsetsEnd,
    Packed,
    PerSequence,
    ReadOnlyWith,
    SameDevice,
    States,
    VFirst,
)

OPERANDS = ("q", "k", "v", "g", "beta")


@kdacheck.contract(
    Packed(OPERANDS, by="cu_seqlens"),
    Gate(("g", "beta")),
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    States(("initial_state",)),
    PerSequence("initial_state", by="cu_seqlens", dense="B"),
    OffsetsEnd("cu_seqlens", tokens_of="q"),
    SameDevice(),
)
def attend(
    q: Float[Tensor, "B T H K"],
    k: Float[Tensor, "B T H K"],
    v: Float[Tensor, "B T HV V"],
    g: Float[Tensor, "B T HV K"],
    beta: Float[Tensor, "B T HV"],
    A_log: Float32[Tensor, "HV"],
    dt_bias: Float32[Tensor, "HV*K"],
    initial_state: Float[Tensor, "N HV K V"] | None = None,
    cu_seqlens: Int[Tensor, "N+1"] | None = None,
    scale: float | None = None,
    *,
    out: Float[Tensor, "B T HV V"] | None = None,
) -> Float[Tensor, "B T HV V"]:
    """Gated attention, or what passes for it here."""
    return v * (scale or 1.0) + (q * k).sum() * 0


@kdacheck.contract(
    GateParameters(("A_log", "dt_bias")),
    Elements("dt_bias", "H*K"),
    ReadOnlyWith("use_gate", ("A_log", "dt_bias")),
    Needs(("use_gate",), ("A_log",)),
    States(("state",)),
    VFirst(("state",), flag="v_first"),
    Indices(("slots",), negatives=False, pool="state"),
    SameDevice(but=("host",)),
)
def step(
    x: Float[Tensor, "B H K"],
    state: Float[Tensor, "S H K V"] | Float[Tensor, "S H V K"],
    slots: Int[Tensor, "B"],
    v: Float[Tensor, "B H V"],
    A_log: Float[Tensor, "..."] | None = None,
    dt_bias: Float[Tensor, "H*K"] | Float[Tensor, "H K"] | None = None,
    use_gate: bool = False,
    v_first: bool = False,
    host: Tensor | None = None,
) -> tuple[Float[Tensor, "B H V"], Float[Tensor, "S H K V"] | None]:
    return v, state


def arguments(**changes: Any) -> dict[str, Any]:
    """A packed call of `attend` that keeps its contract, with some arguments changed."""
    given: dict[str, Any] = {
        "q": torch.randn(1, 8, 2, 4),
        "k": torch.randn(1, 8, 2, 4),
        "v": torch.randn(1, 8, 4, 16),
        "g": torch.randn(1, 8, 4, 4),
        "beta": torch.rand(1, 8, 4),
        "A_log": torch.zeros(4),
        "dt_bias": torch.zeros(16),
        "initial_state": torch.zeros(2, 4, 4, 16),
        "cu_seqlens": torch.tensor([0, 3, 8]),
        "scale": 0.5,
        "out": torch.empty(1, 8, 4, 16),
    }
    given.update(changes)
    return given
