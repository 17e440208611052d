"""Every kernel in Helion's interpreter against the float64 reference."""

from __future__ import annotations

import pytest
import torch

from kdacheck.kernels import configs, reference
from kdacheck.kernels import decode as steps
from kdacheck.kernels import prefill as chunks

from .cases import candidates, copied, decode, error, prefill, replay

BF16, FP16 = torch.bfloat16, torch.float16
PACKED = [0, 70, 70, 71, 150]

PREFILL = {
    "packed, empty, one token": {"tokens": 150, "offsets": PACKED, "padding": True},
    "grouped heads": {"tokens": 70, "value_heads": 3, "value_width": 64, "dtype": BF16},
    "bounded gate": {"batch": 2, "tokens": 65, "dtype": BF16, "lower_bound": -5.0},
    "log decay, raw beta, strong": {"batch": 2, "tokens": 33, "gated": False, "normalized": False, "raw_beta": True, "dtype": FP16},
    "one token": {"tokens": 1, "heads": 2, "value_heads": 2},
    "wide": {"tokens": 40, "width": 256, "value_width": 32, "dtype": BF16},
    "gate longer than q": {"tokens": 50, "extra": 6},
    "tail that no sequence claims": {"tokens": 150, "offsets": [0, 10, 140], "dtype": BF16},
    "not normalized": {"tokens": 66, "normalized": False, "dtype": BF16},
    "strong decay": {"tokens": 130, "strength": 30.0},
}  # fmt: skip
BOUND = {torch.float32: 1e-5, BF16: 6e-3, FP16: 1e-3}


@pytest.mark.parametrize("options", PREFILL.values(), ids=PREFILL)
def test_prefill(interpreted, options):
    call = prefill(**options)
    mine, theirs = copied(call), copied(call)
    out, _ = chunks.launch(*mine.values())
    expected = reference.chunk_kda(**theirs, dtype=torch.float64)
    bound = BOUND[call["q"].dtype]
    assert error(out, expected) < bound
    assert error(mine["initial_state"], theirs["initial_state"]) < bound
    for name in ("q", "k", "v", "g", "beta"):
        assert torch.equal(mine[name], call[name]), f"{name} was written"


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
@pytest.mark.parametrize("offsets", [None, PACKED])
def test_intermediate_and_tracked_states(interpreted, offsets, dtype):
    call = prefill(tokens=150, offsets=offsets, dtype=dtype)
    sequences = 1 if offsets is None else len(offsets) - 1
    call["output_intermediate_states"] = True
    call["track_state"] = torch.zeros(sequences, 1, 32, 32)
    call["track_chunk_idx"] = torch.tensor([1, 0, 5, -1][:sequences], dtype=torch.int32)
    mine, theirs = copied(call), copied(call)
    out, states = chunks.launch(*mine.values())
    expected, before = reference.chunk_kda(**theirs, dtype=torch.float64)
    assert states is not None
    assert states.shape == before.shape
    assert error(out, expected) < BOUND[dtype]
    assert error(states, before) < BOUND[dtype]
    assert error(mine["track_state"], theirs["track_state"]) < BOUND[dtype]


def test_strided_operands(interpreted):
    call = prefill(tokens=70, heads=2, value_heads=2, dtype=BF16)
    mine, theirs = copied(call), copied(call)
    wide = torch.randn(1, 70, 2, 96, dtype=BF16)
    for i, name in enumerate(("q", "k", "v")):
        wide[..., 32 * i : 32 * i + 32] = call[name]
        mine[name] = wide[..., 32 * i : 32 * i + 32]
    pool = torch.zeros(3, 2, 32, 64)
    pool[..., :32] = call["initial_state"]
    mine["initial_state"] = pool[..., :32]
    out, _ = chunks.launch(*mine.values())
    assert error(out, reference.chunk_kda(**theirs, dtype=torch.float64)) < BOUND[BF16]
    assert error(mine["initial_state"], theirs["initial_state"]) < BOUND[BF16]


DECODE = {
    "float32": {},
    "grouped heads, bf16": {"heads": 1, "value_heads": 2, "dtype": BF16},
    "bf16 state": {"dtype": BF16, "state": BF16, "value_width": 32},
}


@pytest.fixture
def body(request, monkeypatch):
    """The function that a kernel's default configuration names, where not the kernel's own."""
    if request.param:
        name = request.param.rpartition("_")[0]
        monkeypatch.setitem(configs.DEFAULT, name, configs.DEFAULT[name] | {"body": request.param})


@pytest.mark.parametrize("body", ["", "packed_decode_streamed"], indirect=True)
@pytest.mark.parametrize("lower_bound", [None, -5.0])
@pytest.mark.parametrize("options", DECODE.values(), ids=DECODE)
def test_packed_decode(interpreted, body, options, lower_bound):
    call = decode(**options)
    mine, theirs = copied(call), copied(call)
    theirs["initial_state"] = theirs["initial_state"].double()
    theirs["out"] = theirs["out"].double()
    steps.launch_packed_decode(**mine, normalize=True, lower_bound=lower_bound)
    reference.packed_decode(
        **theirs, use_qk_l2norm_in_kernel=True, lower_bound=lower_bound, dtype=torch.float64
    )
    assert error(mine["out"], theirs["out"]) < BOUND[call["out"].dtype]
    assert (
        error(mine["initial_state"], theirs["initial_state"]) < BOUND[call["initial_state"].dtype]
    )


@pytest.mark.parametrize("body", ["", "replayssm_decode_apart"], indirect=True)
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("length", [1, 4, 5])
@pytest.mark.parametrize("options", DECODE.values(), ids=DECODE)
def test_replayssm_decode(interpreted, body, options, length, forced):
    call = replay(length, **options)
    flags = torch.tensor([0, 0, 1, 0], dtype=torch.int32) if forced else None
    mine, theirs = copied(call), copied(call)
    for name in ("initial_state", "d_cache", "k_cache", "g_cache", "out"):
        theirs[name] = theirs[name].double()
    steps.launch_replayssm_decode(**mine, force_flush=flags, normalize=True, lower_bound=None)
    reference.replayssm_decode(
        **theirs, force_flush=flags, use_qk_l2norm_in_kernel=True, dtype=torch.float64
    )
    for name in ("out", "initial_state", "d_cache", "k_cache", "g_cache"):
        assert error(mine[name], theirs[name]) < BOUND[call[name].dtype], name


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_verify(interpreted, dtype, tree):
    call = candidates(dtype=dtype, tree=tree)
    mine, theirs = copied(call), copied(call)
    committed = call["ssm_states"].clone()
    out = steps.launch_verify(*mine.values())
    expected = reference.verify(**theirs, dtype=torch.float64)
    assert error(out, expected) < BOUND[dtype]
    assert error(mine["intermediate_states_buffer"], theirs["intermediate_states_buffer"]) < 1e-5
    assert torch.equal(mine["ssm_states"], committed)
