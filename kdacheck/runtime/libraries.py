"""Wrap the functions of installed libraries, wherever they have been imported to, and take the wrapping back."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any

from kdacheck import contracts
from kdacheck.contracts.model import Contract
from kdacheck.runtime import levels


def enforce(*libraries: str) -> Replacement:
    """Hold every call of contracted functions of these installed libraries to the contract of the installed release.

        undo = kdacheck.enforce("fla", "sglang")

    libraries: import names; none stands for every library of the catalogue. Functions are wrapped where they live,
    under every name that a module has already imported them by, and in modules imported later. Calling the result
    takes all of it back, as does leaving its `with` block. Nothing is wrapped with `KDACHECK=off`.

    Raises ValueError for a library that the catalogue does not know. A broken call then raises ContractError.
    """
    return Enforced(libraries)


@functools.cache
def installed_versions() -> dict[str, str]:
    """Distribution -> installed release, for those of the catalogue."""
    found = {}
    for package in sorted({contract.package for contract in contracts.catalogue()}):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def known_libraries() -> tuple[str, ...]:
    """Import names of the libraries of the catalogue."""
    return tuple(sorted({path.partition(".")[0] for path in contracts.paths()}))


def split(path: str) -> tuple[str, tuple[str, ...]]:
    """An import path as a module and the names below it: a class is no module."""
    parts = path.split(".")
    end = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[:end]), tuple(parts[end:])


class Replacement:
    """Functions of libraries that are replaced for a while."""

    def __init__(self, libraries: Sequence[str]) -> None:
        unknown = sorted(set(libraries) - set(known_libraries()))
        if unknown:
            known = ", ".join(known_libraries())
            raise ValueError(f"no contracts for {', '.join(unknown)}: there are some for {known}")
        chosen = set(libraries) or set(known_libraries())
        #: module -> the contracted paths that are reached through it
        self.targets: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for path in contracts.paths():
            if path.partition(".")[0] in chosen:
                module, names = split(path)
                self.targets[module].append((names, path))
        #: id of an original -> it and what stands in its place
        self._made: dict[int, tuple[Any, Any]] = {}
        self._placed: list[tuple[Any, str, Any, Any]] = []
        self._finder = _Finder(self)
        self._active = False

    def start(self) -> None:
        self._active = True
        sys.meta_path.insert(0, self._finder)
        for name in list(self.targets):
            module = sys.modules.get(name)
            if module is not None:
                self.patch(module, scan=False)
        self._spread()

    def __call__(self) -> None:
        """Take everything back. Does nothing the second time."""
        if not self._active:
            return
        self._active = False
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        back = {id(new): old for old, new in self._made.values()}
        for owner, name, old, new in reversed(self._placed):
            if vars(owner).get(name) is new:
                setattr(owner, name, old)
        for module in _modules():
            for name, value in list(vars(module).items()):
                if id(value) in back:
                    setattr(module, name, back[id(value)])

    def __enter__(self) -> Replacement:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self()

    # what subclasses say

    stubs = False

    def make(self, path: str, contract: Contract, version: str, original: Any, method: bool) -> Any:
        """What stands in the place of an original."""
        raise NotImplementedError

    # placing

    def patch(self, module: ModuleType, *, scan: bool = True) -> None:
        """Replace what a module holds, and what others have imported from it."""
        found = False
        for names, path in self.targets.get(module.__name__, ()):
            owner: Any = module
            for name in names[:-1]:
                owner = vars(owner).get(name)
                if not isinstance(owner, type):
                    owner = None
                    break
            original = vars(owner).get(names[-1]) if owner is not None else None
            if original is None or isinstance(original, ModuleType) or not callable(original):
                continue
            if any(original is new for _, new in self._made.values()) or _stands_in(original):
                continue
            chosen = contracts.choose(path, installed_versions())
            if chosen is None:
                continue
            if id(original) not in self._made:
                new = self.make(path, *chosen, original, isinstance(owner, type))
                self._made[id(original)] = original, new
            self._place(owner, names[-1], *self._made[id(original)])
            found = True
        if found and scan:
            self._spread()

    def _place(self, owner: Any, name: str, old: Any, new: Any) -> None:
        setattr(owner, name, new)
        self._placed.append((owner, name, old, new))

    def _spread(self) -> None:
        """Replace originals under every name that modules know them by."""
        for module in _modules():
            for name, value in list(vars(module).items()):
                held = self._made.get(id(value))
                if held is not None and held[0] is value:
                    self._place(module, name, *held)


def _stands_in(function: Any) -> bool:
    return getattr(function, "__kdacheck_stand_in__", False)


def _modules() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and not module.__name__.startswith("kdacheck.runtime"):
            yield module


class Enforced(Replacement):
    """What `enforce` returns."""

    def __init__(self, libraries: Sequence[str]) -> None:
        super().__init__(libraries)
        if levels.process.level != levels.OFF:
            self.start()

    def make(self, path: str, contract: Contract, version: str, original: Any, method: bool) -> Any:
        from kdacheck.runtime.decorate import guarded
        from kdacheck.runtime.guard import Guard
        from kdacheck.runtime.reading import fitted, of_contract

        @functools.cache
        def guard() -> Guard:
            return Guard(of_contract(fitted(contract, original, method=method), path), version)

        return guarded(original, guard, method=method)


class Dry(Replacement):
    """What `dry` returns."""

    stubs = True

    def __init__(self, libraries: Sequence[str]) -> None:
        super().__init__(libraries)
        #: every package and module on the way to a contracted callee
        self.prefixes = {
            ".".join(parts[:end])
            for module in self.targets
            for parts in (module.split("."),)
            for end in range(1, len(parts) + 1)
        }
        self.stubbed: list[str] = []
        levels.process.dry(1)
        self.start()

    def __call__(self) -> None:
        if self._active:
            levels.process.dry(-1)
        super().__call__()
        for name in self.stubbed:
            module = sys.modules.pop(name, None)
            parent, _, last = name.rpartition(".")
            above = sys.modules.get(parent)
            if above is not None and vars(above).get(last) is module:
                delattr(above, last)
        self.stubbed.clear()

    def make(self, path: str, contract: Contract, version: str, original: Any, method: bool) -> Any:
        from kdacheck.runtime.reading import fitted
        from kdacheck.runtime.standins import stand_in

        new = stand_in(fitted(contract, original, method=method), version)
        return _as_method(new) if method else new

    def fill(self, module: ModuleType) -> None:
        """Make a module that cannot be imported hold the stand-ins that belong in it."""
        from kdacheck.runtime.standins import stand_in

        self.stubbed.append(module.__name__)
        for names, path in self.targets.get(module.__name__, ()):
            chosen = contracts.choose(path, installed_versions())
            if chosen is None:
                continue
            if len(names) == 1:
                setattr(module, names[0], stand_in(*chosen))
            else:
                setattr(module, names[0], _stand_in_class(names[0], stand_in(*chosen)))


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    return functools.wraps(function)(method)


def _stand_in_class(name: str, forward: Callable[..., Any]) -> type:
    import torch

    def __init__(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: N807 - it becomes the class's
        torch.nn.Module.__init__(self)

    return type(name, (torch.nn.Module,), {"__init__": __init__, "forward": _as_method(forward)})


class _Finder(importlib.abc.MetaPathFinder):
    """Sees modules of the libraries come in."""

    def __init__(self, replacement: Replacement) -> None:
        self.replacement = replacement

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        replacement = self.replacement
        stubbed = isinstance(replacement, Dry) and fullname in replacement.prefixes
        if fullname not in replacement.targets and not stubbed:
            self.explain_missing(fullname, path, target)
            return None
        spec = _found_elsewhere(self, fullname, path, target)
        if spec is None or spec.loader is None:
            if not stubbed:
                return spec
            # a module without a package below it still says that it is one: what it holds is told by contracts alone
            return importlib.machinery.ModuleSpec(
                fullname, _Loader(None, replacement), is_package=True
            )
        spec.loader = _Loader(spec.loader, replacement)
        return spec

    def explain_missing(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> None:
        """Say why a stub has no such module below it. Raises ModuleNotFoundError, as Python would."""
        replacement = self.replacement
        if not isinstance(replacement, Dry) or "." not in fullname:
            return
        if fullname.rpartition(".")[0] not in replacement.stubbed:
            return
        if _found_elsewhere(self, fullname, path, target) is None:
            top = fullname.partition(".")[0]
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: `{top}` cannot be imported here, and kdacheck.dry() stands in for its"
                " contracted kernels alone",
                name=fullname,
            )


def _found_elsewhere(
    finder: _Finder, fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    # those in front of this one have asked already, and come back to it
    after = sys.meta_path[sys.meta_path.index(finder) + 1 :]
    for other in after:
        spec = other.find_spec(fullname, path, target) if hasattr(other, "find_spec") else None
        if spec is not None:
            return spec
    return None


class _Loader(importlib.abc.Loader):
    """A loader that hands the loaded module on."""

    def __init__(self, loader: Any, replacement: Replacement) -> None:
        self._loader = loader
        self._replacement = replacement

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__dict__.get("_loader") is None:
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec) if self._loader is not None else None

    def exec_module(self, module: ModuleType) -> None:
        replacement = self._replacement
        if self._loader is not None:
            spec = module.__spec__
            if spec is not None:
                spec.loader = self._loader
            module.__loader__ = self._loader
            before = set(vars(module))
            try:
                self._loader.exec_module(module)
            except Exception:
                if not isinstance(replacement, Dry):
                    raise
                # whatever a library raises where its GPU, its compiler or a dependency is missing
                for name in set(vars(module)) - before:
                    delattr(module, name)
                replacement.fill(module)
                return
            replacement.patch(module)
        elif isinstance(replacement, Dry):
            replacement.fill(module)
