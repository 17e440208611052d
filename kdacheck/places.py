"""Where import paths lead within the files of a project."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import NamedTuple


class Place(NamedTuple):
    """Where an import path leads: a file, its dotted name, and the name to look up in it ("" for the module)."""

    filename: str
    module: str
    name: str


class Depends(NamedTuple):
    """What was asked of the files around one: the folders imports start from, and import path -> file, "" for none."""

    roots: tuple[str, ...]
    places: dict[str, str]


#: Kernels that kdacheck brings along: they are read where it lies, wherever the project is.
BUNDLED = "kdacheck.kernels"
_ITSELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def roots_of(folder: str) -> tuple[str, ...]:
    """The folders of a project from which its own absolute imports may start."""
    below = (os.path.join(folder, name) for name in ("src", "python"))
    return (folder, *filter(os.path.isdir, below))


def place_of(roots: tuple[str, ...], path: str) -> Place | None:
    """The place of an import path below one of several folders, None for a path from outside."""
    found = next(filter(None, (_below(root, path) for root in roots)), None)
    if found is None and path.startswith(f"{BUNDLED}."):
        return _below(_ITSELF, path)
    return found


@lru_cache(maxsize=65_536)
def _below(root: str, path: str) -> Place | None:
    parts = path.split(".")
    folder = root
    for index, part in enumerate(parts):
        if not part.isidentifier():
            return None
        deeper = os.path.join(folder, part)
        if os.path.isdir(deeper):
            folder = deeper
            continue
        rest = parts[index + 1 :]
        file = f"{deeper}.py"
        if len(rest) <= 1 and os.path.isfile(file):
            return Place(file, ".".join(parts[: index + 1]), rest[0] if rest else "")
        file = os.path.join(folder, "__init__.py")
        if index and not rest and os.path.isfile(file):
            return Place(file, ".".join(parts[:index]), part)
        return None
    return None


def forget() -> None:
    """Ask the file system anew where paths lead."""
    _below.cache_clear()
