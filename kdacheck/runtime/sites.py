"""Where source files call contracted functions, as far as imports tell."""

from __future__ import annotations

import ast
import os
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kdacheck import contracts
from kdacheck.config import Configuration
from kdacheck.discovery import discover
from kdacheck.source.select import absolute, may_matter
from kdacheck.source.text import Unreadable, decode


@dataclass(frozen=True, slots=True)
class Site:
    """One call, from its first to its last row."""

    filename: str
    first: int
    last: int
    path: str


def call_sites(paths: Iterable[pathlib.Path]) -> Iterator[Site]:
    """The calls of contracted functions in files and folders, by file and row."""
    found = discover(map(str, paths), Configuration(), [])
    for name in sorted(filename for filename, _ in found):
        filename = pathlib.Path(name)
        try:
            data = filename.read_bytes()
            if may_matter(data):
                yield from _in_module(os.path.abspath(filename), ast.parse(decode(data)))
        except (OSError, SyntaxError, ValueError, Unreadable):
            # the linter reports what cannot be read: KDA901
            continue


def _in_module(filename: str, tree: ast.Module) -> Iterator[Site]:
    known, names = contracts.paths(), _imported(tree, pathlib.Path(filename).stem)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        path = _dotted(call.func, names)
        if path in known:
            yield Site(filename, call.lineno, call.end_lineno or call.lineno, path)


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
