"""The releases that the catalogue was read at, as wheels that are read and never imported."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cached_property

import pytest

RELEASES = {
    "attn-gym": ("0.0.17", "0.0.14", "0.0.12", "0.0.5"),
    "fla-core": ("0.6.0", "0.5.2", "0.5.1", "0.5.0", "0.4.2", "0.4.1", "0.4.0"),
    "flash-qla": ("0.1.3", "0.1.2", "0.1.1"),
    "flashinfer-python": ("0.7.4", "0.7.2.post1", "0.7.0", "0.6.18"),
    "nvidia-cudnn-frontend": ("1.32.0", "1.31.0", "1.30.0", "1.29.0", "1.28.0", "1.27.0"),
    "sglang": ("0.5.23", "0.5.21", "0.5.19", "0.5.17", "0.5.16", "0.5.12"),
    "vllm": (
        "0.33.0",
        "0.32.0",
        "0.31.0",
        "0.30.0",
        "0.28.0",
        "0.26.0",
        "0.23.0",
        "0.18.0",
        "0.11.1",
    ),
}

#: Distributions whose wheels are read where they are already there, and not downloaded for a test.
LARGE = frozenset(("flashinfer-python", "vllm"))


class Sources:
    """The modules of one wheel, parsed when asked for."""

    def __init__(self, path: pathlib.Path) -> None:
        self._zip = zipfile.ZipFile(path)
        self._names = frozenset(self._zip.namelist())
        self._trees: dict[str, ast.Module | None] = {}

    def close(self) -> None:
        self._zip.close()

    def module(self, path: str) -> ast.Module | None:
        """The syntax tree of a module, None where there is no such file."""
        if path not in self._trees:
            stem = path.replace(".", "/")
            found = [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in self._names]
            self._trees[path] = ast.parse(self._zip.read(found[0])) if found else None
        return self._trees[path]

    def is_package(self, path: str) -> bool:
        return f"{path.replace('.', '/')}/__init__.py" in self._names

    @cached_property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Modules that fla.modules makes at import time under former names."""
        tree = self.module("fla.modules")
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULE_ALIASES":
                table: dict[str, tuple[str, ...]] = ast.literal_eval(node.value)
                return {
                    f"fla.modules.{old}": tuple(f"fla.modules.{new}" for new in targets)
                    for old, targets in table.items()
                }
        return {}

    def find(self, path: str) -> ast.FunctionDef | ast.ClassDef | None:
        """What an import path names, through re-exports, assignments and methods; None where nothing."""
        parts = path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module, names = ".".join(parts[:cut]), parts[cut:]
            for target in self.aliases.get(module, (module,)):
                if self.module(target) is None:
                    continue
                node = self._name(target, names[0])
                for name in names[1:]:
                    node = _member(node, name)
                if node is not None:
                    return node
        return None

    def _name(self, module: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
        tree = self.module(module)
        for node in reversed(_statements(tree.body)) if tree is not None else ():
            match node:
                case ast.FunctionDef() | ast.ClassDef() if node.name == name:
                    return node
                case ast.Assign([ast.Name(target)], ast.Name(source)) if target == name:
                    return self._name(module, source)
                case ast.AnnAssign(ast.Name(lazy), value=ast.Dict() as table) | ast.Assign(
                    [ast.Name(lazy)], ast.Dict() as table
                ) if lazy == "_LAZY_EXPORTS":
                    exports: dict[str, tuple[str, str]] = ast.literal_eval(table)
                    if name in exports:
                        return self.find(".".join(exports[name]))
                case ast.ImportFrom():
                    for alias in node.names:
                        target = f"{self._origin(module, node)}.{alias.name}"
                        # a module is no callee, and may be imported from its own package
                        if (alias.asname or alias.name) == name and self.module(target) is None:
                            return self.find(target)
                case _:
                    pass
        return None

    def _origin(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        here = parts if self.is_package(module) else parts[:-1]
        base = here[: len(here) - node.level + 1]
        return ".".join([*base, *([node.module] if node.module else [])])


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module, those under `try`, `if` and `with` among them."""
    flat: list[ast.stmt] = []
    for node in body:
        flat.append(node)
        if isinstance(node, (ast.Try, ast.If, ast.With)):
            flat += _statements(node.body)
    return flat


def _member(node: ast.FunctionDef | ast.ClassDef | None, name: str) -> ast.FunctionDef | None:
    for item in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(item, ast.FunctionDef) and item.name == name:
            return item
    return None


def _cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "kdacheck-wheels"


def _locate(folder: pathlib.Path, name: str, version: str) -> pathlib.Path | None:
    found = sorted(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    return found[0] if found else None


#: One platform for all: the sources are the same, and not every platform has a wheel.
PLATFORM = (
    "--python-version=3.11",
    "--implementation=cp",
    "--platform=manylinux_2_34_x86_64",
    "--platform=manylinux_2_28_x86_64",
)


def _fetch(name: str, version: str) -> pathlib.Path | str:
    """The wheel, from KDACHECK_WHEELS or else the cache, which is filled by download; or why there is none."""
    given = os.environ.get("KDACHECK_WHEELS")
    folder = pathlib.Path(given) if given else _cache()
    wheel = _locate(folder, name, version)
    if wheel is None and given is None and name not in LARGE:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *PLATFORM]
        command += ["--only-binary=:all:", "--dest", str(folder), f"{name}=={version}"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        wheel = _locate(folder, name, version)
    return wheel or f"not in {folder}"


def opened(package: str, version: str) -> Sources | str:
    """The sources of a release, or why they cannot be had."""
    wheel = _fetch(package, version)
    return wheel if isinstance(wheel, str) else Sources(wheel)


@pytest.fixture(scope="session")
def sources() -> Iterator[Callable[[str, str], Sources]]:
    """Distribution and release -> its sources; skips where the wheel cannot be had."""
    kept: dict[tuple[str, str], Sources | str] = {}

    def sources(package: str, version: str) -> Sources:
        key = package, version
        if key not in kept:
            kept[key] = opened(package, version)
        have = kept[key]
        if isinstance(have, str):
            pytest.skip(f"no wheel of {package} {version}: {have}")
        return have

    yield sources
    for item in kept.values():
        if isinstance(item, Sources):
            item.close()
