"""Where source files call contracted functions: every call that the linter resolves, and those that imports alone tell."""

from __future__ import annotations

import ast
import os
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kdacheck import contracts
from kdacheck.config import Configuration, Settings
from kdacheck.discovery import discover
from kdacheck.linter import ROUNDS, Candidate, importers, read
from kdacheck.source import examine, may_matter
from kdacheck.source.select import absolute
from kdacheck.source.text import decode, dotted_name

if TYPE_CHECKING:
    from kdacheck.source.run import Run


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """One call, from its first to its last row.

    filename: absolute, links followed. path: what is called, "a or b" where it may be either.
    """

    filename: str
    first: int
    last: int
    path: str


def call_sites(paths: Iterable[pathlib.Path]) -> list[Site]:
    """The calls of contracted functions in files and folders, by file and row.

    What the linter does not judge, since it is expected to fail or is never reached, counts where an import names the callee.
    """
    discovered = discover(map(str, paths), Configuration(), [])
    files = [file for file in discovered if os.path.isfile(file[0])]
    found: set[Site] = set()
    known: frozenset[str] = frozenset()
    exports = _of_candidates(_mentioning(files), found)
    for _ in range(ROUNDS):
        if exports <= known:
            break
        new = _of_candidates(importers(files, exports, known, None, {}), found)
        known, exports = exports, exports | new
    wanted = {os.path.realpath(filename) for filename, _ in files}
    by_rows: dict[tuple[str, int, int], list[str]] = {}
    for site in sorted(found):
        if site.filename in wanted:
            by_rows.setdefault((site.filename, site.first, site.last), []).append(site.path)
    return [Site(*rows, " or ".join(callees)) for rows, callees in by_rows.items()]


def _mentioning(files: Iterable[tuple[str, Settings]]) -> Iterator[Candidate]:
    for filename, settings in files:
        try:
            data = read(filename)
        except OSError:
            # the linter reports what cannot be read: KDA901
            continue
        if may_matter(data):
            yield Candidate(filename, data, settings)


def _of_candidates(candidates: Iterable[Candidate], found: set[Site]) -> frozenset[str]:
    """Note the calls of these files; the import paths by which they hand kernels on."""
    exports: set[str] = set()
    for candidate in candidates:
        filename = candidate.filename
        seen: list[Run] = []
        try:
            found.update(_by_imports(filename, ast.parse(decode(candidate.data))))
            exports |= examine(filename, candidate.data, {}, candidate.exports, seen).exports
        except Exception:
            # the linter reports what it cannot read, and where it fails
            continue
        for run in seen:
            for scene in run.scenes:
                (first, _), (last, _) = scene.module.position(scene.node)
                found.add(Site(os.path.realpath(scene.module.filename), first, last, scene.path))
    return frozenset(exports)


def _by_imports(filename: str, tree: ast.Module) -> Iterator[Site]:
    known, names = contracts.paths(), _imported(tree, dotted_name(filename))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (path := _dotted(call.func, names)) in known:
            last = call.end_lineno or call.lineno
            yield Site(os.path.realpath(filename), call.lineno, last, path)


def _imported(tree: ast.Module, module: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node.module, node.level, module)
            names.update({a.asname or a.name: f"{base}.{a.name}" for a in node.names})
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])
