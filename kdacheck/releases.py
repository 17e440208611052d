"""Which release of a library a project uses: configured, pinned, installed, or the newest known."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kdacheck.contracts.versions import NEWEST
from kdacheck.regular import read_regular

#: Distributions that are released together with one of the catalogue.
_SAME_RELEASE = {"flash-linear-attention": "fla-core"}

_PIN = re.compile(
    r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([0-9][0-9A-Za-z.+!-]*)"
)
_REQUIREMENTS = re.compile(r"^(?:requirements|constraints)[\w.-]*\.(?:txt|in)$")
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")


class Releases(dict[str, str]):
    """distribution -> release; `reasons` says where each was found."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}

    def learn(self, found: Iterable[tuple[str, str]], reason: str) -> None:
        """Take releases of distributions that nothing has told of yet."""
        for name, version in found:
            package = _canonical(name)
            package = _SAME_RELEASE.get(package, package)
            if package in NEWEST and package not in self:
                self[package] = version
                self.reasons[package] = reason


def fingerprint(configured: Mapping[str, str], root: str) -> str:
    """What `resolve` goes by, as text that is another wherever its answer may be; no file is parsed."""
    import hashlib

    pins = hashlib.sha256()
    for name in pin_files(root):
        pins.update(f"{name} ".encode() + _text(os.path.join(root, name)).encode())
    return repr((sorted(configured.items()), pins.hexdigest(), _installed()))


def pin_files(root: str) -> list[str]:
    """The files of a project that can pin a release."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    return [n for n in names if n == "pyproject.toml" or n in _LOCKS or _REQUIREMENTS.match(n)]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve(configured: Mapping[str, str], root: str) -> Releases:
    """The releases for files of the project at `root`: the configuration, its pins, the environment, in this order."""
    releases = Releases()
    releases.learn(configured.items(), "configured")
    for name, pins in _pinned(root):
        releases.learn(pins, f"pinned in {name}")
    releases.learn(_installed(), "installed")
    return releases


def forget() -> None:
    """Look anew at what projects pin and what is installed."""
    _pinned.cache_clear()
    _installed.cache_clear()


@lru_cache(maxsize=64)
def _pinned(root: str) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """(file, its exact pins) for the files of a project that can pin a release."""
    found = []
    for name in pin_files(root):
        text = _text(os.path.join(root, name))
        pins = _toml_pins(text) if not _REQUIREMENTS.match(name) else _line_pins(text.splitlines())
        if pins:
            found.append((name, tuple(pins)))
    # A lock file tells the release in use, a requirement only which are allowed.
    return tuple(sorted(found, key=lambda item: item[0] not in _LOCKS))


def _text(path: str) -> str:
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except OSError:
        return ""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line_pins(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [match.groups() for line in lines if (match := _PIN.match(line))]  # type: ignore[misc]


def _toml_pins(text: str) -> list[tuple[str, str]]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError):
        return []
    packages = data.get("package", data.get("packages"))
    if isinstance(packages, list):
        return [
            (entry["name"], entry["version"])
            for entry in packages
            if isinstance(entry, dict)
            and isinstance(entry.get("name"), str)
            and isinstance(entry.get("version"), str)
        ]
    project = data.get("project")
    groups = _values(data.get("dependency-groups"))
    if isinstance(project, dict):
        groups = [
            project.get("dependencies"),
            *_values(project.get("optional-dependencies")),
            *groups,
        ]
    lines = [line for group in groups if isinstance(group, list) for line in group]
    return _line_pins(line for line in lines if isinstance(line, str))


def _values(table: object) -> list[object]:
    return list(table.values()) if isinstance(table, dict) else []


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    """(distribution, release) of what is installed beside kdacheck, by the names of the metadata folders alone."""
    wanted = {*NEWEST, *_SAME_RELEASE}
    found = []
    for folder in sys.path:
        try:
            names = (
                os.listdir(folder or ".")
                if "site-packages" in folder or "dist-packages" in folder
                else []
            )
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                package, _, version = name.removesuffix(".dist-info").partition("-")
                if _canonical(package) in wanted and version:
                    found.append((package, version))
    return tuple(found)
