"""Which files a command line means."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kdacheck.config import Configuration, Settings, relative_to
from kdacheck.patterns import Patterns
from kdacheck.regular import read_regular

SUFFIXES = (".py", ".pyi", ".pyw")

# one ignore file: its patterns, and the way from its folder to the folder being read ("" or "a/b/")
Frame = tuple[Patterns, str]


def discover(
    paths: Iterable[str], configuration: Configuration, errors: list[str]
) -> Iterator[tuple[str, Settings]]:
    """Each file once, with its settings, in no particular order.

    A file named outright is always taken; a folder is walked, less what is excluded or ignored by git.
    Whatever cannot be read is put into words in `errors`, and the walk goes on.
    """
    paths = list(paths)
    seen: set[str] | None = set() if len(paths) > 1 else None
    force = configuration.overrides.force_exclude
    for path in paths:
        path = os.path.normpath(path)
        try:
            is_folder = os.path.isdir(path)
            if not is_folder:
                os.lstat(path)
        except (OSError, ValueError) as error:
            errors.append(f"{path}: {getattr(error, 'strerror', None) or error}")
            continue
        folder = path if is_folder else os.path.dirname(path) or os.curdir
        settings = configuration.of_folder(folder)
        if force and settings.excludes(path):
            continue
        found = _walk(path, settings, configuration, errors) if is_folder else [(path, settings)]
        for item in found:
            if seen is not None:
                key = os.path.abspath(item[0])
                if key in seen:
                    continue
                seen.add(key)
            yield item


def _walk(
    top: str, settings: Settings, configuration: Configuration, errors: list[str]
) -> Iterator[tuple[str, Settings]]:
    files: list[tuple[str, Settings]] = []
    links: list[tuple[str, Settings]] = []
    start = "" if top == os.curdir else os.path.join(top, "")
    way = _way_from_root(settings, top)
    stack = [(start, settings, _frames_above(top, settings), way)]
    while stack:
        prefix, settings, frames, way = stack.pop()
        folder = prefix or os.curdir
        try:
            with os.scandir(folder) as entries:
                listing = list(entries)
        except OSError as error:
            errors.append(f"{folder.rstrip(os.sep)}: {error.strerror or error}")
            continue

        names = {entry.name for entry in listing}
        if "pyproject.toml" in names and prefix != start:
            own = configuration.below(folder, settings)
            if own is not settings:
                settings = own
                way = _way_from_root(settings, folder)
        if settings.respect_gitignore:
            frames = frames + _frames_of(folder, names, errors)

        for entry in listing:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                below = name + "/"
                if not _dropped(below, settings, frames, way):
                    stack.append(
                        (
                            prefix + name + os.sep,
                            settings,
                            tuple((patterns, up + below) for patterns, up in frames),
                            way + below,
                        )
                    )
            elif name.endswith(SUFFIXES) and not _dropped(name, settings, frames, way):
                if entry.is_symlink():
                    links.append((prefix + name, settings))
                elif entry.is_file(follow_symlinks=False):
                    yield prefix + name, settings
                    files.append((prefix + name, settings))
    if links:
        yield from _new_files(links, files)


def _new_files(
    links: list[tuple[str, Settings]], files: list[tuple[str, Settings]]
) -> Iterator[tuple[str, Settings]]:
    """The links that lead to no file already taken; a link to a folder is not followed."""
    taken = {os.path.realpath(path) for path, _ in files}
    for path, settings in sorted(links, key=lambda link: link[0]):
        if os.path.basename(path).startswith(".#"):
            continue  # Emacs marks a file being edited by a dangling link .#name
        if os.path.exists(path) and not os.path.isfile(path):
            continue  # a folder, or a device that may have no end
        target = os.path.realpath(path)
        if target not in taken:
            taken.add(target)
            yield path, settings


def _dropped(name: str, settings: Settings, frames: tuple[Frame, ...], way: str) -> bool:
    for patterns in settings.exclude:
        if patterns.match(way + name):
            return True
    for patterns, up in reversed(frames):
        ignored = patterns.match(up + name)
        if ignored is not None:
            return ignored
    return False


def _way_from_root(settings: Settings, folder: str) -> str:
    """The way from the settings' folder to this one.

    Patterns start at the folder asked for where it lies elsewhere, or is excluded itself.
    """
    way = relative_to(settings.root, folder)
    if way is None or any(patterns.covers(way + "/") for patterns in settings.exclude):
        return ""
    return way + "/"


def _frames_of(folder: str, names: set[str], errors: list[str]) -> tuple[Frame, ...]:
    """The ignore files of one folder, the weaker first."""
    frames: list[Frame] = []
    if ".git" in names:
        _read_ignore(os.path.join(folder, ".git", "info", "exclude"), frames, errors)
    if ".gitignore" in names:
        _read_ignore(os.path.join(folder, ".gitignore"), frames, errors)
    return tuple(frames)


def _read_ignore(path: str, frames: list[Frame], errors: list[str]) -> None:
    try:
        lines = read_regular(path).decode("utf-8", "surrogateescape").split("\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return
    except OSError as error:
        errors.append(f"{path}: {error.strerror or error}")
        return
    frames.append((Patterns(lines), ""))


def _frames_above(top: str, settings: Settings) -> tuple[Frame, ...]:
    """The ignore files between the top of the git repository and the folder asked for.

    A folder asked for outright is read even where they ignore it, so then they have no say.
    """
    if not settings.respect_gitignore:
        return ()
    top = os.path.abspath(top)
    above = []
    folder = top
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        folder = parent
        above.append(folder)
    frames: list[Frame] = []
    for folder in reversed(above):
        way = os.path.relpath(top, folder).replace(os.sep, "/") + "/"
        names = {
            name for name in (".git", ".gitignore") if os.path.lexists(os.path.join(folder, name))
        }
        frames.extend((patterns, way) for patterns, _ in _frames_of(folder, names, []))
    if any(patterns.covers(way) for patterns, way in frames):
        return ()
    return tuple(frames)
