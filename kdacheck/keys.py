"""The keys of `[tool.kdacheck]`: what each takes, what holds without it, what it does.

The checks of `kdacheck.config`, the JSON schema for editors and `--show-settings` all go by this list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

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

#: One release, as `versions` names it. [0-9], not \d: a schema's reader knows ASCII digits only.
_RELEASE = r"[0-9]+(\.[0-9]+)*([.+-]?[A-Za-z0-9]+)*"


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


class Kind(Protocol):
    """What a key takes: `check` raises ConfigError for a value of another kind, `schema` says the same in JSON Schema."""

    def check(self, where: str, value: object) -> None: ...

    def schema(self) -> dict[str, Any]: ...


def kind_of(value: object) -> str:
    """What TOML calls a value."""
    names = {bool: "a boolean", str: "a string", int: "an integer", float: "a float"}
    names |= {list: "an array", dict: "a table"}
    return names.get(type(value), "a date or time")


class Strings:
    def check(self, where: str, value: object) -> None:
        if not isinstance(value, list):
            raise ConfigError(f"{where} must be an array of strings, not {kind_of(value)}")
        for item in value:
            if not isinstance(item, str):
                raise ConfigError(f"{where} must be an array of strings, but holds {kind_of(item)}")

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}


class Selectors:
    def check(self, where: str, value: object) -> None:
        Strings().check(where, value)
        assert isinstance(value, list)
        check_selectors(value, where)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"$ref": "#/definitions/rule"}}


class SelectorsByPattern:
    def check(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ConfigError(f"{where} must be a table of pattern to rules, not {kind_of(value)}")
        for pattern, selectors in value.items():
            Selectors().check(f'{where}."{pattern}"', selectors)

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": Selectors().schema()}


class Boolean:
    def check(self, where: str, value: object) -> None:
        if not isinstance(value, bool):
            raise ConfigError(f"{where} must be true or false, not {kind_of(value)}")

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class FilePath:
    def check(self, where: str, value: object) -> None:
        if not isinstance(value, str):
            raise ConfigError(f"{where} must be a path, not {kind_of(value)}")
        if not value:
            raise ConfigError(f"{where} must be a path, not an empty string")

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class Releases:
    def check(self, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ConfigError(
                f"{where} must be a table of library to version, not {kind_of(value)}"
            )
        from kdacheck.contracts.versions import NEWEST

        for library, version in value.items():
            if library not in NEWEST:
                hint = close_to(library, NEWEST, 0.4) or f"known: {', '.join(NEWEST)}"
                raise ConfigError(
                    f"{where} speaks of no library that is known: `{library}` ({hint})"
                )
            if not isinstance(version, str):
                raise ConfigError(
                    f'{where}.{library} must be a string such as "0.6.0", not {kind_of(version)}'
                )
            if not re.fullmatch(_RELEASE, version):
                raise ConfigError(
                    f'{where}.{library} must be one version such as "0.6.0": {version!r}'
                )

    def schema(self) -> dict[str, Any]:
        from kdacheck.contracts.versions import NEWEST

        release = {"type": "string", "pattern": f"^{_RELEASE}$"}
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(NEWEST, release),
        }


@dataclass(frozen=True, slots=True)
class Key:
    """One key. default: what holds where no file has it. adds: a stronger file's value is put to a weaker one's, not in its place."""

    name: str
    kind: Kind
    default: Any
    about: str
    adds: bool = False


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            "extend",
            FilePath(),
            None,
            "A file whose settings hold where this one says nothing: a pyproject.toml, or a TOML file with the same "
            "keys at its top. Relative to the folder of this file.",
        ),
        Key(
            "select",
            Selectors(),
            ["ALL"],
            "The rules that are on: codes, prefixes of codes, names, or ALL.",
        ),
        Key("extend-select", Selectors(), [], "Rules that are on as well.", adds=True),
        Key(
            "ignore",
            Selectors(),
            [],
            "The rules that are off. Of two selectors the longer one wins; of equals, this one.",
        ),
        Key(
            "per-file-ignores",
            SelectorsByPattern(),
            {},
            "Rules that are off in the files that match a pattern; one that begins with ! means all other files.",
        ),
        Key(
            "extend-per-file-ignores",
            SelectorsByPattern(),
            {},
            "The same, added to what the file that is extended says.",
            adds=True,
        ),
        Key(
            "exclude",
            Strings(),
            list(DEFAULT_EXCLUDE),
            "Patterns, as in a .gitignore, of files and folders that are left out.",
        ),
        Key("extend-exclude", Strings(), [], "Patterns of what is left out as well.", adds=True),
        Key("respect-gitignore", Boolean(), True, "Whether what git ignores is left out."),
        Key(
            "likely",
            Boolean(),
            False,
            "Whether strong evidence that may have an innocent reading is reported too, marked (likely).",
        ),
        Key(
            "suffix-shapes",
            Boolean(),
            False,
            "Whether the end of a name tells the axes of a tensor, one capital letter each: q_BTHK.",
        ),
        Key(
            "docstring-shapes",
            Boolean(),
            False,
            "Whether docstrings tell the shapes of parameters: q (torch.Tensor): queries of shape `[B, T, H, K]`.",
        ),
        Key(
            "baseline",
            FilePath(),
            None,
            "A file of findings that are known, and not reported. Relative to the folder of this file.",
        ),
        Key(
            "versions",
            Releases(),
            {},
            "Releases of the kernels' libraries that the code is written for.",
            adds=True,
        ),
    )
}


def close_to(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """ "did you mean ...?" where a known word is close, else nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"did you mean `{close[0]}`?" if close else ""


def check_table(path: str, prefix: str, table: dict[str, Any]) -> dict[str, Any]:
    """The table, if every key of it is known and takes its value. Raises ConfigError."""
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            hint = close_to(name, KEYS)
            hint = f"; {hint}" if hint else f" (known: {', '.join(KEYS)})"
            raise ConfigError(f"{path}: unknown key `{prefix}{name}`{hint}")
        try:
            key.kind.check(f"`{prefix}{name}`", value)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return table


def known_rules() -> dict[str, str]:
    """Code to name of every rule there is."""
    from kdacheck.rules import catalogue

    return {rule.code: rule.name for rule in catalogue()}


def check_selectors(selectors: Iterable[str], where: str) -> None:
    """Raise ConfigError for a selector that means no rule."""
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
        hint = close_to(selector, [*rules, *names])
        raise ConfigError(f"{where}: there is no rule `{selector}`{'; ' if hint else ''}{hint}")
