"""Options that show something in place of linting."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kdacheck.cli import CLEAN, FAILED, fail, note
from kdacheck.config import COMMAND_LINE, Configuration, Settings, Source
from kdacheck.discovery import discover
from kdacheck.keys import KEYS
from kdacheck.report import shown


def call(place: str, configuration: Configuration) -> int:
    """The calls on one line, as the linter understands them."""
    path, _, line = place.rpartition(":")
    if not path or not line.isdecimal():
        return fail(f"--explain takes FILE:LINE, not {place!r}")
    from kdacheck import releases
    from kdacheck.linter import read
    from kdacheck.source import Unreadable
    from kdacheck.source.explain import explain

    settings = configuration.of_folder(os.path.dirname(path) or os.curdir)
    try:
        data = read(path)
        versions = releases.resolve(settings.versions, settings.root)
        found = explain(path, data, int(line), versions, settings.conventions, settings.root)
    except OSError as error:
        return fail(f"{path}: {error.strerror or error}")
    except Unreadable as error:
        return fail(f"{path}:{error.row}: {error.message}")
    if found.text:
        sys.stdout.write(found.text)
        return CLEAN
    lines = ", ".join(map(str, found.lines))
    where = (
        f"there are some on line{'s' * (len(found.lines) > 1)} {lines}"
        if lines
        else "nor elsewhere in it"
    )
    return fail(f"{path}: no call of a known kernel on line {line}, {where}")


def files(paths: Sequence[str], configuration: Configuration) -> int:
    """The files that would be checked, one a line."""
    errors: list[str] = []
    found = sorted(path for path, _ in discover(paths, configuration, errors))
    sys.stdout.write("".join(f"{shown(path)}\n" for path in found))
    for error in sorted(errors):
        fail(error)
    if not found and not errors:
        note(f"no Python file found in {', '.join(paths)}")
    return FAILED if errors else CLEAN


def settings(paths: Sequence[str], configuration: Configuration) -> int:
    """The settings of the first file that would be checked, and where each is written."""
    errors: list[str] = []
    found = dict(discover(paths, configuration, errors))
    for error in sorted(errors):
        fail(error)
    if found:
        path = min(found)
        sys.stdout.write("".join(f"{line}\n" for line in _settings(path, found[path])))
    elif not errors:
        note(f"no Python file found in {', '.join(paths)}")
    return FAILED if errors else CLEAN


def _settings(path: str, settings: Settings) -> Iterator[str]:
    from kdacheck import releases
    from kdacheck.keys import known_rules

    yield f"# the settings of {shown(path)}"
    yield f"# the project: {settings.root}"
    for source in reversed(settings.sources):
        yield f"# from: {_name(source)}"
    yield ""
    for key in KEYS.values():
        said = [source for source in settings.sources if key.name in source.table]
        values = [(source.table[key.name], _name(source)) for source in said]
        if not values and key.default not in (None, [], {}):
            values = [(key.default, "default")]
        if key.name == "baseline" and values:
            values = [(settings.baseline or "", values[-1][1])]
        yield from _toml(key.name, values if key.adds else values[-1:])
    yield ""
    used = releases.resolve(settings.versions, settings.root)
    for library, release in sorted(used.items()):
        yield f"# release: {library} {release} ({used.reasons[library]})"
    selected = settings.rule_filter(path)
    rules = known_rules()
    off = [code for code, name in rules.items() if not selected(code, name)]
    told = f", all but {', '.join(off)}" if off else ""
    yield f"# rules for this file: {len(rules) - len(off)} of {len(rules)}{told}"


def _name(source: Source) -> str:
    return source.name if source.name == COMMAND_LINE else shown(source.name)


def _toml(key: str, values: Sequence[tuple[Any, str]]) -> Iterator[str]:
    """One key as TOML has it, beside it where each part of its value is written."""
    if len(values) > 1 and not isinstance(values[0][0], Mapping):
        yield f"{key} = ["
        for items, origin in values:
            yield from (f"  {_literal(item)},  # {origin}" for item in items)
        yield "]"
        return
    parts: dict[str, tuple[Any, str]] = {}
    for value, origin in values:
        if not isinstance(value, Mapping):
            yield f"{key} = {_literal(value)}  # {origin}"
            continue
        for name, item in value.items():
            before = parts.get(name)
            if before is not None and not isinstance(item, str):
                parts[name] = [*before[0], *item], f"{before[1]}, {origin}"
            else:
                parts[name] = item, origin
    for name, (item, origin) in parts.items():
        yield f"{key}.{_literal(name)} = {_literal(item)}  # {origin}"


def _literal(value: object) -> str:
    """A value in TOML, whose strings, arrays and booleans are those of JSON."""
    import json

    return json.dumps(value, ensure_ascii=False)
