"""Settings: `[tool.kdacheck]` of the nearest pyproject.toml, and what the command line puts on top."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kdacheck.patterns import Patterns

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".kdacheck_cache",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


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
class Settings:
    """What holds for the files of one folder."""

    root: str
    layers: tuple[Layer, ...] = ()
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    exclude: tuple[Patterns, ...] = (Patterns(DEFAULT_EXCLUDE),)
    respect_gitignore: bool = True
    likely: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)

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
            for patterns, selectors in self.per_file_ignores
            if patterns.covers(relative)
            for selector in selectors
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
    """The choices of one command line."""

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


class Configuration:
    """Finds and keeps the settings of every folder that is linted."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        self._folders: dict[str, Settings] = {}
        given = self.overrides
        for option, selectors in (
            ("--select", given.select or ()),
            ("--extend-select", given.extend_select),
            ("--ignore", given.ignore),
            ("--per-file-ignores", tuple(selector for _, selector in given.per_file_ignores)),
        ):
            _check_selectors(selectors, f"{option}")
        self.fallback = self._effective({}, os.getcwd())
        self.fixed: Settings | None = None
        if given.config is not None:
            self.fixed = self._effective(_read_given(given.config), os.getcwd())
        elif given.isolated:
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
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from None
        # a broken pyproject.toml that has nothing to say to kdacheck is somebody else's concern
        if b"kdacheck" not in data:
            return None
        table = _tool_table(path, data)
        return (
            None
            if table is None
            else self._effective(_checked(path, "tool.kdacheck.", table), folder)
        )

    def _effective(self, table: dict[str, Any], root: str) -> Settings:
        given = self.overrides
        layers = []
        if "select" in table or "ignore" in table:
            select = table.get("select")
            layers.append(
                Layer(None if select is None else tuple(select), (), tuple(table.get("ignore", ())))
            )
        if given.select is not None or given.extend_select or given.ignore:
            layers.append(Layer(given.select, given.extend_select, given.ignore))

        per_file: dict[str, tuple[str, ...]] = {
            pattern: tuple(codes) for pattern, codes in table.get("per-file-ignores", {}).items()
        }
        if given.per_file_ignores:
            per_file = {}
            for pattern, selector in given.per_file_ignores:
                per_file[pattern] = (*per_file.get(pattern, ()), selector)

        exclude = given.exclude
        if exclude is None:
            exclude = tuple(table.get("exclude", DEFAULT_EXCLUDE))
        extra = (*table.get("extend-exclude", ()), *given.extend_exclude)
        respect = given.respect_gitignore
        if respect is None:
            respect = table.get("respect-gitignore", True)
        return Settings(
            root=root,
            layers=tuple(layers),
            per_file_ignores=tuple(
                (Patterns((pattern,)), codes) for pattern, codes in per_file.items()
            ),
            exclude=tuple(Patterns(lines) for lines in (exclude, extra) if lines),
            respect_gitignore=respect,
            likely=given.likely or table.get("likely", False),
            versions=dict(table.get("versions", {})),
        )


def _read_given(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    if os.path.basename(path) != "pyproject.toml":
        return _checked(path, "", _parsed(path, data))
    table = _tool_table(path, data)
    if table is None:
        raise ConfigError(f"{path}: there is no [tool.kdacheck] table")
    return _checked(path, "tool.kdacheck.", table)


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _tool_table(path: str, data: bytes) -> dict[str, Any] | None:
    tool = _parsed(path, data).get("tool")
    table = tool.get("kdacheck") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.kdacheck` must be a table, not {_kind(table)}")
    return table


def _kind(value: object) -> str:
    names = {bool: "a boolean", str: "a string", int: "an integer", float: "a float"}
    names |= {list: "an array", dict: "a table"}
    return names.get(type(value), "a date or time")


def _strings(where: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} must be an array of strings, not {_kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise ConfigError(f"{where} must be an array of strings, but holds {_kind(item)}")
    return value


def _selectors(where: str, value: object) -> None:
    _check_selectors(_strings(where, value), where)


def _codes_by_pattern(where: str, value: object) -> None:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of pattern to rules, not {_kind(value)}")
    for pattern, codes in value.items():
        _selectors(f'{where}."{pattern}"', codes)


def _boolean(where: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, not {_kind(value)}")


def _versions(where: str, value: object) -> None:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of library to version, not {_kind(value)}")
    from kdacheck.contracts.versions import NEWEST

    for library, version in value.items():
        if library not in NEWEST:
            import difflib

            close = difflib.get_close_matches(library, NEWEST, n=1, cutoff=0.4)
            hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(NEWEST)}"
            raise ConfigError(f"{where} speaks of no library that is known: `{library}` ({hint})")
        if not isinstance(version, str):
            raise ConfigError(
                f'{where}.{library} must be a string such as "0.6.0", not {_kind(version)}'
            )
        if not re.fullmatch(r"\d+(\.\d+)*([.+-]?[A-Za-z0-9]+)*", version):
            raise ConfigError(f'{where}.{library} must be one version such as "0.6.0": {version!r}')


_KEYS: dict[str, Callable[[str, object], object]] = {
    "select": _selectors,
    "ignore": _selectors,
    "per-file-ignores": _codes_by_pattern,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _boolean,
    "likely": _boolean,
    "versions": _versions,
}


def _checked(path: str, prefix: str, table: dict[str, Any]) -> dict[str, Any]:
    for key, value in table.items():
        check = _KEYS.get(key)
        if check is None:
            import difflib

            close = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f" (known: {', '.join(_KEYS)})"
            raise ConfigError(f"{path}: unknown key `{prefix}{key}`{hint}")
        try:
            check(f"`{prefix}{key}`", value)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return table


def known_rules() -> dict[str, str]:
    """Code to name of every rule there is."""
    from kdacheck.rules import catalogue

    return {rule.code: rule.name for rule in catalogue()}


def _check_selectors(selectors: Iterable[str], where: str) -> None:
    selectors = tuple(selectors)
    if not selectors:
        return
    rules = known_rules()
    names = frozenset(rules.values())
    for selector in selectors:
        if selector == "ALL" or selector in names:
            continue
        if selector and any(code.startswith(selector) for code in rules):
            continue
        import difflib

        close = difflib.get_close_matches(selector, [*rules, *names], n=1)
        hint = f"; did you mean `{close[0]}`?" if close else ""
        raise ConfigError(f"{where}: there is no rule `{selector}`{hint}")
