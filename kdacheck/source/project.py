"""Other files of the project: found by import path, and read only for what a followed call may need."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache

from kdacheck.contracts.model import Contract
from kdacheck.places import Depends, Place, place_of, roots_of
from kdacheck.source import select
from kdacheck.source.module import Module
from kdacheck.source.reading import parse
from kdacheck.source.text import Unreadable, decode, outline_of

#: Bytes of other files read for one file: parsing is what following costs.
MAX_BYTES = 80 * 1024

#: Bytes of a file that is read at all, and be it for a signature.
MAX_READ = 512 * 1024

#: Longer helpers are not followed, unless a kernel is called in them.
MAX_LINES = 60

#: What a helper must mention to be worth following: operations that give tensors their shapes.
_TELLING = re.compile(
    rb"rearrange|repeat\(|\.view\(|reshape\(|squeeze\(|flatten\(|cumsum|expand\(|transpose\(|permute\(|torch\.(?:rand|zeros|ones|empty|tensor|arange|full|cat|stack)"
)


def root_of(filename: str, name: str) -> str:
    """The folder from which absolute imports of a file's own package start."""
    folder = os.path.dirname(os.path.abspath(filename))
    depth = name.count(".") + os.path.basename(filename).startswith("__init__.")
    for _ in range(depth):
        folder = os.path.dirname(folder)
    return folder


class Project:
    """The files around one file. folder: that of the project, "" where only its own package counts."""

    def __init__(self, filename: str, name: str, folder: str = "") -> None:
        around = roots_of(folder) if folder else ()
        self.roots = tuple(dict.fromkeys((root_of(filename, name), *around)))
        self.followed: set[str] = set()
        self.bytes_left = MAX_BYTES
        self.places: dict[str, str] = {}
        #: The contracts of its own callees, by import path, with what is said of the release (`own.choose`).
        self.callees: dict[str, tuple[Contract, str]] = {}

    def place(self, path: str) -> Place | None:
        """Where an import path leads inside the project, None for a path from outside."""
        found = place_of(self.roots, path)
        self.places[path] = found.filename if found is not None else ""
        return found

    @property
    def depends(self) -> Depends:
        """What was asked so far: where that has another answer, so may the analysis."""
        return Depends(self.roots, dict(self.places))

    def may_follow(self, place: Place) -> bool:
        """Whether a definition is worth reading, within the limits."""
        data = _data(place.filename, _readings.get(place.filename, 0))
        is_new = place.filename not in self.followed
        if data is None or (is_new and len(data) > self.bytes_left):
            return False
        if not _is_telling(place.filename, _readings.get(place.filename, 0), place.name):
            return False
        if is_new:
            self.bytes_left -= len(data)
            self.followed.add(place.filename)
        return True

    def statements(self, place: Place) -> Iterator[ast.stmt]:
        """The statements of a file that bind its names, none where it cannot be parsed."""
        tree = _tree(place.filename, _readings.get(place.filename, 0))
        return _top_level(tree) if tree is not None else iter(())

    def module(self, place: Place) -> Module | None:
        """The parsed file, None where it cannot be parsed."""
        return _module(place.filename, _readings.get(place.filename, 0), place.module)


#: How often a file was forgotten, for those that were: a part of what it is remembered by.
_readings: dict[str, int] = {}


#: What an editor holds of files and has not saved, by absolute path: it stands in their place.
_unsaved: dict[str, bytes] = {}


def take_unsaved(texts: Mapping[str, bytes]) -> None:
    """Read these texts in the place of their files, from now on and until told otherwise."""
    for path in _unsaved.keys() | texts.keys():
        if _unsaved.get(path) != texts.get(path):
            forget(path)
    _unsaved.clear()
    _unsaved.update(texts)


def forget(filename: str) -> None:
    """Read a file anew when it is next asked for."""
    path = os.path.abspath(filename)
    _readings[path] = _readings.get(path, 0) + 1


def forget_all() -> None:
    """Read every file anew when it is next asked for."""
    for remembered in (_module, _data, _tree, _is_telling):
        remembered.cache_clear()


@lru_cache(maxsize=64)
def _module(filename: str, reading: int, name: str) -> Module | None:
    data = _data(filename, reading)
    if data is None:
        return None
    try:
        text = decode(data)
        return parse(filename, text, name, outline_of(text, filename, name, deep=True))[0]
    except (Unreadable, RecursionError):
        return None


@lru_cache(maxsize=256)
def _data(filename: str, reading: int) -> bytes | None:
    unsaved = _unsaved.get(filename)
    if unsaved is not None:
        return unsaved if len(unsaved) <= MAX_READ else None
    try:
        if os.path.getsize(filename) > MAX_READ:
            return None
        with open(filename, "rb") as file:
            return file.read()
    except OSError:
        return None


@lru_cache(maxsize=256)
def _tree(filename: str, reading: int) -> ast.Module | None:
    data = _data(filename, reading)
    if data is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4096)
def _is_telling(filename: str, reading: int, name: str) -> bool:
    tree, data = _tree(filename, reading), _data(filename, reading)
    if tree is None or data is None:
        return False
    for node in _top_level(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() if node.name == name:
                if b"kdacheck" in data and any(
                    getattr(inner, "decorator_list", ()) for inner in (node, *node.body)
                ):
                    return True
                lines = data.split(b"\n")[node.lineno - 1 : node.end_lineno]
                segment = b"\n".join(lines)
                short = len(lines) <= MAX_LINES
                return select.may_matter(segment) or (short and bool(_TELLING.search(segment)))
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                return True
            case ast.ImportFrom(names=aliases) if any(
                (a.asname or a.name) == name for a in aliases
            ):
                return True
            case _:
                pass
    return False


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from node.body
            yield from node.orelse
