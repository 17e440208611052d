"""Helion kernels, built when first launched: importing Helion takes seconds and needs no GPU to fail."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch

from .configs import pinned


@functools.cache
def capability(index: int | None) -> tuple[int, int]:
    """Compute capability of a CUDA device, read once."""
    return torch.cuda.get_device_capability(index)


@functools.cache
def _kernel(
    module: str, function: str, variant: str, arch: tuple[int, int] | None, exact: bool
) -> Any:
    import helion

    body = getattr(importlib.import_module(f".{module}", __package__), function)
    name = f"{function}/{variant}" if variant else function
    return helion.kernel(
        body,
        config=helion.Config(**pinned(arch, name)),
        static_shapes=False,
        fast_math=True,
        # One tf32 product keeps eleven bits of a float32; three keep nearly all.
        dot_precision="tf32x3" if exact else "tf32",
    )


def kernel(
    module: str, function: str, like: torch.Tensor, variant: str = "", exact: bool = False
) -> Callable[..., Any]:
    """The Helion kernel ``function`` of ``module`` with the configuration pinned for like's device."""
    arch = capability(like.device.index) if like.is_cuda else None
    return _kernel(module, function, variant, arch, exact)


_bound: dict[tuple[Any, ...], Callable[..., Any]] = {}


def call(launcher: Any, *args: Any) -> None:
    """Run a Helion kernel, finding what it was specialised to by a key of our own, which is several times cheaper.

    The key says more than Helion's: all sizes and strides. Meant for calls whose shapes come back.
    """
    key = (
        launcher,
        *[(x.dtype, x.shape, x.stride()) if isinstance(x, torch.Tensor) else x for x in args],
    )
    bound = _bound.get(key)
    if bound is None:
        if len(_bound) >= 4096:
            _bound.clear()
        # Helion takes arguments that are one tensor for one parameter, and would do so for every later call.
        apart = tuple(x.view_as(x) if isinstance(x, torch.Tensor) else x for x in args)
        bound = _bound[key] = launcher.bind(apart)
    bound(*args)


def traced(x: torch.Tensor) -> bool:
    """Whether a call must go through its registered operator: under torch.compile, and for fake and meta tensors.

    Otherwise the kernel is launched directly, which spares the dispatcher's microseconds.
    """
    return torch.compiler.is_compiling() or type(x) is not torch.Tensor or x.is_meta
