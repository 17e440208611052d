"""Installed libraries under their contracts, and stand-ins where there is nothing to install."""

from __future__ import annotations

import asyncio
import importlib
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

import kdacheck

KERNELS = """\
def chunk_kda(q, k, v, g, beta, **kwargs):
    "The kernel."
    return "ran", None


def fused_recurrent_kda(q, k, v, g, beta, **kwargs):
    return "ran", None
"""

FILES = {
    "fla/__init__.py": "",
    "fla/ops/__init__.py": "from fla.ops.kda import chunk_kda\n",
    "fla/ops/kda/__init__.py": "from .chunk import chunk_kda\nfrom .fused_recurrent import fused_recurrent_kda\n",
    "fla/ops/kda/chunk.py": KERNELS,
    "fla/ops/kda/fused_recurrent.py": KERNELS,
    "fla/modules/__init__.py": """\
class ShortConvolution:
    def __init__(self, width):
        self.width = width

    def forward(self, x, mask=None, cu_seqlens=None):
        return self.width, x
""",
    "fla_user.py": """\
import fla.ops
from fla.ops.kda import chunk_kda as kernel


def run(*args, **keywords):
    return kernel(*args, **keywords)


def by_module(*args, **keywords):
    return fla.ops.chunk_kda(*args, **keywords)
""",
    "fla_broken/__init__.py": "",
}


@pytest.fixture
def library(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A package with the names of FLA, and a module that uses it."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    held = {name: module for name, module in sys.modules.items() if _of_library(name)}
    for name in held:
        del sys.modules[name]
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if _of_library(name)]:
        del sys.modules[name]
    sys.modules.update(held)


def _of_library(name: str) -> bool:
    return name.split(".")[0] in ("fla", "fla_user", "sglang", "flash_kda")


def operands(batch: int = 1, **changes: Any) -> dict[str, Any]:
    x = torch.zeros(batch, 8, 2, 4)
    return {"q": x, "k": x, "v": x, "g": x, "beta": torch.zeros(batch, 8, 2), **changes}


CU = torch.tensor([0, 3, 8])


def test_functions_are_wrapped_under_every_name(library: pathlib.Path) -> None:
    user = importlib.import_module("fla_user")
    original = user.kernel
    undo = kdacheck.enforce("fla")
    for call in (user.run, user.by_module):
        assert call(**operands()) == ("ran", None)
        with pytest.raises(kdacheck.ContractError, match="KDA001") as raised:
            call(**operands(2), cu_seqlens=CU)
        assert raised.value.filename == str(library / "fla_user.py")
        assert raised.value.version.startswith("fla-core ")
    assert user.kernel.__doc__ == "The kernel."
    undo()
    assert user.kernel is original
    assert importlib.import_module("fla.ops.kda").chunk_kda is original
    assert user.run(**operands(2), cu_seqlens=CU) == ("ran", None)
    undo()


def test_a_library_is_held_to_the_signature_it_has(library: pathlib.Path) -> None:
    fresh = "def chunk_kda(q, k, v, g, beta, cu_seqlens=None, fresh_flag=False):\n    return fresh_flag\n"
    (library / "fla/ops/kda/chunk.py").write_text(fresh)
    with kdacheck.enforce("fla"):
        user = importlib.import_module("fla_user")
        assert user.run(**operands(), fresh_flag=True) is True
        with pytest.raises(kdacheck.ContractError, match="KDA001"):
            user.run(**operands(2), cu_seqlens=CU, fresh_flag=True)
        with pytest.raises(kdacheck.ContractError, match="no parameter `freshflag`"):
            user.run(**operands(), freshflag=True)


def test_what_is_imported_later_is_wrapped_too(library: pathlib.Path) -> None:
    with kdacheck.enforce("fla"):
        user = importlib.import_module("fla_user")
        with pytest.raises(kdacheck.ContractError, match="KDA001"):
            user.run(**operands(2), cu_seqlens=CU)
        from fla.ops.kda.fused_recurrent import fused_recurrent_kda  # type: ignore[import-not-found]

        with pytest.raises(kdacheck.ContractError, match="KDA203"):
            fused_recurrent_kda(**operands(k=torch.zeros(1, 7, 2, 4)))
    assert user.run(**operands(2), cu_seqlens=CU) == ("ran", None)
    assert importlib.import_module("fla.ops").chunk_kda is user.kernel
    assert user.kernel.__module__ == "fla.ops.kda.chunk"


