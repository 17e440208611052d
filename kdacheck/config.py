"""Settings: `[tool.kdacheck]` of the nearest pyproject.toml, what it extends, and what the command line puts on top."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kdacheck.conventions import NONE, Conventions
from kdacheck.keys import (
    DEFAULT_EXCLUDE,
    KEYS,
    ConfigError,
    check_selectors,
    check_table,
    kind_of,
)
from kdacheck.patterns import Patterns
from kdacheck.regular import read_regular

COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True)
class Layer:
    """One source's choice of rules; a later layer speaks over an earlier one."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def _specificity(selectors: Iterable[str], code: str, name: str) -> int:
    best = 0
    for selector in selectors:
        if selector == "ALL":
            best = max(best, 1)
        elif selector == name:
            best = max(best, len(code))
        elif code.startswith(selector):
            best = max(best, len(selector))
    return best


@dataclass(frozen=True, slots=True)
class Rooted:
    """Patterns that may start at a folder above the one that paths are relative to; `way` leads down from there."""

    patterns: Patterns
    way: str = ""

    def match(self, path: str) -> bool | None:
        return self.patterns.match(self.way + path)

    def covers(self, path: str) -> bool:
        return self.patterns.covers(self.way + path)


@dataclass(frozen=True, slots=True)
class PerFile:
    """Rules that are off in the files that patterns cover, or in all others."""

    patterns: Rooted
    selectors: tuple[str, ...]
    others: bool = False

    def speaks_of(self, path: str) -> bool:
        return self.patterns.covers(path) is not self.others


@dataclass(frozen=True, slots=True)
class Source:
    """One place that settings are written in.

    name: a path, or COMMAND_LINE. folder: where its patterns start. home: where its paths start.
    """

    name: str
    folder: str
    home: str
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of one folder. sources: where it is written, the stronger later."""

    root: str
    layers: tuple[Layer, ...] = ()
    per_file_ignores: tuple[PerFile, ...] = ()
    exclude: tuple[Rooted, ...] = (Rooted(Patterns(DEFAULT_EXCLUDE)),)
    respect_gitignore: bool = True
    likely: bool = False
    conventions: Conventions = NONE
    versions: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    sources: tuple[Source, ...] = field(default=(), compare=False, repr=False)

    def selects(self, code: str, name: str) -> bool:
        """Whether the rule is on. Of two selectors the longer wins; of equals, `ignore`."""
        on = True
        for layer in self.layers:
            chosen = layer.extend_select + (layer.select or ())
            up = _specificity(chosen, code, name)
            down = _specificity(layer.ignore, code, name)
            if down or up:
                on = up > down
            elif layer.select is not None:
                on = False
        return on

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """The selectors that `per-file-ignores` turns off in this file."""
        if not self.per_file_ignores:
            return ()
        relative = relative_to(self.root, path) or os.path.basename(path)
        return tuple(
            selector
            for entry in self.per_file_ignores
            if entry.speaks_of(relative)
            for selector in entry.selectors
        )

    def rule_filter(self, path: str) -> Callable[[str, str], bool]:
        """A test of (code, name) for one file."""
        off = self.ignored_in(path)
        return lambda code, name: self.selects(code, name) and not _specificity(off, code, name)

    def excludes(self, path: str) -> bool:
        """Whether a path named on the command line, or a folder above it, is excluded."""
        relative = relative_to(self.root, path)
        return relative is not None and any(patterns.covers(relative) for patterns in self.exclude)


def relative_to(root: str, path: str) -> str | None:
    """The path below root with forward slashes; None for one elsewhere."""
    relative = os.path.relpath(os.path.abspath(path), root) if _same_drive(root, path) else ".."
    if relative == os.curdir or relative.split(os.sep, 1)[0] == os.pardir:
        return None
    return relative.replace(os.sep, "/")


def _same_drive(root: str, path: str) -> bool:
    return os.path.splitdrive(root)[0] == os.path.splitdrive(os.path.abspath(path))[0]


@dataclass(frozen=True, slots=True)
class Overrides:
    """The choices of one command line. baseline: "" for none, whatever the files say."""

    config: str | None = None
    isolated: bool = False
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, str], ...] = ()
    respect_gitignore: bool | None = None
    likely: bool = False
    force_exclude: bool = False
    extend_per_file_ignores: tuple[tuple[str, str], ...] = ()
    baseline: str | None = None

    def table(self) -> dict[str, Any]:
        """The same, as the table of a file that says it."""
        said: dict[str, Any] = {
            "select": self.select,
            "extend-select": self.extend_select or None,
            "ignore": self.ignore or None,
            "per-file-ignores": _by_pattern(self.per_file_ignores),
            "extend-per-file-ignores": _by_pattern(self.extend_per_file_ignores),
            "exclude": self.exclude,
            "extend-exclude": self.extend_exclude or None,
            "respect-gitignore": self.respect_gitignore,
            "likely": self.likely or None,
            "baseline": self.baseline,
        }
        return {key: value for key, value in said.items() if value is not None}


def _by_pattern(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]] | None:
    found: dict[str, tuple[str, ...]] = {}
    for pattern, selector in pairs:
        found[pattern] = (*found.get(pattern, ()), selector)
    return found or None


class Configuration:
    """Finds and keeps the settings of every folder that is linted."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        self._folders: dict[str, Settings] = {}
        self._given = self.overrides.table()
        for key in ("select", "extend-select", "ignore"):
            check_selectors(self._given.get(key, ()), f"--{key}")
        for key in ("per-file-ignores", "extend-per-file-ignores"):
            for selectors in self._given.get(key, {}).values():
                check_selectors(selectors, f"--{key}")
        here = os.getcwd()
        self.fallback = self._effective((), here)
        self.fixed: Settings | None = None
        given = self.overrides.config
        if given is not None:
            own = Source(given, here, _folder_of(given), _read_given(given, _any_file))
            self.fixed = self._effective((*_extended(own, (_real(given),)), own), here)
        elif self.overrides.isolated:
            self.fixed = self.fallback

    def of_folder(self, folder: str) -> Settings:
        """The settings of the nearest pyproject.toml with a `[tool.kdacheck]` table."""
        if self.fixed is not None:
            return self.fixed
        folder = os.path.abspath(folder)
        passed = []
        settings = self.fallback
        while True:
            if folder in self._folders:
                settings = self._folders[folder]
                break
            passed.append(folder)
            own = self._own(folder)
            if own is not None:
                settings = own
                break
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
        for below in passed:
            self._folders[below] = settings
        return settings

    def below(self, folder: str, inherited: Settings) -> Settings:
        """The settings of a folder that holds a pyproject.toml, met on the way down."""
        if self.fixed is not None:
            return inherited
        return self._own(os.path.abspath(folder)) or inherited

    def _own(self, folder: str) -> Settings | None:
        path = os.path.join(folder, "pyproject.toml")
        try:
            data = read_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from None
        # a broken pyproject.toml that has nothing to say to kdacheck is somebody else's concern
        if b"kdacheck" not in data:
            return None
        table = _tool_table(path, data)
        if table is None:
            return None
        own = Source(path, folder, folder, check_table(path, "tool.kdacheck.", table))
        return self._effective((*_extended(own, (_real(path),)), own), folder)

    def _effective(self, files: tuple[Source, ...], root: str) -> Settings:
        sources = files
        if self._given:
            sources = (*files, Source(COMMAND_LINE, root, os.getcwd(), self._given))

        def strongest(key: str) -> tuple[Any, Source | None]:
            for source in reversed(sources):
                if key in source.table:
                    return source.table[key], source
            return KEYS[key].default, None

        def rooted(lines: Iterable[str], source: Source | None) -> Rooted:
            return Rooted(Patterns(lines), _way(source.folder, root) if source else "")

        exclude, of_exclude = strongest("exclude")
        patterns = [(exclude, of_exclude)]
        patterns += [(source.table.get("extend-exclude", ()), source) for source in sources]
        per_file = [strongest("per-file-ignores")]
        per_file += [
            (source.table.get("extend-per-file-ignores", {}), source) for source in sources
        ]
        baseline, of_baseline = strongest("baseline")
        if baseline and of_baseline is not None:
            baseline = os.path.normpath(os.path.join(of_baseline.home, baseline))
            if of_baseline.name != COMMAND_LINE and not _lies_below(of_baseline.home, baseline):
                raise ConfigError(
                    f"{of_baseline.name}: `baseline` must lie below the folder of this file, as it is written: {baseline}"
                )
        versions: dict[str, str] = {}
        for source in sources:
            versions.update(source.table.get("versions", {}))
        return Settings(
            root=root,
            layers=tuple(layer for layer in map(_layer, sources) if layer != Layer()),
            per_file_ignores=tuple(
                PerFile(
                    rooted((pattern.removeprefix("!"),), source),
                    tuple(selectors),
                    pattern.startswith("!"),
                )
                for table, source in per_file
                for pattern, selectors in table.items()
            ),
            exclude=tuple(rooted(lines, source) for lines, source in patterns if lines),
            respect_gitignore=strongest("respect-gitignore")[0],
            likely=strongest("likely")[0],
            conventions=Conventions(
                strongest("suffix-shapes")[0], strongest("docstring-shapes")[0]
            ),
            versions=versions,
            baseline=baseline or None,
            sources=sources,
        )


