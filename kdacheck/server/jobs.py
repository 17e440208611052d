"""What a worker process does for the server, one job at a time. Nothing here knows of the protocol."""

from __future__ import annotations

import os
from dataclasses import replace

from kdacheck import fixes, hosts, linter, places, releases
from kdacheck.config import Configuration
from kdacheck.finding import Finding, Origin
from kdacheck.linter import Result
from kdacheck.server.messages import Changed, Text
from kdacheck.source import keep, project
from kdacheck.source.text import Unreadable
from kdacheck.source.told import Told


def check(text: Text) -> Result:
    """The findings of a text. Raises ConfigError."""
    configuration = _configuration(text)
    result = linter.lint_text(text.path, text.data, configuration, text.around)
    hosts.leave_out_known(result, {text.path: text.data, **text.unsaved})
    for path in result.followed:
        _stamps[path] = _stamp(path)
    return result


def calls(text: Text, at: tuple[int, int] | None) -> list[Told]:
    """The contracted calls of a text, those around one place with their explanation. Raises ConfigError."""
    from kdacheck.source import may_matter
    from kdacheck.source.explain import tell

    settings = _configuration(text).of_folder(os.path.dirname(text.path))
    if settings.excludes(text.path) or not (may_matter(text.data) or text.around.exports):
        return []
    versions = releases.resolve(settings.versions, settings.root)
    try:
        return tell(
            text.path,
            text.data,
            versions,
            text.around.exports,
            at,
            settings.conventions,
            settings.root,
        )
    except (Unreadable, RecursionError):
        return []


def fix(text: Text, code: str, row: int, column: int) -> Changed:
    """The text with the finding at one place fixed, whether that is safe or not. Raises ConfigError."""
    check = _checker(text)

    def without_fixes(data: bytes) -> tuple[list[Finding], str | None]:
        findings, error = check(data)
        return [replace(finding, fix=None) for finding in findings], error

    findings, error = check(text.data)
    if error is not None:
        return Changed(text.data, error)
    only = [
        finding if _stands_at(finding, code, row, column) else replace(finding, fix=None)
        for finding in findings
    ]
    done = fixes.fix(text.data, only, without_fixes, unsafe=True)
    if done.fixed:
        return Changed(done.data)
    return Changed(text.data, done.refused[0][1] if done.refused else "there is nothing to fix")


def suppress(text: Text, code: str, row: int, column: int) -> Changed:
    """The text with a comment that allows the finding at one place. Raises ConfigError."""
    from kdacheck import ignores

    check = _checker(text)
    findings, error = check(text.data)
    if error is not None:
        return Changed(text.data, error)
    targets = [finding for finding in findings if _stands_at(finding, code, row, column)]
    done = ignores.add(text.data, findings, targets, "", check)
    if done.added:
        return Changed(done.data)
    return Changed(text.data, done.refused[0][1] if done.refused else "there is nothing to allow")


def _stands_at(finding: Finding, code: str, row: int, column: int) -> bool:
    return (finding.code, finding.location.row, finding.location.column) == (code, row, column)


def _checker(text: Text) -> fixes.Check:
    configuration = _configuration(text)

    def check(data: bytes) -> tuple[list[Finding], str | None]:
        result = linter.lint_text(text.path, data, configuration, text.around)
        hosts.leave_out_known(result, {text.path: data, **text.unsaved})
        return result.findings, result.errors[0] if result.errors else None

    return check


def fix_all(text: Text) -> Changed:
    """The text with everything fixed that is safe. Raises ConfigError."""
    check = _checker(text)
    findings, error = check(text.data)
    if error is not None:
        return Changed(text.data, error)
    return Changed(fixes.fix(text.data, findings, check, unsafe=False).data)


def look_around(root: str) -> Result:
    """What linting a whole folder gives, by absolute paths. Raises ConfigError."""
    from kdacheck.cache import Cache, folder_of

    if hasattr(os, "nice"):
        os.nice(10)
    os.chdir(root)
    linter.forget()
    configuration = Configuration()
    cache = Cache(folder_of(configuration))
    found = linter.lint([os.curdir], configuration, jobs=1, cache=cache)
    return Result(
        findings=[_by_absolute_path(finding) for finding in found.findings], exports=found.exports
    )


def _by_absolute_path(finding: Finding) -> Finding:
    def moved(origin: Origin) -> Origin:
        return replace(origin, filename=os.path.abspath(origin.filename))

    return replace(
        finding,
        filename=os.path.abspath(finding.filename),
        origins=tuple(map(moved, finding.origins)),
        inner=tuple(map(moved, finding.inner)),
    )


#: What told of each file that was followed, and of those that pin releases, when it was last asked.
_stamps: dict[str, tuple[int, int] | None] = {}
_pins: dict[str, object] = {}


def _configuration(text: Text) -> Configuration:
    """The settings as they are now, with everything forgotten that has changed since it was read."""
    os.chdir(text.root)
    keep()
    places.forget()
    project.take_unsaved(text.unsaved)
    for path, stamp in list(_stamps.items()):
        now = _stamp(path)
        if now != stamp:
            project.forget(path)
            _stamps[path] = now
    configuration = hosts.configuration()
    root = configuration.of_folder(os.path.dirname(text.path)).root
    pins = [(name, _stamp(os.path.join(root, name))) for name in releases.pin_files(root)]
    if _pins.get(root, pins) != pins:
        releases.forget()
    _pins[root] = pins
    return configuration


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
