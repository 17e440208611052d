"""The usual work: check files, fix them where asked, and say what was found."""

from __future__ import annotations

import argparse
import io
import itertools
import os
import sys
import time
from collections.abc import Mapping
from typing import TextIO

from kdacheck.cli import CLEAN, FAILED, FOUND, fail, note, show, summary
from kdacheck.cli import options as command_line
from kdacheck.config import ConfigError, Configuration
from kdacheck.finding import Finding
from kdacheck.linter import Result, end_on_sigterm, fix, fix_text, lint, lint_text
from kdacheck.report import Run, shown, write

#: Of the options that write, those that go together.
_TOGETHER = (("--update-baseline", "--fix"), ("--prune-baseline", "--fix"), ("--diff", "--fix"))


def run(options: argparse.Namespace, followed: set[str] | None = None) -> int:
    """Lint by the options, and return the exit status. Raises ConfigError.

    followed: takes the files that were asked for beside those that were named.
    """
    refuse_contradictions(options)
    paths: list[str] = options.paths or [os.curdir]
    configuration = Configuration(command_line.overrides(options))
    if options.explain is not None:
        return show.call(options.explain, configuration)
    if options.show_files:
        return show.files(paths, configuration)
    if options.show_settings:
        return show.settings(paths, configuration)
    started = time.monotonic()
    end_on_sigterm()
    texts: dict[str, bytes] = {}
    if "-" in paths:
        name = options.stdin_filename or "-"
        data = texts[name] = sys.stdin.buffer.read()
        result = lint_text(name, data, configuration)
    else:
        result = _lint(options, paths, configuration)
    if followed is not None:
        followed.update(result.followed)

    stream = sys.stdout
    if options.diff or options.fix:
        if texts:
            _fix_text(options, result, configuration, texts)
            stream = sys.stderr
        else:
            fix(result, configuration, unsafe=options.unsafe_fixes, write=not options.diff)
        _tell_refused(result, "the fix of {code} was not applied")
    texts = {**result.once, **texts}
    if options.diff:
        return _show_difference(options, result)
    if any(settings.baseline for _, settings in result.checked) or _writes_baseline(options):
        _leave_out_known(options, result, texts)
    if options.add_ignore is not None:
        result = _add_ignores(options, paths, configuration, result)
    seconds = time.monotonic() - started
    if options.output_file is None:
        _report(options, result, stream, texts, seconds)
    else:
        from kdacheck import fixes

        try:
            whole = io.StringIO()
            _report(options, result, whole, texts, seconds)
            fixes.put(options.output_file, whole.getvalue().encode("utf-8", "backslashreplace"))
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


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Raise ConfigError for options that exclude each other."""
    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated exclude each other")
    if "-" in options.paths and len(options.paths) > 1:
        raise ConfigError("`-` stands alone: standard input and other paths exclude each other")
    if "-" not in options.paths and options.stdin_filename is not None:
        raise ConfigError("--stdin-filename goes with the path `-`")
    given = {
        "--add-ignore": options.add_ignore is not None,
        "--update-baseline": options.update_baseline,
        "--prune-baseline": options.prune_baseline,
        "--diff": options.diff,
        "--fix": options.fix,
    }
    writing = [option for option, is_given in given.items() if is_given]
    for pair in itertools.combinations(writing, 2):
        if pair not in _TOGETHER:
            raise ConfigError(f"{pair[0]} and {pair[1]} exclude each other")
    if "-" in options.paths and writing and writing[0] not in ("--diff", "--fix"):
        raise ConfigError(f"{writing[0]} takes files, not standard input")
    once = {
        "-": "-" in options.paths,
        "--explain": options.explain is not None,
        "--show-files": options.show_files,
        "--show-settings": options.show_settings,
    }
    for option, is_given in {**given, **once}.items():
        if options.watch and is_given and option != "--fix":
            raise ConfigError(f"--watch and {option} exclude each other")
    if options.add_ignore is not None:
        from kdacheck.cli import adopt

        adopt.check_reason(options.add_ignore)


def _writes_baseline(options: argparse.Namespace) -> bool:
    return options.update_baseline or options.prune_baseline


def _lint(options: argparse.Namespace, paths: list[str], configuration: Configuration) -> Result:
    from kdacheck.cli.progress import Progress

    cache = None
    if not options.no_cache:
        from kdacheck.cache import Cache, folder_of

        cache = Cache(folder_of(configuration))
    progress = Progress(options.quiet)
    try:
        return lint(paths, configuration, jobs=options.jobs, cache=cache, progress=progress)
    finally:
        progress.end()


def _leave_out_known(
    options: argparse.Namespace, result: Result, texts: Mapping[str, bytes]
) -> None:
    from kdacheck.cli import adopt

    update, prune = options.update_baseline, options.prune_baseline
    adopt.leave_out_known(result, texts, update=update, prune=prune, quiet=options.quiet)


def _add_ignores(
    options: argparse.Namespace, paths: list[str], configuration: Configuration, result: Result
) -> Result:
    """Write comments until nothing is left that one can be written for; the result of the last look."""
    from kdacheck.cli import adopt

    for path in result.once:
        raise ConfigError(f"--add-ignore takes files, and {path} is none")
    silenced: list[Finding] = []
    for _ in range(adopt.ROUNDS):
        done = adopt.add_ignores(result, configuration, options.add_ignore)
        if not done:
            break
        silenced += done
        result = _lint(options, paths, configuration)
        _leave_out_known(options, result, {})
    _tell_refused(result, "no comment was written for {code}")
    files = len({finding.filename for finding in silenced})
    note(
        f"wrote comments for {len(silenced)} finding{'' if len(silenced) == 1 else 's'} "
        f"in {files} file{'' if files == 1 else 's'}"
    )
    return result


def _tell_refused(result: Result, what: str) -> None:
    for finding, why in result.refused:
        place = finding.location
        said = what.format(code=finding.code)
        note(f"{finding.filename}:{place.row}:{place.column}: {said}: {why}")


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
    options: argparse.Namespace,
    result: Result,
    stream: TextIO,
    texts: dict[str, bytes],
    seconds: float,
) -> None:
    if options.statistics:
        summary.statistics(options.output_format, result, stream)
        return
    run = Run(
        colour=summary.colour(stream, options.no_color),
        texts=texts,
        unsafe=options.unsafe_fixes,
        files=result.files,
        known=len(result.known),
    )
    write(options.output_format, result.findings, stream, run)
    if options.output_format in ("full", "concise") and not options.quiet and result.files:
        stream.write(summary.line(result, seconds if stream.isatty() else None) + "\n")
        fixable = summary.fixable(options, result)
        if fixable:
            stream.write(fixable + "\n")
