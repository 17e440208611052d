"""The usual work: check files, fix them where asked, and say what was found."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from kdacheck.cli import CLEAN, FAILED, FOUND, fail, note, show, summary
from kdacheck.cli import options as command_line
from kdacheck.config import ConfigError, Configuration
from kdacheck.linter import Result, fix, fix_text, lint, lint_text
from kdacheck.report import shown, write


def run(options: argparse.Namespace) -> int:
    """Lint by the options, and return the exit status. Raises ConfigError."""
    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated exclude each other")
    paths: list[str] = options.paths or [os.curdir]
    configuration = Configuration(command_line.overrides(options))
    if options.explain is not None:
        return show.call(options.explain, configuration)
    texts: dict[str, bytes] = {}
    if "-" in paths:
        if len(paths) > 1:
            raise ConfigError("`-` stands alone: standard input and other paths exclude each other")
        name = options.stdin_filename or "-"
        data = texts[name] = sys.stdin.buffer.read()
        result = lint_text(name, data, configuration)
    elif options.stdin_filename is not None:
        raise ConfigError("--stdin-filename goes with the path `-`")
    else:
        cache = None
        if not options.no_cache:
            from kdacheck.cache import Cache, folder_of

            cache = Cache(folder_of(configuration))
        result = lint(paths, configuration, jobs=options.jobs, cache=cache)

    stream = sys.stdout
    if options.diff or options.fix:
        if texts:
            _fix_text(options, result, configuration, texts)
            stream = sys.stderr
        else:
            fix(result, configuration, unsafe=options.unsafe_fixes, write=not options.diff)
        for finding, why in result.refused:
            place = finding.location
            note(
                f"{finding.filename}:{place.row}:{place.column}: "
                f"the fix of {finding.code} was not applied: {why}"
            )
    if options.diff:
        return _show_difference(options, result)
    if options.output_file is None:
        _report(options, result, stream, texts)
    else:
        try:
            with open(
                options.output_file, "w", encoding="utf-8", errors="backslashreplace"
            ) as file:
                _report(options, result, file, texts)
        except OSError as error:
            return fail(f"{options.output_file}: {error.strerror or error}")
    sys.stdout.flush()
    for error in result.errors:
        fail(error)
    if result.files == 0 and not result.errors:
        note(f"no Python file found in {', '.join(paths)}")
    if result.errors:
        return FAILED
    return FOUND if result.findings and not options.exit_zero else CLEAN


def _fix_text(
    options: argparse.Namespace,
    result: Result,
    configuration: Configuration,
    texts: dict[str, bytes],
) -> None:
    """Fix standard input: what became of it goes to standard output, everything else to standard error."""
    ((name, data),) = texts.items()
    done = fix_text(name, data, result.findings, configuration, unsafe=options.unsafe_fixes)
    result.findings, result.fixed, result.refused = done.findings, done.fixed, done.refused
    texts[name] = done.data
    if options.diff:
        result.texts[name] = data, done.data
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(done.data)
        sys.stdout.flush()


def _show_difference(options: argparse.Namespace, result: Result) -> int:
    from kdacheck.fixes import difference

    changed = False
    for path, (before, after) in sorted(result.texts.items()):
        text = difference(shown(path), before, after)
        changed = changed or bool(text)
        sys.stdout.write(text)
    sys.stdout.flush()
    for error in result.errors:
        fail(error)
    if not options.quiet:
        count = len(result.fixed)
        note(f"would fix {count} finding{'' if count == 1 else 's'}" if count else "nothing to fix")
    if result.errors:
        return FAILED
    return FOUND if changed and not options.exit_zero else CLEAN


def _report(
    options: argparse.Namespace, result: Result, stream: TextIO, texts: dict[str, bytes]
) -> None:
    colour = summary.colour(stream, options.no_color)
    if options.statistics:
        summary.statistics(options.output_format, result, stream)
        return
    write(
        options.output_format,
        result.findings,
        stream,
        colour=colour,
        texts=texts,
        unsafe=options.unsafe_fixes,
    )
    if options.output_format in ("full", "concise") and not options.quiet and result.files:
        stream.write(summary.line(result) + "\n")
        fixable = summary.fixable(options, result)
        if fixable:
            stream.write(fixable + "\n")
