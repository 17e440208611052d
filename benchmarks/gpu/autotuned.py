"""Peers that tune themselves, inside a short time on a GPU.

Triton's autotuner compiles each of its configurations, one after the other, for every new head count: minutes a kernel. Here
several processes compile a share each into Triton's cache, one process then times them all, as the autotuner does, and what it
picked is written down and pinned for all shapes.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

triton = importlib.import_module("triton")
Autotuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner

_picked: dict[str, dict[str, Any]] = {}


def _name(tuner: Any) -> str:
    # With the module: SGLang's kernels began as FLA's and share their names.
    return f"{tuner.base_fn.__module__}.{tuner.base_fn.__name__}"


def share(index: int, count: int) -> None:
    """Let every autotuner try each ``count``-th of its configurations only."""
    prune = Autotuner.prune_configs

    def some(self: Any, kwargs: Any) -> list[Any]:
        configs = prune(self, kwargs)
        return configs[index::count] or configs[:1]

    Autotuner.prune_configs = some


def record() -> dict[str, dict[str, Any]]:
    """From now on note what each autotuned kernel was launched with, by kernel; filled as they run."""
    run = Autotuner.run

    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = run(self, *args, **kwargs)
        if len(self.configs) > 1:
            _picked[_name(self)] = self.best_config.all_kwargs()
        return result

    Autotuner.run = noting
    return _picked


def pin(file: Path) -> None:
    """Give autotuners the configurations of ``file``, as `record` noted them; others still tune."""
    table = json.loads(file.read_text())
    prune = Autotuner.prune_configs
    own = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")

    def pinned(self: Any, kwargs: Any) -> list[Any]:
        found = table.get(_name(self))
        if found is None:
            return prune(self, kwargs)
        given = {n: found[n] for n in own if n in found}
        return [triton.Config({n: x for n, x in found.items() if n not in own}, **given)]

    Autotuner.prune_configs = pinned
