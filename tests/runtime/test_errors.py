"""The words of a ContractError."""

from __future__ import annotations

import functools
import inspect
import pickle
import traceback
from typing import Any

import pytest
import torch

import kdacheck
import kdacheck.clauses
from tests.runtime.contracted import arguments, attend

WHOLE = """\
KDA101 strided-dt-bias: `attend`: `dt_bias` must be dense but is [16] with strides (0,), an expanded tensor (stride 0); the call is refused
  --> {file}:{line} in broken
     q              float32[1, 8, 2, 4] cpu
     k              float32[1, 8, 2, 4] cpu
     v              float32[1, 8, 4, 16] cpu
     g              float32[1, 8, 4, 4] cpu
     beta           float32[1, 8, 4] cpu
     A_log          float32[4] cpu
   > dt_bias        float32[16] stride (0,) cpu
     initial_state  float32[2, 4, 4, 16] cpu
     cu_seqlens     int64[3] cpu
     scale          0.5
     out            float32[1, 8, 4, 16] cpu
   = dims: B=1, H=2, HV=4, K=4, N=2, T=8, V=16
   = help: pass a dense copy: `dt_bias.contiguous()`"""


def broken(**changes: Any) -> Any:
    return attend(**arguments(**changes))


def caught(**changes: Any) -> kdacheck.ContractError:
    with pytest.raises(kdacheck.ContractError) as raised:
        broken(**changes)
    return raised.value


LINE = inspect.getsourcelines(broken)[1] + 1


def test_the_whole_message() -> None:
    error = caught(dt_bias=torch.zeros(1).expand(16))
    assert str(error) == WHOLE.format(file=__file__, line=LINE)
    assert isinstance(error, ValueError)
    assert (error.code, error.parameter, error.callee) == ("KDA101", "dt_bias", "attend")
    assert (error.filename, error.lineno) == (__file__, LINE)
    assert error.message in str(error)
    assert error.remedy == "pass a dense copy: `dt_bias.contiguous()`"


SENTENCES: list[tuple[dict[str, Any], str]] = [
    (
        {"q": torch.zeros(2, 4, 2, 4)},
        "`q` has batch size 2 in [2, 4, 2, 4], but with `cu_seqlens` every packed operand is [1, total_tokens, ...]",
    ),
    (
        {"dt_bias": torch.zeros(16, 2)[:, 0]},
        "`dt_bias` must be dense but is [16] with strides (2,), every second element; the call is refused",
    ),
    (
        {"dt_bias": torch.zeros(16, 3)[:, 0]},
        "`dt_bias` must be dense but is [16] with strides (3,), a column slice; the call is refused",
    ),
    ({"dt_bias": torch.zeros(4, 4)}, "`dt_bias` is 2-D, [4, 4], but must be 1-D, [HV*K]"),
    (
        {"dt_bias": torch.zeros(4)},
        "`dt_bias` is [4]: axis 0 is 4, but must be 16 = HV*K",
    ),
    (
        {"beta": torch.zeros(1, 8, 2)},
        "`beta` is [1, 8, 2]: axis 2 is 2, but must be 4, the value heads (HV) of `v`",
    ),
    ({"A_log": torch.zeros(4).half()}, "`A_log` is float16, but must be float32"),
    (
        {"k": torch.zeros(1, 7, 2, 4)},
        "`k` is [1, 7, 2, 4]: axis 1 is 7, but must be 8, the tokens (T) of `q`",
    ),
    ({"q": torch.zeros(8, 2, 4)}, "`q` is 3-D, [8, 2, 4], but must be 4-D, [B, T, H, K]"),
    ({"v": torch.zeros(1, 8, 4, 16).int()}, "`v` is int32, but must be a floating-point tensor"),
    ({"dt_bias": torch.zeros(16, device="meta")}, "`dt_bias` is on meta, `q` on cpu"),
    (
        {"cu_seqlens": torch.tensor([0.0, 3.0, 8.0])},
        "`cu_seqlens` is float32, but must be an integer tensor",
    ),
    (
        {"cu_seqlens": torch.tensor([[0, 3, 8]])},
        "`cu_seqlens` is 2-D, [1, 3], but must be 1-D, [N+1]",
    ),
    (
        {"initial_state": torch.zeros(3, 4, 4, 16)},
        "`initial_state` has 3 entries in [3, 4, 4, 16], but `cu_seqlens` marks 2 sequences",
    ),
    (
        {"initial_state": torch.zeros(2, 4, 16, 4)},
        "`initial_state` is [2, 4, 16, 4], with K and V in each other's place: the callee reads [..., K, V]",
    ),
    ({"q": None}, "`q` is None, but must be a tensor, [B, T, H, K]"),
    ({"scale": "half"}, "`scale` does not fit its annotation `float | None`"),
]


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES)
def test_sentences(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in str(caught(**changes)).split("\n  -->")[0]


def test_a_transpose_is_told() -> None:
    @kdacheck.contract(kdacheck.clauses.Dense(("state",)))
    def function(state: torch.Tensor) -> None: ...

    with pytest.raises(kdacheck.ContractError, match=r"strides \(1, 4\), a transpose;"):
        function(torch.zeros(3, 4).t())
    with pytest.raises(kdacheck.ContractError, match="a slice of wider rows;"):
        function(torch.zeros(3, 4)[:, :2])


def test_all_broken_laws_are_told_together() -> None:
    error = caught(
        dt_bias=torch.zeros(4, 1).expand(4, 4), A_log=torch.zeros(3), k=torch.zeros(1, 7, 2, 4)
    )
    assert error.codes == ("KDA101", "KDA102", "KDA103", "KDA203")
    text = str(error)
    for name in ("A_log", "dt_bias", "k"):
        assert f"   > {name} " in text
    assert "   > q " not in text
    assert text.count("= help:") == 4


def test_it_is_one_exception_with_a_short_trace() -> None:
    error = caught(dt_bias=torch.zeros(3))
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(traceback.extract_tb(error.__traceback__)) <= 4


def test_the_line_is_the_users_through_wrappers() -> None:
    def logged(function: Any) -> Any:
        return functools.partial(function, scale=0.5)

    given = arguments(dt_bias=torch.zeros(3))
    del given["scale"]
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    with pytest.raises(kdacheck.ContractError) as raised, torch.no_grad():
        logged(attend)(**given)
    assert (raised.value.filename, raised.value.lineno) == (__file__, line)


def test_it_pickles() -> None:
    error = caught(dt_bias=torch.zeros(3))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kdacheck.ContractError
    assert (str(copy), copy.code, copy.broken) == (str(error), error.code, error.broken)


def test_huge_arguments_stay_short() -> None:
    assert len(str(caught(scale="x" * 10_000))) < 2_000