def test_methods_are_wrapped(library: pathlib.Path) -> None:
    with kdacheck.enforce("fla"):
        from fla.modules import ShortConvolution  # type: ignore[import-not-found]

        layer, x = ShortConvolution(4), torch.zeros(2, 8, 6)
        assert layer.forward(x)[0] == 4
        with pytest.raises(kdacheck.ContractError, match="KDA001"):
            layer.forward(x, cu_seqlens=CU)
        with pytest.raises(kdacheck.ContractError, match="KDA004"):
            layer.forward(x[:1], mask=torch.ones(1, 8), cu_seqlens=CU)
    assert layer.forward(x, cu_seqlens=CU)[0] == 4


def test_two_enforcements_come_apart_in_any_order(library: pathlib.Path) -> None:
    user = importlib.import_module("fla_user")
    original = user.kernel
    first, second = kdacheck.enforce("fla"), kdacheck.enforce("fla")
    second()
    with pytest.raises(kdacheck.ContractError):
        user.run(**operands(2), cu_seqlens=CU)
    first()
    assert user.kernel is original


def test_sources_stay_readable(library: pathlib.Path) -> None:
    import inspect

    with kdacheck.enforce("fla"):
        module = importlib.import_module("fla.ops.kda.chunk")
        assert inspect.getsource(module) == KERNELS
        assert "The kernel." in inspect.getsource(module.chunk_kda)


def test_unknown_libraries_are_refused() -> None:
    for ask in (kdacheck.enforce, kdacheck.dry):
        with pytest.raises(ValueError, match=r"no contracts for flaa: there are some for .*fla,"):
            ask("flaa")


def test_dry_replaces_what_is_installed(library: pathlib.Path) -> None:
    user = importlib.import_module("fla_user")
    with kdacheck.dry("fla"):
        out, state = user.run(**operands(), output_final_state=True, cu_seqlens=CU)
        assert out.shape == (1, 8, 2, 4)
        assert state.shape == (2, 2, 4, 4)
        with pytest.raises(kdacheck.ContractError, match="KDA001"):
            user.run(**operands(2), cu_seqlens=CU)
    assert user.run(**operands()) == ("ran", None)


def test_dry_stands_in_for_what_cannot_be_imported(library: pathlib.Path) -> None:
    (library / "fla/ops/kda/__init__.py").write_text("import a_compiler_that_is_not_here\n")
    before = set(sys.modules)
    with kdacheck.dry():
        from fla.ops.kda import chunk_kda  # type: ignore[import-not-found]
        from flash_kda import fwd  # type: ignore[import-not-found]
        from sglang.kernels.ops.attention.fla.kda import (  # type: ignore[import-not-found]
            chunk_kda as prefill,
        )

        assert chunk_kda(**operands())[1] is None
        pool = {"initial_state": torch.zeros(4, 2, 4, 4), "initial_state_indices": torch.arange(2)}
        assert prefill(**operands(), **pool, cu_seqlens=CU).shape == (1, 8, 2, 4)
        _, chunks = prefill(**operands(), **pool, cu_seqlens=CU, output_intermediate_states=True)
        assert chunks.shape == (1, 2, 2, 4, 4)
        x = torch.zeros(1, 8, 2, 128, dtype=torch.bfloat16)
        assert (
            fwd(
                x,
                x,
                x,
                x,
                x[..., 0].contiguous(),
                1.0,
                x,
                torch.zeros(2),
                torch.zeros(2, 128),
                -1.0,
            )
            is None
        )
    assert not {name for name in set(sys.modules) - before if name.startswith("sglang")}
    with pytest.raises(ImportError):
        importlib.import_module("sglang.kernels.ops.attention.fla.kda")


def test_dry_calls_on_every_kind_of_tensor() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with kdacheck.dry("fla"):
        from fla.ops.kda import chunk_kda  # type: ignore[import-not-found]

        given = {name: value.to("meta") for name, value in operands().items()}
        out, _ = chunk_kda(**given)
        assert out.is_meta
        with FakeTensorMode():
            out, state = chunk_kda(**operands(), output_final_state=True)
            assert type(out).__name__ == type(state).__name__ == "FakeTensor"
        q = torch.randn(1, 8, 2, 4, requires_grad=True)
        out, _ = chunk_kda(**operands(q=q))
        out.sum().backward()
        assert torch.equal(q.grad, torch.zeros_like(q))  # type: ignore[arg-type]
        torch.func.grad(lambda q: chunk_kda(**operands(q=q))[0].sum())(q)
        with torch.inference_mode():
            assert chunk_kda(**operands())[0].shape == (1, 8, 2, 4)


