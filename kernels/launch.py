"""Helion kernels, built when first launched: importing Helion takes seconds and needs no GPU to fail."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Sequence
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

    name = f"{function}/{variant}" if variant else function
    config = dict(pinned(arch, name))
    body = config.pop("body", function)
    registers = config.pop("registers", None)
    built = helion.kernel(
        getattr(importlib.import_module(f".{module}", __package__), body),
        config=helion.Config(**config),
        static_shapes=False,
        fast_math=True,
        # One tf32 product keeps eleven bits of a float32; three keep nearly all.
        dot_precision="tf32x3" if exact else "tf32",
    )
    return _Capped(built, registers) if registers else built


class _Capped:
    """A Helion kernel whose threads get at most so many registers."""

    def __init__(self, kernel: Any, registers: int) -> None:
        self.kernel, self.registers = kernel, registers
        self.bound: dict[int, Any] = {}

    def bind(self, args: Sequence[Any]) -> Any:
        bound = self.kernel.bind(args)
        if id(bound) in self.bound:  # Helion gives one for many shapes
            return bound
        bound.ensure_config_exists(args)
        run = bound._run

        def capped(*args: Any, _launcher: Callable[..., Any] | None = None) -> Any:
            from helion.runtime import default_launcher

            launcher = functools.partial(_launcher or default_launcher, maxnreg=self.registers)
            return run(*args, _launcher=launcher)

        if run is not None:  # Helion's interpreter compiles nothing
            bound._run = capped
        self.bound[id(bound)] = bound
        return bound


def kernel(
    module: str, function: str, like: torch.Tensor, variant: str = "", exact: bool = False
) -> Callable[..., Any]:
    """The Helion kernel ``function`` of ``module`` with the configuration pinned for like's device."""
    arch = capability(like.device.index) if like.is_cuda else None
    return _kernel(module, function, variant, arch, exact)


# A Helion kernel bound to what its arguments are, and the arguments.
Launched = tuple[Any, Sequence[Any]]

_bound: dict[tuple[Any, ...], Any] = {}


def call(launcher: Any, *args: Any) -> Launched:
    """Run a Helion kernel, finding what it was specialised to by a key of our own, which is several times cheaper.

    The key says more than Helion's: all sizes and strides. Meant for calls whose shapes come back. Returns what it ran.
    """
    key = (launcher, *_described(args))
    bound = _bound.get(key)
    if bound is None:
        if len(_bound) >= 4096:
            _bound.clear()
        # Helion takes arguments that are one tensor for one parameter, and would do so for every later call.
        apart = tuple(x.view_as(x) if isinstance(x, torch.Tensor) else x for x in args)
        bound = _bound[key] = launcher.bind(apart)
    bound(*args)
    return bound, args


def _described(args: Iterable[Any]) -> list[Any]:
    return [
        (x.dtype, x.shape, x.stride(), x.device) if isinstance(x, torch.Tensor) else x for x in args
    ]


_ready: dict[tuple[Any, ...], Callable[[Sequence[Any]], bool]] = {}


def again(name: str, given: Sequence[Any], first: Callable[[], Launched | None]) -> None:
    """Launch for the call ``name`` of the arguments ``given``: by ``first``, and from then on past Helion and Triton.

    Both spend most of a call's host time on finding again what tensors of these dtypes, shapes, strides and devices were
    compiled to. ``first`` checks and launches; it is not run again for calls like this one, whose tensors alone differ.
    """
    key = (name, torch.cuda.current_device(), *_described(given))
    run = _ready.get(key)
    if run is not None and run(given):
        return
    launched = first()
    if run is None and launched is not None:
        if len(_ready) >= 4096:
            _ready.clear()
        _ready[key] = _prepared(*launched, given) or _never


_CONSTANT, _UNKNOWN = -1, -2


def _never(given: Sequence[Any]) -> bool:
    return False


def _prepared(
    bound: Any, args: Sequence[Any], given: Sequence[Any]
) -> Callable[[Sequence[Any]], bool] | None:
    """What launches the compiled kernel on other tensors, and says whether it did; None where tensors cannot be told apart."""
    if bound._run is None:  # Helion's interpreter compiles nothing
        return None
    launches: list[tuple[Any, ...]] = []
    bound._run(*args, _launcher=lambda *values, **options: launches.append((values, options)))
    ((function, grid, *values), options) = launches[0]
    tensors = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor)]
    place = {given[i].data_ptr(): i for i in tensors}
    if len(launches) > 1 or len(place) < len(tensors):
        return None
    wanted = [
        (place.get(x.data_ptr(), _UNKNOWN), None) if isinstance(x, torch.Tensor) else (_CONSTANT, x)
        for x in values
    ]
    if any(i == _UNKNOWN for i, _ in wanted) or not _aligned(given, tensors):
        return None
    compiled = function.warmup(*values, grid=grid, **options)
    start = compiled[(*grid, 1, 1)[:3]]

    def run(given: Sequence[Any]) -> bool:
        # Triton compiles for pointers that are multiples of 16.
        if not _aligned(given, tensors):
            return False
        start(*[x if i < 0 else given[i] for i, x in wanted])
        return True

    return run


def _aligned(given: Sequence[Any], tensors: Sequence[int]) -> bool:
    joined = 0
    for i in tensors:
        joined |= given[i].data_ptr()
    return not joined & 15


def traced(x: torch.Tensor) -> bool:
    """Whether a call must go through its registered operator: under torch.compile, and for fake and meta tensors.

    Otherwise the kernel is launched directly, which spares the dispatcher's microseconds.
    """
    return torch.compiler.is_compiling() or type(x) is not torch.Tensor or x.is_meta
