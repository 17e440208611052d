from __future__ import annotations

import itertools

import pytest
import torch

from kdacheck.kernels import reference

from .cases import copied, decode, error, prefill, replay

DOUBLE = torch.float64


@pytest.mark.parametrize("strength", [0.1, 3.0, 300.0])
@pytest.mark.parametrize("tokens", [1, 63, 130])
def test_chunks_equal_the_recurrence(tokens, strength):
    call = prefill(tokens=tokens, value_heads=2, value_width=64, strength=strength)
    mine, theirs = copied(call), copied(call)
    by_chunks = reference.chunk_kda(**mine, dtype=DOUBLE)
    by_tokens = reference.chunk_kda(**theirs, dtype=DOUBLE, token_by_token=True)
    assert error(by_chunks, by_tokens) < 1e-12
    assert error(mine["initial_state"], theirs["initial_state"]) < 1e-6  # float32 pool


def test_gradients_of_chunks_equal_those_of_the_recurrence():
    q, k, v, g = (torch.randn(20, 2, 8, dtype=DOUBLE) for _ in range(4))
    inputs = [q, reference.l2_normalized(k), v, -g.abs() * 5, torch.rand(20, 2, dtype=DOUBLE)]
    state = torch.randn(2, 8, 8, dtype=DOUBLE)
    gradients = []
    for form in (reference.recurrent, lambda *a: reference.chunked(*a, chunk=8)):
        leaves = [x.clone().requires_grad_() for x in (*inputs, state)]
        q, k, v, g, beta, before = leaves
        out, last, *_ = form(q, k, v, g, beta, 0.3, before)
        (out.sin().sum() + last.cos().sum()).backward()
        gradients.append([x.grad for x in leaves])
    for mine, theirs in zip(*gradients, strict=True):
        assert error(mine, theirs) < 1e-10


def test_packed_equals_dense_sequence_by_sequence():
    offsets = [0, 5, 5, 70, 71]
    call = prefill(tokens=71, offsets=offsets, padding=True)
    whole = copied(call)
    out = reference.chunk_kda(**whole, dtype=DOUBLE)
    for n, (begin, end) in enumerate(itertools.pairwise(offsets)):
        part = copied(call)
        for name in ("q", "k", "v", "g", "beta"):
            part[name] = part[name][:, begin:end]
        part["initial_state_indices"] = part["initial_state_indices"][n : n + 1]
        part["cu_seqlens"] = None
        assert error(reference.chunk_kda(**part, dtype=DOUBLE), out[:, begin:end]) < 1e-12
    untouched = sorted(set(range(6)) - set(call["initial_state_indices"].tolist()))
    assert torch.equal(whole["initial_state"][untouched], call["initial_state"][untouched])


def test_decode_is_prefill_of_one_token():
    call = decode(heads=1, value_heads=2)
    q, k, v = reference.split_packed(call["mixed_qkv"], 2, 64, 32)
    pool = call["initial_state"].clone()
    out = reference.chunk_kda(
        q[:, None], k[:, None], v[:, None], call["a"].view(-1, 1, 2, 32), call["b"][:, None],
        initial_state=pool, initial_state_indices=call["ssm_state_indices"], A_log=call["A_log"],
        dt_bias=call["dt_bias"], beta_is_raw=True,
    )  # fmt: skip
    mine, _ = reference.packed_decode(**call)
    kept = call["ssm_state_indices"] >= 0
    assert error(mine[kept], out[kept]) < 1e-6
    assert not mine[~kept].any()
    assert error(call["initial_state"], pool) < 1e-6


def test_replayed_steps_equal_plain_steps():
    call = replay(length=3, rows=3)
    call["write_pos"].zero_()
    call["ssm_state_indices"] = torch.tensor([3, -1, 0], dtype=torch.int32)
    rings = ("d_cache", "k_cache", "g_cache", "write_pos")
    pool = call["initial_state"].double()
    call["initial_state"] = pool.clone()
    for step in range(7):
        fresh = decode(rows=3)
        for name in ("mixed_qkv", "a", "b"):
            call[name] = fresh[name]
        out, _ = reference.replayssm_decode(**call, use_qk_l2norm_in_kernel=True, dtype=DOUBLE)
        plain = {n: x for n, x in call.items() if n not in rings} | {"initial_state": pool}
        plain["out"] = torch.empty_like(call["out"])
        expected, _ = reference.packed_decode(**plain, use_qk_l2norm_in_kernel=True, dtype=DOUBLE)
        assert error(out, expected) < 1e-5
        call["write_pos"] = torch.full_like(call["write_pos"], (step + 1) % 3)
