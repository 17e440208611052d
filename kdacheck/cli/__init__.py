"""The command `kdacheck`: what a command line asks for, and the status it leaves.

`options` reads it, `lint` does the usual work, `commands` holds the rest; each is imported once it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would be a good part of what --version takes
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130

#: Words that are commands where they stand first: the functions of `commands`.
COMMANDS = ("rule", "contracts", "clean", "server")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    status = CLEAN
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has gone; nothing is left to tell it, and the interpreter must not try at exit
        _silence(sys.stdout)
        return status or FOUND
    except KeyboardInterrupt:
        _silence(sys.stdout)
        return INTERRUPTED
    except OSError as error:
        # what reads or writes files says so itself; this is the output, on a full disk say
        _silence(sys.stdout)
        sys.stderr.write(f"kdacheck: error: standard output: {error.strerror or error}\n")
        return FAILED
    return status


def _silence(stream: TextIO) -> None:
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        pass


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from kdacheck.version import VERSION

        print(f"kdacheck {VERSION}")
        return CLEAN
    from kdacheck.config import ConfigError

    try:
        if arguments and arguments[0] in COMMANDS:
            from kdacheck.cli import commands

            return getattr(commands, arguments[0])(arguments[1:])
        from kdacheck.cli import lint, options

        chosen = options.parse(arguments)
        if chosen.watch:
            from kdacheck import watch

            return watch.run(chosen)
        return lint.run(chosen)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else FAILED
    except ConfigError as error:
        return fail(str(error))


def fail(message: str) -> int:
    """Say what went wrong; the status for it."""
    from kdacheck.plain import plain

    sys.stdout.flush()
    sys.stderr.write(f"kdacheck: error: {plain(message)}\n")
    return FAILED


def note(message: str) -> None:
    """Say something beside the findings."""
    from kdacheck.plain import plain

    sys.stdout.flush()
    sys.stderr.write(f"kdacheck: {plain(message)}\n")
