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
    """What was asked of the files around one: the folder imports start from, and import path -> file, "" for none."""

    root: str
    places: dict[str, str]


#: Kernels that kdacheck brings along: they are read where it lies, wherever the project is.
BUNDLED = "kdacheck.kernels"
_ITSELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def place_of(root: str, path: str) -> Place | None:
    """The place of an import path below a folder, None for a path from outside."""
    found = _below(root, path)
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
