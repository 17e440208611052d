"""The commands beside linting: one function each, named as the word on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from kdacheck.cli import CLEAN, fail, note


def rule(arguments: list[str]) -> int:
    """What a rule says, or the list of all."""
    from kdacheck import explain

    return _look_up("rule", "Print what a rule says, or list all rules.", explain.rules, arguments)


def contracts(arguments: list[str]) -> int:
    """What a kernel asks of its arguments, or the list of all."""
    from kdacheck import explain

    about = "Print what a kernel asks of its arguments, or list all contracts."
    return _look_up("contracts", about, explain.contracts, arguments)


def _look_up(
    command: str, about: str, find: Callable[[str | None], str | None], arguments: list[str]
) -> int:
    parser = argparse.ArgumentParser(
        prog=f"kdacheck {command}", allow_abbrev=False, description=about
    )
    what = "CODE or NAME" if command == "rule" else "NAME"
    parser.add_argument("key", metavar=what, nargs="?")
    key: str | None = parser.parse_args(arguments).key
    text = find(key)
    if text is None:
        known = "rule" if command == "rule" else "contract"
        return fail(f"there is no {known} `{key}`; `kdacheck {command}` lists all")
    sys.stdout.write(text)
    return CLEAN


def clean(arguments: list[str]) -> int:
    """Remove the cache."""
    from kdacheck import cache
    from kdacheck.config import Configuration
    from kdacheck.report import shown

    parser = argparse.ArgumentParser(
        prog="kdacheck clean",
        allow_abbrev=False,
        description="Remove the cache of the project around the current folder.",
    )
    parser.parse_args(arguments)
    folder = cache.folder_of(Configuration())
    try:
        removed = cache.clean(folder)
    except OSError as error:
        return fail(f"{folder}: {error.strerror or error}")
    note(f"{'removed' if removed else 'there is no cache at'} {shown(folder)}")
    return CLEAN


def server(arguments: list[str]) -> int:
    """Serve an editor."""
    from kdacheck.server import command

    return command.run(arguments)
