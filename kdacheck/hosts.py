"""Linting inside other tools, which have a command line of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kdacheck.config import Configuration, Overrides
from kdacheck.linter import Result, lint


def configuration() -> Configuration:
    """The settings of the files alone; what they exclude is left out even where the host names it."""
    return Configuration(Overrides(force_exclude=True))


def lint_paths(paths: Iterable[str], *, jobs: int | None = 1) -> Result:
    """Lint files and folders as the command does, less what a baseline knows. Raises ConfigError."""
    from kdacheck.cache import Cache, folder_of

    settings = configuration()
    result = lint(paths, settings, jobs=jobs, cache=Cache(folder_of(settings)))
    leave_out_known(result, {})
    return result


def leave_out_known(result: Result, texts: Mapping[str, bytes]) -> None:
    """Take out of a result what a baseline knows. texts: what files say where the disk does not. Raises ConfigError."""
    if any(settings.baseline is not None for _, settings in result.checked):
        from kdacheck.cli import adopt

        adopt.leave_out_known(result, texts, quiet=True)
