"""Every pinned configuration must still lower to Triton code; that needs neither a GPU nor Triton."""

from __future__ import annotations

import ast
import importlib.util

import pytest
import torch

from kdacheck.kernels import configs
from kdacheck.kernels import decode as steps
from kdacheck.kernels import prefill as chunks

from .cases import candidates, decode, prefill, replay

helion = pytest.importorskip("helion", reason="the kernels extra is not installed")

PINNED = sorted(
    {
        (name, repr(config))
        for table in (configs.DEFAULT, *configs.PINNED.values())
        for name, config in table.items()
    }
)


def recorded(module, monkeypatch, launch) -> dict[str, tuple]:
    """What the launcher would hand to each kernel."""
    calls: dict[str, tuple] = {}

    def kernel(_, function, like, variant="", exact=False):
        return lambda *args: calls.__setitem__(function, args)

    with monkeypatch.context() as patch:
        patch.setattr(module, "kernel", kernel)
        patch.setattr(module, "call", lambda launcher, *args: launcher(*args), raising=False)
        launch()
    return calls


@pytest.fixture
def calls(monkeypatch):
    wide = {"dtype": torch.bfloat16, "width": 128, "value_width": 128}
    call = prefill(tokens=150, heads=2, value_heads=2, offsets=[0, 70, 150], **wide)
    found = recorded(chunks, monkeypatch, lambda: chunks.launch(*call.values()))
    step = decode(**wide)
    found |= recorded(
        steps,
        monkeypatch,
        lambda: steps.launch_packed_decode(**step, normalize=True, lower_bound=None),
    )
    ring = replay(8, **wide)
    found |= recorded(
        steps,
        monkeypatch,
        lambda: steps.launch_replayssm_decode(
            **ring, force_flush=None, normalize=True, lower_bound=None
        ),
    )
    tree = candidates(tree=True, **wide)
    return found | recorded(steps, monkeypatch, lambda: steps.launch_verify(*tree.values()))


@pytest.mark.parametrize("pinned", PINNED, ids=lambda p: p[0] + p[1])
def test_pinned_configurations_lower(calls, pinned, monkeypatch):
    from kdacheck.kernels import decode_device, prefill_device

    monkeypatch.delenv("HELION_INTERPRET", raising=False)
    name, text = pinned
    family = name.partition("/")[0]
    settings = ast.literal_eval(text)
    settings.pop("registers", None)
    function = settings.pop("body", family)
    body = getattr(prefill_device, function, None) or getattr(decode_device, function)
    if importlib.util.find_spec("triton") is None:
        # Helion refuses what it cannot ask Triton about.
        settings.pop("range_unroll_factors", None)
        settings.pop("range_num_stages", None)
    config = helion.Config(**settings)
    kernel = helion.kernel(body, config=config, static_shapes=False, fast_math=True)
    code = kernel.bind(calls[family]).to_triton_code(config)
    assert f"def _helion_{function}(" in code
    for i, size in enumerate(config.config.get("block_sizes", ())):
        assert f"_BLOCK_SIZE_{i} = tl.constexpr({size})" in code