def test_a_dry_call_is_bound_like_a_real_one() -> None:
    with kdacheck.dry("fla"):
        from fla.ops.kda import chunk_kda  # type: ignore[import-not-found]

        x = torch.zeros(1, 8, 2, 4)
        with pytest.raises(TypeError, match="missing required arguments: 'g', 'beta'"):
            chunk_kda(x, x, x)


def test_packed_decode_returns_its_own_arguments() -> None:
    with kdacheck.dry("sglang"):
        from sglang.kernels.ops.attention.helion import kda_decode  # type: ignore[import-not-found]

        out, pool = torch.zeros(3, 1, 2, 8), torch.zeros(5, 2, 8, 4)
        result = kda_decode.helion_fused_recurrent_kda_packed_decode(
            torch.zeros(3, 32),
            torch.zeros(3, 8),
            torch.zeros(3, 2),
            torch.zeros(2),
            torch.zeros(8),
            0.5,
            pool,
            out,
            torch.arange(3),
        )
        assert result[0] is out
        assert result[1] is pool


def test_decorated_functions_are_stood_in_for() -> None:
    from tests.runtime.contracted import arguments, attend, step

    given: dict[str, Any] = arguments()
    with kdacheck.dry():
        out = attend(**given)
        assert torch.equal(out, torch.zeros_like(given["v"]))
        x, v, state = torch.ones(2, 3, 4), torch.ones(2, 3, 8), torch.ones(5, 3, 4, 8)
        first, second = step(x, state, torch.arange(2), v)
        assert first.shape == v.shape
        assert second is not None
        assert second.shape == state.shape
        with pytest.raises(kdacheck.ContractError, match="KDA101"):
            attend(**{**given, "dt_bias": torch.zeros(1).expand(16)})
    assert not torch.equal(attend(**given), torch.zeros_like(given["v"]))


def test_where_there_is_no_stand_in_that_is_said() -> None:
    @kdacheck.contract()
    def on_a_gpu(q: Float[Tensor, "B T"]) -> Float[Tensor, "B Z"]:
        raise RuntimeError("no GPU found")

    @kdacheck.contract()
    async def later(q: Float[Tensor, "B T"]) -> Float[Tensor, "T B"]:
        raise RuntimeError("no GPU found")

    with kdacheck.dry("fla"):
        from fla.ops.attn import parallel_attn  # type: ignore[import-not-found]

        x = torch.zeros(1, 8, 2, 4)
        with pytest.raises(NotImplementedError) as raised:
            parallel_attn(x, x, x)
        assert str(raised.value) == (
            "kdacheck.dry() has no stand-in for `fla.ops.attn.parallel_attn`: it is not known what the callee returns"
        )
        with pytest.raises(RuntimeError, match="no GPU found") as failed:
            on_a_gpu(torch.zeros(2, 3))
        (note,) = failed.value.__notes__
        assert "has no stand-in for" in note
        assert "an axis 'Z' of unknown size, so that it ran itself" in note
        assert asyncio.run(later(torch.zeros(2, 3))).shape == (3, 2)  # type: ignore[arg-type]


def test_what_dry_does_not_stand_in_for_is_said() -> None:
    with (
        kdacheck.dry("fla"),
        pytest.raises(ModuleNotFoundError, match=r"No module named 'fla\.layers': `fla` cannot be"),
    ):
        from fla.layers import KimiDeltaAttention  # type: ignore[import-not-found]  # noqa: F401


def test_our_own_prefill_is_stood_in_for() -> None:
    from kdacheck.kernels import chunk_kda

    q, beta = torch.randn(1, 130, 2, 32), torch.rand(1, 130, 2)
    for more in ({}, {"cu_seqlens": torch.tensor([0, 100, 130])}):
        given: dict[str, Any] = {"q": q, "k": q, "v": q, "g": -q.abs(), "beta": beta, **more}
        out, states = chunk_kda(**given, output_intermediate_states=True)
        with kdacheck.dry():
            assert torch.equal(chunk_kda(**given), torch.zeros_like(out))
            dry_out, dry_states = chunk_kda(**given, output_intermediate_states=True)
        for dry, real in ((dry_out, out), (dry_states, states)):
            assert (dry.shape, dry.dtype) == (real.shape, real.dtype)


def test_a_result_of_unknown_shape_is_said_to_be_one() -> None:
    with kdacheck.dry("flashinfer"):
        from flashinfer import chunk_gated_delta_rule  # type: ignore[import-not-found]

        x = torch.zeros(8, 2, 4)
        with pytest.raises(NotImplementedError, match="of unknown size"):
            chunk_gated_delta_rule(x, x, x, output_final_state=True)
        assert chunk_gated_delta_rule(x, x, x)[0].shape == x.shape
