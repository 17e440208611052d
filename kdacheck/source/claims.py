"""Shapes that names and docstrings claim, in projects that say they do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import libcst as cst

from kdacheck.contracts.annotations import Axes, parse_axes

#: `q_BTHK`, `out_NPHDh`: a name in small letters, then one capital for each axis, with what belongs to it.
_SUFFIX = re.compile(r"[a-z][a-z0-9_]*_((?:[A-Z][a-z0-9]*)+)$")
_AXIS = re.compile(r"[A-Z][a-z0-9]*")

#: `q (torch.Tensor):`, at the beginning of the lines about one parameter.
_ENTRY = re.compile(
    r"^[ \t]*\*{0,2}(\w+)[ \t]*(?:\(([^()\n]*(?:\([^()]*\)[^()\n]*)*)\))?[ \t]*:", re.M
)

#: "of shape `[B, T, H, K]`".
_SHAPE = re.compile(r"shapes?\b[^`\[\](){}\n]{0,20}[`\s]*[\[(]([^\[\]()]*)[\])]", re.I)
_NAME = re.compile(r"[A-Za-z]\w*$|\d+$")


@lru_cache(maxsize=4096)
def of_name(name: str) -> Axes | None:
    """The axes that the end of a name stands for, None for a name that ends in none."""
    found = _SUFFIX.match(name)
    return parse_axes(" ".join(_AXIS.findall(found[1]))) if found is not None else None


def of_docstring(node: cst.FunctionDef) -> Mapping[str, Axes]:
    """parameter -> the axes that the docstring of its function says it has, where it says so without an alternative."""
    text = node.get_docstring() or ""
    if "shape" not in text.lower():
        return {}
    entries = list(_ENTRY.finditer(text))
    found: dict[str, Axes] = {}
    for index, entry in enumerate(entries):
        end = entries[index + 1].start() if index + 1 < len(entries) else len(text)
        said = text[entry.end() : end]
        shapes = {_axes(shape) for shape in _SHAPE.findall(said)}
        kind = (entry[2] or "").lower()
        if (
            len(shapes) == 1
            and None not in shapes
            and "optional" not in kind
            and "none" not in kind
        ):
            (axes,) = shapes
            found[entry[1]] = parse_axes(axes or "")
    return found


def _axes(text: str) -> str | None:
    """`B, T, H, K` as the axes of an annotation, None for what is no list of names and sizes."""
    parts = [part.strip() for part in text.split(",")]
    return " ".join(parts) if all(_NAME.match(part) for part in parts) else None