def _lies_below(folder: str, path: str) -> bool:
    """Whether a path lies below a folder, wherever links lead."""
    return relative_to(_real(folder), _real(path)) is not None


def _layer(source: Source) -> Layer:
    table = source.table
    select = table.get("select")
    return Layer(
        None if select is None else tuple(select),
        tuple(table.get("extend-select", ())),
        tuple(table.get("ignore", ())),
    )


def _way(folder: str, root: str) -> str:
    """The way down from a folder to the root; none where it does not lie above: its patterns start at the root then."""
    way = relative_to(folder, root)
    return "" if way is None else way + "/"


def _real(path: str) -> str:
    return os.path.realpath(path)


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _extended(source: Source, chain: tuple[str, ...]) -> Iterator[Source]:
    """The files that a file extends, the weaker first. chain: what led here."""
    given = source.table.get("extend")
    if given is None:
        return
    path = os.path.normpath(os.path.join(source.home, given))
    if _real(path) in chain:
        raise ConfigError(f"{source.name}: `extend` leads back to {path}")
    try:
        table = _read_given(path)
    except ConfigError as error:
        raise ConfigError(f"{source.name}: `extend`: {error}") from None
    folder = os.path.dirname(path)
    base = Source(path, folder, folder, table)
    yield from _extended(base, (*chain, _real(path)))
    yield base


def _any_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_given(path: str, read: Callable[[str], bytes] = read_regular) -> dict[str, Any]:
    try:
        data = read(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    if os.path.basename(path) != "pyproject.toml":
        return check_table(path, "", _parsed(path, data))
    table = _tool_table(path, data)
    if table is None:
        raise ConfigError(f"{path}: there is no [tool.kdacheck] table")
    return check_table(path, "tool.kdacheck.", table)


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except ValueError as error:  # numbers of too many digits among them
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None


def _tool_table(path: str, data: bytes) -> dict[str, Any] | None:
    tool = _parsed(path, data).get("tool")
    table = tool.get("kdacheck") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.kdacheck` must be a table, not {kind_of(table)}")
    return table
