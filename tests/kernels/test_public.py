from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import kdacheck
from kdacheck import kernels
from kdacheck.kernels import reference

from .cases import candidates, copied, decode, error, prefill, replay


def test_importing_needs_neither_gpu_nor_helion():
    code = "import sys, kdacheck.kernels; print(sorted({'helion', 'triton'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_cpu_tensors_take_the_reference():
    call = prefill(tokens=70, value_heads=2)
    mine, theirs = copied(call), copied(call)
    assert torch.equal(kernels.chunk_kda(**mine), reference.chunk_kda(**theirs))
    assert torch.equal(mine["initial_state"], theirs["initial_state"])
    assert torch.equal(mine["v"], call["v"])


@pytest.mark.parametrize("packed", [False, True])
def test_prefill_compiles_whole(packed):
    call = prefill(tokens=70, offsets=[0, 3, 70] if packed else None)
    call["output_intermediate_states"] = True
    mine, theirs = copied(call), copied(call)
    compiled = torch.compile(
        lambda **a: kernels.chunk_kda(**a), fullgraph=True, backend="aot_eager"
    )
    out, states = compiled(**mine)
    expected, before = kernels.chunk_kda(**theirs)
    assert torch.equal(out, expected)
    assert torch.equal(states, before)
    assert torch.equal(mine["initial_state"], theirs["initial_state"])


@pytest.mark.parametrize(
    ("name", "make"),
    [("packed_decode", decode), ("replayssm_decode", replay), ("verify", candidates)],
)
def test_steps_compile_whole(name, make):
    function = getattr(kernels, name)
    call = make()
    mine, theirs = copied(call), copied(call)
    compiled = torch.compile(lambda **a: function(**a), fullgraph=True, backend="aot_eager")
    result, expected = compiled(**mine), function(**theirs)
    if name == "verify":
        assert torch.equal(result, expected)
    for key, x in mine.items():
        if isinstance(x, torch.Tensor):
            assert torch.equal(x, theirs[key]), key


def test_meta_tensors_have_the_shape_of_the_result():
    call = prefill(tokens=70, value_heads=2, value_width=64)
    call = {n: x.to("meta") if isinstance(x, torch.Tensor) else x for n, x in call.items()}
    assert kernels.chunk_kda(**call).shape == (1, 70, 2, 64)


OUTSIDE = {
    "HV must be a multiple": lambda c: c.update(v=torch.randn(1, 70, 3, 32)),
    "g must cover": lambda c: c.update(g=c["g"][:, :69]),
    "beta must cover": lambda c: c.update(beta=c["beta"][..., :1]),
    "packed batch of 1": lambda c: c.update(cu_seqlens=torch.zeros(2, 2, dtype=torch.int32)),
    "A_log must be": lambda c: c.update(A_log=torch.rand(3)),
    "dt_bias must have": lambda c: c.update(dt_bias=torch.rand(63)),
    "initial_state must be": lambda c: c.update(initial_state=torch.rand(3, 2, 32, 33)),
    "initial_state_indices must be": lambda c: c.update(
        initial_state_indices=torch.zeros(2, dtype=torch.int32)
    ),
    "initial_state has 0 slots": lambda c: c.update(
        initial_state=c["initial_state"][:0], initial_state_indices=None
    ),
    "track_state must be": lambda c: c.update(
        track_state=torch.zeros(2, 2, 32, 32), track_chunk_idx=torch.zeros(1, dtype=torch.int32)
    ),
    "must have one of": lambda c: c.update({n: c[n].double() for n in "qkv"}),
}


@pytest.mark.parametrize("message", OUTSIDE)
def test_prefill_stays_inside_its_tensors_without_contracts(message):
    call = prefill(heads=2, value_heads=2)
    OUTSIDE[message](call)
    with kdacheck.checking("off"), pytest.raises(ValueError, match=message):
        kernels.chunk_kda(**call)


def test_replayssm_decode_stays_inside_its_rings_without_contracts():
    call = replay()
    call["g_cache"] = call["g_cache"][:-1]
    with kdacheck.checking("off"), pytest.raises(ValueError, match="rings must be"):
        kernels.replayssm_decode(**call)


def test_compiled_results_are_right():
    call = prefill(tokens=33)
    expected = reference.chunk_kda(**copied(call), dtype=torch.float64, token_by_token=True)
    assert error(kernels.chunk_kda(**call), expected) < 1e-5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("name", "make"), [("packed_decode", decode), ("replayssm_decode", replay)]
)
def test_later_launches_take_the_tensors_of_their_own_call(name, make):
    for turn in range(4):
        call = {n: x.cuda() if isinstance(x, torch.Tensor) else x for n, x in make().items()}
        if turn == 2:  # not a multiple of 16 bytes, which compiled code may rely on
            room = torch.empty(call["a"].numel() + 1, device="cuda", dtype=call["a"].dtype)
            call["a"] = room[1:].view_as(call["a"]).copy_(call["a"])
        theirs = copied(call)
        getattr(kernels, name)(**call)
        getattr(reference, name)(**theirs, dtype=torch.float64)
        assert error(call["out"], theirs["out"]) < 1e-5
        assert error(call["initial_state"], theirs["initial_state"]) < 1e-5
