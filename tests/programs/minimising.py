"""Smaller programs that go wrong still."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def minimised(text: str, goes_wrong: Callable[[str], bool]) -> str:
    """The text with all statements left out that it can do without. goes_wrong: whether a text shows the fault.

    Statements are left out one by one, and compound ones are replaced by their blocks, until nothing more can go.
    """
    tree = ast.parse(text)
    while True:
        before = ast.unparse(tree)
        tree = _pass(tree, goes_wrong)
        after = ast.unparse(tree)
        if after == before:
            return after + "\n"


def _pass(tree: ast.Module, goes_wrong: Callable[[str], bool]) -> ast.Module:
    """Every statement tried once, from the last to the first."""
    for at in reversed(range(sum(1 for _ in _places(tree)))):
        for replacements in (_nothing, _bodies):
            candidate = ast.parse(ast.unparse(tree))
            places = list(_places(candidate))
            if at >= len(places):
                break
            body, index = places[at]
            new = replacements(body[index])
            if new is None:
                continue
            body[index : index + 1] = new
            if not body:
                body.append(ast.Pass())
            try:
                smaller = ast.unparse(ast.fix_missing_locations(candidate))
                compile(smaller, "program.py", "exec")
            except (SyntaxError, ValueError):
                continue
            if len(smaller) < len(ast.unparse(tree)) and goes_wrong(smaller):
                tree = ast.parse(smaller)
                break
    return tree


def _nothing(statement: ast.stmt) -> list[ast.stmt] | None:
    return []


def _bodies(statement: ast.stmt) -> list[ast.stmt] | None:
    """The statements of the blocks of a compound statement."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return None
    found: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        found += getattr(statement, name, [])
    return found or None


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every statement, as the block it stands in and its index there."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        block = getattr(tree, name, None)
        if not isinstance(block, list):
            continue
        for index, part in enumerate(block):
            if isinstance(part, ast.stmt):
                yield block, index
            yield from _places(part)
