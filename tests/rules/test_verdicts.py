"""What each rule says of calls built by hand: the law broken, kept, and unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kdacheck.contracts import tags
from kdacheck.facts import Dim, TensorFacts, Unknown
from kdacheck.facts.dims import symbol

from .conftest import FLA, HELION, offsets, tensor

Codes = Callable[..., list[str]]

P = "sglang.kernels.ops.attention"
PACKED = f"{P}.helion.kda_decode.helion_fused_recurrent_kda_packed_decode"
REPLAY = f"{P}.helion.kda_replayssm.helion_fused_recurrent_kda_replayssm_decode"
TRITON_REPLAY = (
    f"{P}.linear.fused_recurrent_linear_replayssm.fused_recurrent_linear_replayssm_decode"
)
VERIFY = f"{P}.helion.kda_verify.helion_kda_verify"
TRITON = f"{P}.fla.kda.chunk_kda"
SIGMOID = f"{P}.linear.fused_sigmoid_gating_recurrent.fused_sigmoid_gating_delta_rule_update"
FLASH = "flash_kda.fwd"
STRICT = "examples.linear.linear_attention_engine.helion_chunk_kda"
GYM = "attn_gym.linear.kda.chunk_kda"
RECURRENT = "fla.ops.kda.fused_recurrent_kda"
GDN = "fla.ops.gated_delta_rule.chunk_gated_delta_rule"
GDN_RECURRENT = "fla.ops.gated_delta_rule.fused_recurrent_gated_delta_rule"
CONV = "fla.modules.ShortConvolution.forward"


def operands(
    batch: int = 1,
    tokens: int = 64,
    heads: int = 4,
    value_heads: int = 4,
    key: Dim = 32,
    value: int = 32,
) -> dict[str, Any]:
    return {
        "q": tensor(batch, tokens, heads, key),
        "k": tensor(batch, tokens, heads, key),
        "v": tensor(batch, tokens, value_heads, value),
        "g": tensor(batch, tokens, value_heads, key),
        "beta": tensor(batch, tokens, value_heads),
    }


def pool_call(**changes: Any) -> dict[str, Any]:
    """A right call of the SGLang prefill kernels."""
    right = operands() | {
        "initial_state": tensor(16, 4, 32, 32),
        "initial_state_indices": tensor(1, dtype="int32"),
    }
    return right | changes


def packed(**changes: Any) -> dict[str, Any]:
    """A right call of packed decode: 4 rows, 8 value heads over 4 key heads."""
    right = {
        "mixed_qkv": tensor(4, 2 * 4 * 64 + 8 * 32),
        "a": tensor(4, 8 * 64),
        "b": tensor(4, 8),
        "A_log": tensor(8),
        "dt_bias": tensor(8 * 64),
        "scale": 0.125,
        "initial_state": tensor(16, 8, 32, 64),
        "out": tensor(4, 1, 8, 32),
        "ssm_state_indices": tensor(4, dtype="int32"),
    }
    return right | changes


def replay(**changes: Any) -> dict[str, Any]:
    """A right call of ReplaySSM decode."""
    return (
        packed(
            d_cache=tensor(16, 8, 6, 32),
            k_cache=tensor(16, 4, 6, 64),
            g_cache=tensor(16, 8, 6, 64, dtype="float32"),
            write_pos=tensor(4, dtype="int32"),
        )
        | changes
    )


def flash(**changes: Any) -> dict[str, Any]:
    """A right call of FlashKDA."""
    bf16: dict[str, Any] = {"dtype": "bfloat16", "device": "cuda"}
    right = {
        **{name: tensor(2, 64, 4, 128, **bf16) for name in ("q", "k", "v", "g", "out")},
        "beta": tensor(2, 64, 4, **bf16),
        "scale": 0.088,
        "A_log": tensor(4, dtype="float32", device="cuda"),
        "dt_bias": tensor(4, 128, dtype="float32", device="cuda"),
        "lower_bound": -5.0,
    }
    return right | changes


def flash_packed(**changes: Any) -> dict[str, Any]:
    flat = flash()
    for name in ("q", "k", "v", "g", "out"):
        flat[name] = tensor(1, 128, 4, 128, dtype="bfloat16", device="cuda")
    flat["beta"] = tensor(1, 128, 4, dtype="bfloat16", device="cuda")
    return flat | {"cu_seqlens": offsets(0, 100, 128, device="cuda")} | changes


def gated(**changes: Any) -> dict[str, Any]:
    return (
        operands(key=32, heads=2)
        | {"use_gate_in_kernel": True, "A_log": tensor(4), "dt_bias": tensor(128)}
        | changes
    )


UNKNOWN = Unknown()
SOMETHING = Unknown(not_none=True)

RIGHT = [
    (FLA, operands(batch=4)),
    (FLA, operands() | {"cu_seqlens": offsets(0, 10, 64)}),
    (FLA, operands(heads=2, value_heads=8)),
    (FLA, operands(batch=4) | {"initial_state": tensor(4, 4, 32, 32, dtype="float32")}),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 64, 32), "state_v_first": True}),
    (FLA, operands() | {"cu_seqlens": offsets(0, 9, 64), "initial_state": tensor(2, 4, 32, 32)}),
    (FLA, gated()),
    (FLA, gated(A_log=tensor(1, 1, 4, 1), dt_bias=tensor(4, 32))),
    (FLA, gated(dt_bias=tensor(4, 32, strides=(1, 4)))),
    (FLA, gated(safe_gate=True, lower_bound=-5.0)),
    (FLA, operands() | {"safe_gate": True}),
    (FLA, operands() | {"chunk_size": 32, "beta": tensor(1, 64, 4)}),
    (FLA, operands(key=256)),
    (FLA, operands(key=symbol("k", 64, 512))),
    (FLA, operands() | {"initial_state": tensor(1, 4, 32, 32, tags=frozenset((tags.HEAD_FIRST,)))}),
    (SIGMOID, {"q": tensor(1, 64, 4, 32), "v": tensor(1, 64, 4, 32), "A_log": tensor(4), "dt_bias": tensor(4)}),
    (RECURRENT, operands() | {"beta": tensor(1, 64, 4, 32)}),
    (GDN, operands() | {"g": tensor(1, 64, 4), "use_gate_in_kernel": True, "A_log": tensor(4), "dt_bias": tensor(4)}),
    (HELION, pool_call()),
    (HELION, pool_call(initial_state_indices=tensor(1, dtype="int32", values=(0,)))),
    (HELION, pool_call(dt_bias=tensor(4, 32, strides=(1, 4)), A_log=tensor(4))),
    (HELION, pool_call(dt_bias=tensor(4 * 32 + 5), A_log=tensor(9))),
    (HELION, pool_call(g=tensor(1, 80, 4, 32), beta=tensor(1, 70, 4))),
    (HELION, pool_call(track_state=tensor(1, 4, 32, 32), track_chunk_idx=tensor(1, dtype="int64"))),
    (TRITON, pool_call(use_qk_l2norm_in_kernel=True, q=tensor(1, 64, 4, 32, strides=(9, 256, 32, 1)))),
    (PACKED, packed()),
    (PACKED, packed(mixed_qkv=tensor(4, 768, strides=(900, 1)), a=tensor(4, 512, strides=(600, 1)))),
    (PACKED, packed(initial_state=tensor(16, 8, 32, 64, strides=(99999, 2048, 64, 1)))),
    (REPLAY, replay()),
    (REPLAY, replay(dt_bias=tensor(8, 64), a=tensor(4, 8, 64), force_flush=tensor(4, dtype="int32"))),
    (TRITON_REPLAY, replay(dt_bias=tensor(8, 64), a=tensor(4, 8, 64), is_kda=True)),
    (TRITON_REPLAY, replay(dt_bias=tensor(8), a=tensor(4, 8), g_cache=tensor(16, 8, 6))),
    (STRICT, {"cu_seqlens": offsets(0, 30, 64)}),
    (PACKED, {"out": tensor(4, 1, 8, 1)}),
    (FLASH, flash()),
    (FLASH, flash_packed()),
    (FLASH, flash(initial_state=tensor(2, 4, 128, 128, dtype="bfloat16"))),
    (CONV, {"x": tensor(1, 32, 16), "mask": UNKNOWN, "cu_seqlens": offsets(0, 32)}),
    (GYM, {
        **{name: tensor(1, 64, 4, 32) for name in ("q", "k", "v", "gate")},
        "beta": tensor(1, 64, 4),
        "cu_seqlens": offsets(0, 11, 27, 27, dtype="int32"),
    }),
    (GYM, {"q": tensor(1, 64, 4, 32), "cu_seqlens": offsets(0, 64, dtype="int32")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "arguments"), RIGHT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_right_call_is_silent(codes: Codes, path: str, arguments: dict[str, Any]) -> None:
    assert codes(path, **arguments) == []


@pytest.mark.parametrize(
    ("path", "arguments"), RIGHT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_unknown_is_silent(codes: Codes, path: str, arguments: dict[str, Any]) -> None:
    for name, value in arguments.items():
        if isinstance(value, TensorFacts):
            assert codes(path, **(arguments | {name: UNKNOWN})) == []
            assert codes(path, **(arguments | {name: SOMETHING})) == []
            assert codes(path, **(arguments | {name: TensorFacts()})) == []
            blurred = value.with_(
                shape=tuple(symbol("n", 1) for _ in value.shape or ()), strides=None, dense=None
            )
            assert codes(path, **(arguments | {name: blurred.with_(values=None)})) == []


ROWS = operands(batch=2)
CU = {"cu_seqlens": offsets(0, 100, 128)}

WRONG = [
    # KDA001
    (FLA, ROWS | CU, ["KDA001"]),
    (FLA, ROWS | {"cu_seqlens": offsets(0, 9)}, ["KDA001"]),
    (FLA, operands(tokens=128) | {"v": tensor(2, 64, 4, 32)} | CU, ["KDA001"]),
    (FLA, operands(tokens=128) | {"g": tensor(2, 64, 4, 32), "beta": tensor(2, 64, 4)} | CU, ["KDA001"]),
    (FLA, {"q": TensorFacts(partial={0: 2}), "cu_seqlens": SOMETHING}, ["KDA001"]),
    (FLA, ROWS | {"k": tensor(2, 64, 2, 32)} | CU, ["KDA001", "KDA203"]),
    (HELION, pool_call(**ROWS, initial_state_indices=tensor(2, dtype="int32")) | CU | {"g": tensor(2, 60, 4, 32)}, ["KDA001"]),
    # KDA002
    (FLA, operands() | {"g": tensor(1, 64, 4, 32, tags=frozenset((tags.BATCH_CUT,)))} | {"cu_seqlens": SOMETHING}, ["KDA002"]),
    (CONV, {"x": TensorFacts(tags=frozenset((tags.BATCH_CUT,)))}, ["KDA002"]),
    # KDA004
    (CONV, {"x": tensor(1, 32, 16), "mask": tensor(1, 32), "cu_seqlens": offsets(0, 32)}, ["KDA004"]),
    # KDA101
    (TRITON, pool_call(A_log=tensor(4), dt_bias=tensor(128, strides=(2,))), ["KDA101"]),
    (TRITON, pool_call(A_log=tensor(4, strides=(3,)), dt_bias=tensor(128)), ["KDA101"]),
    (TRITON, pool_call(A_log=tensor(4), dt_bias=TensorFacts(dense=False)), ["KDA101"]),
    (PACKED, packed(dt_bias=tensor(512, strides=(0,))), ["KDA101"]),
    (SIGMOID, {"dt_bias": tensor(2, symbol("n") - 1, strides=(0, 1)), "is_kda": True}, ["KDA101"]),
    (SIGMOID, {"A_log": tensor(8, strides=(3,)), "is_kda": True}, ["KDA101"]),
    (FLASH, flash(dt_bias=tensor(4, 128, strides=(1, 4), dtype="float32", device="cuda")), ["KDA101"]),
    (TRITON_REPLAY, replay(is_kda=True, a=tensor(4, 8, 64), dt_bias=tensor(8, 64, strides=(0, 1))), ["KDA101"]),
    # KDA102, and KDA101 as well where an expanded size is known to exceed 1
    (PACKED, packed(dt_bias=tensor(8, 64)), ["KDA102"]),
    (FLASH, flash(dt_bias=tensor(512, dtype="float32", device="cuda")), ["KDA102"]),
    (REPLAY, replay(dt_bias=tensor(1, 8, 64)), ["KDA102"]),
    (REPLAY, replay(dt_bias=tensor(4, 8, 64, strides=(0, 64, 1))), ["KDA101", "KDA102"]),
    (REPLAY, replay(dt_bias=tensor(4, symbol("h", 1), symbol("k", 1), strides=(0, None, None))), ["KDA101", "KDA102"]),
    (TRITON_REPLAY, replay(is_kda=True, a=tensor(4, 8, 64), dt_bias=tensor(512)), ["KDA102"]),
    # KDA103
    (FLA, gated(dt_bias=tensor(4)), ["KDA103"]),
    (FLA, gated(A_log=tensor(2), dt_bias=tensor(64)), ["KDA103", "KDA103"]),
    (GDN, operands() | {"g": tensor(1, 64, 4), "use_gate_in_kernel": True, "A_log": tensor(4), "dt_bias": tensor(128)}, ["KDA103"]),
    (PACKED, packed(dt_bias=tensor(500)), ["KDA103"]),
    (HELION, pool_call(A_log=tensor(4), dt_bias=tensor(127)), ["KDA103"]),
    (PACKED, packed(dt_bias=tensor(1)), ["KDA103"]),
    (SIGMOID, {"q": tensor(1, 64, 4, 32), "v": tensor(1, 64, 4, 32), "A_log": tensor(4), "dt_bias": tensor(4), "is_kda": True}, ["KDA103"]),
    (FLASH, flash(dt_bias=tensor(8, 128, dtype="float32", device="cuda")), ["KDA103"]),
    # KDA104
    (FLA, operands() | {"g": tensor(1, 64, 4)}, ["KDA104"]),
    (FLA, operands() | {"beta": tensor(1, 64, 4, 1)}, ["KDA104"]),
    (FLA, operands(heads=2) | {"g": tensor(1, 64, 2, 32), "beta": tensor(1, 64, 2)}, ["KDA104", "KDA104"]),
    (FLA, operands() | {"g": tensor(1, 64, 4, 16)}, ["KDA104"]),
    # KDA105
    (FLA, operands() | {"A_log": tensor(4), "dt_bias": tensor(128)}, ["KDA105"]),
    (FLA, operands() | {"A_log": UNKNOWN}, ["KDA105"]),
    (FLA, operands() | {"A_log": 0.5}, ["KDA105"]),
    (FLA, operands() | {"dt_bias": tensor(100)}, ["KDA105"]),
    (HELION, pool_call(dt_bias=tensor(128)), ["KDA105"]),
    (TRITON, pool_call(dt_bias=tensor(128, strides=(2,))), ["KDA105"]),
    # KDA106
    (FLASH, flash(A_log=tensor(4, dtype="bfloat16", device="cuda")), ["KDA106"]),
    # KDA201
    (TRITON, pool_call(q=tensor(1, 64, 4, 32, strides=(24576, 384, 32, 1))), ["KDA201"]),
    (PACKED, packed(out=tensor(4, 1, 8, 32, strides=(512, 256, 32, 1))), ["KDA201"]),
    (PACKED, packed(a=tensor(4, 512, strides=(1024, 2))), ["KDA201"]),
    (FLASH, flash(q=tensor(2, 64, 4, 128, strides=(32768, 128, 8192, 1), dtype="bfloat16", device="cuda")), ["KDA201"]),
    (TRITON_REPLAY, replay(is_kda=True, a=tensor(4, 8, 64), dt_bias=tensor(8, 64), k_cache=tensor(16, 4, 6, 64, strides=(9999, 384, 64, 1))), ["KDA201"]),
    # KDA202
    (FLA, {"q": TensorFacts(tags=frozenset((tags.HEAD_FIRST,)))}, ["KDA202"]),
    (FLA, {"beta": TensorFacts(tags=frozenset((tags.HEAD_FIRST,)))}, ["KDA202"]),
    (FLA, {name: TensorFacts(tags=frozenset((tags.HEAD_FIRST,))) for name in ("q", "k")}, ["KDA202"]),
    # KDA203
    (FLA, operands() | {"k": tensor(1, 64, 2, 32)}, ["KDA203"]),
    (FLA, operands() | {"k": tensor(1, 60, 2, 32)}, ["KDA203"]),
    (FLA, operands(heads=4, value_heads=6), ["KDA203"]),
    (FLA, operands(heads=4, value_heads=1), ["KDA203"]),
    (FLA, operands(key=512), ["KDA203"]),
    (FLA, operands(key=257), ["KDA203"]),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 48, 48)}, ["KDA203"]),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 48, 32)}, ["KDA203"]),
    (FLA, operands() | {"initial_state": TensorFacts(partial={1: 5})}, ["KDA203"]),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 5, 64, 32), "state_v_first": UNKNOWN}, ["KDA203"]),
    (FLA, operands() | {"g": tensor(1, 60, 4, 32)}, ["KDA203"]),
    (FLA, operands() | {"v": tensor(2, 64, 4, 32), "cu_seqlens": UNKNOWN}, ["KDA203"]),
    (FLASH, flash(out=tensor(2, 32, 4, 128, dtype="bfloat16", device="cuda")), ["KDA203"]),
    (HELION, pool_call(g=tensor(1, 63, 4, 32)), ["KDA203"]),
    (HELION, pool_call(g=tensor(2, 60, 4, 32)), ["KDA203"]),
    (PACKED, {"initial_state": tensor(16, 8, 48, 96)}, ["KDA203"]),
    (PACKED, {"out": tensor(4, 1, 8, 0)}, ["KDA203"]),
    (PACKED, {"out": tensor(4, 1, 8, 48)}, ["KDA203"]),
    (HELION, pool_call(g=tensor(1, 1, 4, 32)), ["KDA203"]),
    (PACKED, packed(mixed_qkv=tensor(4, 700)), ["KDA203"]),
    (PACKED, packed(a=tensor(4, 500)), ["KDA203"]),
    (PACKED, packed(initial_state=tensor(16, 8, 32, 48), a=tensor(4, 384), dt_bias=tensor(384), mixed_qkv=UNKNOWN), ["KDA203"]),
    # KDA204
    (FLA, {"q": tensor(64, 4, 32), "k": tensor(64, 4, 32)}, ["KDA204", "KDA204"]),
    (PACKED, packed(mixed_qkv=tensor(4, 1, 768)), ["KDA204"]),
    # KDA205
    (FLASH, flash(q=tensor(2, 64, 4, 128, dtype="float32", device="cuda")), ["KDA205"]),
    (FLA, operands() | {"q": tensor(1, 64, 4, 32, dtype="int64")}, ["KDA205"]),
    # KDA206
    (FLASH, flash_packed(cu_seqlens=offsets(0, 100, 128, device="cpu")), ["KDA206"]),
    (PACKED, packed(mixed_qkv=tensor(4, 768, device="cuda:0"), ssm_state_indices=tensor(4, dtype="int32", device="cuda:1")), ["KDA206"]),
    # KDA301
    (FLA, {"cu_seqlens": offsets(5, 7, 4)}, ["KDA301"]),
    (FLA, {"cu_seqlens": offsets(5, 7, 9, tags=frozenset(("difference",)))}, ["KDA301"]),
    (FLA, operands() | {"initial_state": tensor(3, 4, 32, 32), "cu_seqlens": tensor(3, dtype="int64", tags=frozenset(("difference",)))}, ["KDA301"]),
    # KDA302
    (FLA, operands() | {"initial_state": tensor(3, 4, 32, 32), "cu_seqlens": offsets(9, 20, 60)}, ["KDA302"]),
    # KDA303
    (FLA, {"cu_seqlens": offsets(0, 2, 6, 8, tags=frozenset((tags.DIVIDED,)))}, ["KDA303"]),
    # KDA304
    (FLASH, flash_packed(cu_seqlens=offsets(0, 100, 128, dtype="int32", device="cuda")), ["KDA304"]),
    (GYM, {"cu_seqlens": tensor(3, dtype="int64")}, ["KDA304"]),
    (FLA, {"cu_seqlens": tensor(3, dtype="float32")}, ["KDA304"]),
    # KDA305
    (FLA, {"cu_seqlens": tensor(2, 3, dtype="int64")}, ["KDA305"]),
    (FLA, {"cu_seqlens": offsets(0)}, ["KDA305"]),
    (FLA, operands() | {"cu_seqlens": offsets(0, 16, tags=frozenset((tags.ONE_ROW,)))}, ["KDA305"]),
    # KDA306
    (FLA, operands() | {"cu_seqlens": offsets(0, 32, 70)}, ["KDA306"]),
    (FLA, operands() | {"cu_seqlens": offsets(0, 32, 60)}, ["KDA306"]),
    (GYM, {"q": tensor(1, 64, 4, 32), "cu_seqlens": offsets(0, 65, dtype="int32")}, ["KDA306"]),
    (GYM, {"q": tensor(1, symbol("t", 1, 64), 4, 32), "cu_seqlens": offsets(0, 65, dtype="int32")}, ["KDA306"]),
    (FLA, operands(tokens=1) | {"cu_seqlens": offsets(0, 2)}, ["KDA306"]),
    # KDA307
    (FLASH, flash_packed(cu_seqlens=tensor(3, strides=(2,), dtype="int64", device="cuda")), ["KDA307"]),
    # KDA308
    (FLA, operands() | {"cu_seqlens": offsets(0, 30, 20, 64)}, ["KDA308"]),
    (STRICT, {"cu_seqlens": offsets(0, 30, 30, 64)}, ["KDA308"]),
    # KDA401
    (FLA, operands() | {"cu_seqlens": offsets(0, 9, 64), "initial_state": tensor(1, 4, 32, 32)}, ["KDA401"]),
    (FLA, operands(batch=4) | {"initial_state": tensor(1, 4, 32, 32)}, ["KDA401"]),
    (HELION, pool_call(cu_seqlens=offsets(0, 9, 64)), ["KDA401"]),
    (PACKED, packed(ssm_state_indices=tensor(3, dtype="int32")), ["KDA401"]),
    (FLA, operands() | {"initial_state": tensor(3, 4, 32, 32)}, ["KDA401"]),
    (FLA, operands() | {"cu_seqlens": offsets(0, 64), "initial_state": tensor(3, 4, 32, 32)}, ["KDA401"]),
    # KDA402
    (FLA, operands() | {"initial_state": tensor(1, 4, 32, 32, dtype="bfloat16")}, ["KDA402"]),
    (REPLAY, replay(g_cache=tensor(16, 8, 6, 64, dtype="bfloat16")), ["KDA402"]),
    (FLASH, flash(initial_state=tensor(2, 4, 128, 128, dtype="bfloat16"), final_state=tensor(2, 4, 128, 128, dtype="float32")), ["KDA402"]),
    (FLASH, flash(initial_state=tensor(2, 4, 128, 128, dtype="float16"), final_state=tensor(2, 4, 128, 128, dtype="float32")), ["KDA402"]),
    # KDA403
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 64, 32)}, ["KDA403"]),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 32, 64), "state_v_first": True}, ["KDA403"]),
    (PACKED, packed(initial_state=tensor(16, 8, 64, 32)), ["KDA403"]),
    (FLA, {"q": tensor(1, 64, 4, 32), "initial_state": tensor(1, 4, 64, 32)}, ["KDA403"]),
    (FLA, operands(value=64) | {"initial_state": tensor(1, 4, 64, 32, tags=frozenset((tags.V_FIRST,)))}, ["KDA403"]),
    (FLA, {"initial_state": TensorFacts(tags=frozenset((tags.V_FIRST,)))}, ["KDA403"]),
    (FLA, {"initial_state": TensorFacts(tags=frozenset((tags.K_FIRST,))), "state_v_first": True}, ["KDA403"]),
    # KDA404
    (HELION, operands() | {"initial_state": tensor(16, 4, 32, 32)}, ["KDA404"]),
    (HELION, operands(), ["KDA404"]),
    (HELION, pool_call(track_state=UNKNOWN), ["KDA404"]),
    # KDA405
    (PACKED, packed(ssm_state_indices=tensor(4, 1, dtype="int32")), ["KDA405"]),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="float32")), ["KDA405"]),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", tags=frozenset((tags.CLAMPED_PADDING,)))), ["KDA405"]),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", values=(0, 0, 1, 2), tags=frozenset((tags.CLAMPED,)))), ["KDA405"]),
    (HELION, pool_call(initial_state_indices=tensor(1, dtype="int32", tags=frozenset((tags.CLAMPED_PADDING,)))), ["KDA405"]),
    (HELION, pool_call(initial_state=tensor(1, 4, 32, 32), initial_state_indices=tensor(1, dtype="int32", values=(1,))), ["KDA405"]),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", values=(1, 2, 3, 16))), ["KDA405"]),
    (HELION, pool_call(initial_state_indices=tensor(1, dtype="int32", values=(-1,))), ["KDA405"]),
    (SIGMOID, {"initial_state_indices": tensor(8, strides=(2,), dtype="int32")}, ["KDA405"]),
    # KDA406
    (REPLAY, replay(k_cache=tensor(16, 4, 12, 64)), ["KDA406"]),
    (REPLAY, replay(d_cache=tensor(9, 8, 6, 32)), ["KDA406"]),
    (REPLAY, replay(write_pos=tensor(4, dtype="int64")), ["KDA406"]),
    (REPLAY, replay(write_pos=tensor(4, 1, dtype="int32")), ["KDA406"]),
    (REPLAY, replay(force_flush=tensor(3, dtype="int32")), ["KDA406"]),
    (TRITON_REPLAY, replay(dt_bias=tensor(8, 64), a=tensor(4, 8, 64), is_kda=True, write_pos=tensor(4, strides=(2,), dtype="int32")), ["KDA406"]),
    (REPLAY, replay(write_pos=tensor(4, dtype="int32", values=(0, 1, 5, 6))), ["KDA406"]),
    # KDA501
    (FLA, {"unknown_keywords": ("cu_seqlen",)}, ["KDA501"]),
    (GDN, {"unknown_keywords": ("head_first",)}, ["KDA501"]),
    (GYM, {"unknown_keywords": ("scale",)}, ["KDA501"]),
    (FLA, {"chunk_size": 48}, ["KDA501"]),
    # KDA503
    (FLA, operands() | {"use_gate_in_kernel": True}, ["KDA503"]),
    (FLA, gated(safe_gate=True), ["KDA503"]),
    (FLA, gated(safe_gate=True, lower_bound=-8.0), ["KDA503"]),
    (FLA, gated(safe_gate=True, lower_bound=0.0), ["KDA503"]),
    (FLA, operands() | {"allow_neg_eigval": True}, ["KDA503"]),
    (FLA, {"cp_context": SOMETHING, "initial_state": tensor(1, 4, 32, 32)}, ["KDA503"]),
    # KDA205
    (FLA, operands() | {"beta": None}, ["KDA205"]),
    (FLA, operands() | {"initial_state": 0.5}, ["KDA205"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "arguments", "expected"),
    WRONG,
    ids=[f"{'+'.join(dict.fromkeys(codes))}-{index}" for index, (_, _, codes) in enumerate(WRONG)],
)
def test_one_fault_one_code(
    codes: Codes, path: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    assert codes(path, **arguments) == expected


def test_every_rule_with_a_check_is_driven() -> None:
    from kdacheck.rules import catalogue

    # KDA003 judges what the code around a call tells, see the corpus.
    driven = {code for _, _, found in WRONG for code in found} | {"KDA003", "KDA502"}
    assert driven == {rule.code for rule in catalogue() if rule.check}


def test_positions_that_drifted(codes: Codes) -> None:
    five = (UNKNOWN,) * 5
    assert codes(RECURRENT, *five, 0.125) == ["KDA502"]
    assert codes(RECURRENT, *five, scale=0.125) == []
    assert codes(RECURRENT, *five, 0.125, version="0.4.1") == []
    assert codes(RECURRENT, *five, UNKNOWN) == []
    assert codes(FLA, *five, 0.125, None, True) == []
    assert codes(GDN_RECURRENT, *five) == ["KDA502"]
    assert codes(GDN_RECURRENT, *five[:4], beta=UNKNOWN) == []
    assert codes("fla.ops.kda.gate.fused_kda_gate", *five[:3], unknown_keywords=("g_bias",)) == ["KDA501"]  # fmt: skip
    assert codes(GYM, *five, None, extra_positional=1) == ["KDA502"]
    assert codes(VERIFY, extra_positional=1) == ["KDA502"]


def test_keywords_that_are_read_without_being_declared(codes: Codes) -> None:
    assert codes(FLA, unknown_keywords=("transpose_state_layout",)) == []


def test_one_zero_among_clamped_indices_is_a_slot(codes: Codes) -> None:
    for values in ((0, 1, 2, 3), (1, 2, 1, 3)):
        clamped = tensor(4, dtype="int32", values=values, tags=frozenset((tags.CLAMPED,)))
        assert codes(PACKED, **packed(ssm_state_indices=clamped)) == []


def test_the_release_decides(codes: Codes) -> None:
    bare = gated(A_log=None, dt_bias=None, lower_bound=-5.0)
    assert codes(FLA, **bare) == []
    assert codes(FLA, **bare, version="0.5.2") == ["KDA503"]
    assert codes(FLA, cu_seqlens=UNKNOWN, unknown_keywords=("state_v_first",), version="0.4.2") == ["KDA501"]  # fmt: skip
    assert codes(FLA, **operands(heads=2), version="0.5.0") == []
    assert "KDA203" in codes(FLA, **operands(heads=2), version="0.4.2")


def test_flags_may_be_zero_and_one(codes: Codes) -> None:
    state = {"initial_state": tensor(1, 4, 32, 64)}
    assert codes(FLA, **operands(value=64), **state, state_v_first=0) == []
    assert codes(FLA, **operands(value=64), **state, state_v_first=1) == ["KDA403"]


def test_flags_that_cannot_be_told_are_silent(codes: Codes) -> None:
    assert codes(FLA, **gated(use_gate_in_kernel=UNKNOWN, A_log=UNKNOWN, dt_bias=tensor(128))) == []
    assert codes(FLA, **operands(value=64), initial_state=tensor(1, 4, 64, 32), state_v_first=UNKNOWN) == []  # fmt: skip
    assert codes(FLA, complete=False, use_gate_in_kernel=True) == []
    assert codes(HELION, **operands(), complete=False) == []
    assert codes(TRITON, **pool_call(q=tensor(1, 64, 4, 32, strides=(1, 384, 32, 1)), use_qk_l2norm_in_kernel=UNKNOWN)) == []  # fmt: skip
    rows = operands(batch=2)
    assert codes(FLA, **rows, cu_seqlens=UNKNOWN) == []
    assert codes(FLA, **rows, cu_seqlens=None) == []
