"""The command `kdacheck`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would be a good part of what --version takes
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TextIO

    from kdacheck.config import Configuration, Overrides
    from kdacheck.linter import Result

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130

USAGE = """kdacheck [OPTION...] [PATH...]
       kdacheck rule [CODE | NAME]
       kdacheck contracts [NAME]
       kdacheck clean"""
EPILOGUE = """\
exit status: 0 nothing found, 1 findings, 2 the job could not be done

`kdacheck rule` prints what a rule says, or lists all; `kdacheck contracts` prints what a kernel asks of its
arguments, or lists all; `kdacheck clean` removes the cache. A folder of such a name is linted as ./rule, and so on."""


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
    try:
        if arguments and arguments[0] in ("rule", "contracts"):
            return _explain(arguments[0], arguments[1:])
        if arguments and arguments[0] == "clean":
            return _clean(arguments[1:])
        options = _parser().parse_args(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else FAILED
    from kdacheck.config import ConfigError

    try:
        return _lint(options)
    except ConfigError as error:
        return _fail(str(error))


def _clean(arguments: list[str]) -> int:
    import argparse

    from kdacheck.cache import clean, folder_of
    from kdacheck.config import Configuration
    from kdacheck.report import shown

    parser = argparse.ArgumentParser(
        prog="kdacheck clean",
        allow_abbrev=False,
        description="Remove the cache of the project around the current folder.",
    )
    parser.parse_args(arguments)
    folder = folder_of(Configuration())
    try:
        _note(f"{'removed' if clean(folder) else 'there is no cache at'} {shown(folder)}")
    except OSError as error:
        return _fail(f"{folder}: {error.strerror or error}")
    return CLEAN


def _fail(message: str) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"kdacheck: error: {message}\n")
    return FAILED


def _note(message: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"kdacheck: {message}\n")


def _parser() -> argparse.ArgumentParser:
    import argparse

    from kdacheck.report import FORMATS
    from kdacheck.version import VERSION

    parser = argparse.ArgumentParser(
        prog="kdacheck",
        usage=USAGE,
        description="Find broken calls of Kimi Delta Attention kernels.",
        epilog=EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files and folders, - for standard input (default: .)",
    )
    parser.add_argument("-V", "--version", action="version", version=f"kdacheck {VERSION}")

    rules = parser.add_argument_group("rules, by code, prefix of a code (KDA1), name, or ALL")
    rules.add_argument("--select", metavar="RULES", action="append", help="only these")
    rules.add_argument("--ignore", metavar="RULES", action="append", help="not these")
    rules.add_argument("--extend-select", metavar="RULES", action="append", help="these as well")
    rules.add_argument(
        "--extend-ignore", metavar="RULES", action="append", help="the same as --ignore"
    )
    rules.add_argument(
        "--per-file-ignores",
        metavar="PATTERN:RULE",
        action="append",
        help="not this rule in files that match (comma-separated, several times)",
    )

    rules.add_argument(
        "--likely",
        action="store_true",
        help="report strong evidence as well that may have an innocent reading, marked (likely)",
    )

    files = parser.add_argument_group("files")
    files.add_argument(
        "--exclude",
        metavar="PATTERNS",
        action="append",
        help="leave these out, in place of the usual",
    )
    files.add_argument(
        "--extend-exclude", metavar="PATTERNS", action="append", help="leave these out as well"
    )
    files.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave excluded files out even when named (as pre-commit does)",
    )
    files.add_argument(
        "--respect-gitignore",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="leave out what git ignores (default: yes)",
    )
    files.add_argument(
        "--stdin-filename", metavar="FILE", help="what standard input is called (default: -)"
    )
    files.add_argument(
        "--config",
        metavar="FILE",
        help="a pyproject.toml, or a TOML file with the same keys at its top",
    )
    files.add_argument("--isolated", action="store_true", help="read no configuration file")
    files.add_argument(
        "--no-cache", action="store_true", help="neither read nor keep what earlier runs found"
    )
    files.add_argument("-j", "--jobs", metavar="N", type=_jobs, help="processes (default: cores)")

    fixing = parser.add_argument_group("fixes")
    fixing.add_argument(
        "--fix", action="store_true", help="write what is certain to be meant into the files"
    )
    fixing.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="fixes that are for a person to look at count as well",
    )
    fixing.add_argument(
        "--diff", action="store_true", help="show what --fix would change, and write nothing"
    )

    output = parser.add_argument_group("output")
    output.add_argument(
        "--explain",
        metavar="FILE:LINE",
        help="show the calls on that line as the linter understands them, and every rule's verdict",
    )
    output.add_argument("--output-format", choices=FORMATS, default="full", help="default: full")
    output.add_argument("-o", "--output-file", metavar="FILE", help="write there")
    output.add_argument("--statistics", action="store_true", help="count findings by rule instead")
    output.add_argument(
        "-e", "--exit-zero", action="store_true", help="status 0 where findings would give 1"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="findings only, no summary")
    output.add_argument(
        "--no-color",
        action="store_true",
        help="no colour (usual where output is no terminal, or NO_COLOR is set)",
    )
    return parser


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"not a positive number: {text!r}")
    return int(text)


def _split(values: list[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(part for part in parts if part)


def _overrides(options: argparse.Namespace) -> Overrides:
    from kdacheck.config import ConfigError, Overrides

    per_file = []
    for item in _split(options.per_file_ignores):
        pattern, colon, rule = item.rpartition(":")
        if not colon or not pattern or not rule:
            raise ConfigError(f"--per-file-ignores: `{item}` is not PATTERN:RULE")
        per_file.append((pattern.strip(), rule.strip()))
    return Overrides(
        config=options.config,
        isolated=options.isolated,
        select=None if options.select is None else _split(options.select),
        extend_select=_split(options.extend_select),
        ignore=_split(options.ignore) + _split(options.extend_ignore),
        exclude=None if options.exclude is None else _split(options.exclude),
        extend_exclude=_split(options.extend_exclude),
        per_file_ignores=tuple(per_file),
        respect_gitignore=options.respect_gitignore,
        likely=options.likely,
        force_exclude=options.force_exclude,
    )


def _lint(options: argparse.Namespace) -> int:
    from kdacheck.config import ConfigError, Configuration
    from kdacheck.linter import fix, lint, lint_text

    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated exclude each other")
    paths: list[str] = options.paths or [os.curdir]
    configuration = Configuration(_overrides(options))
    if options.explain is not None:
        return _explain_call(options.explain, configuration)
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
            _note(
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
            return _fail(f"{options.output_file}: {error.strerror or error}")
    sys.stdout.flush()
    for error in result.errors:
        _fail(error)
    if result.files == 0 and not result.errors:
        _note(f"no Python file found in {', '.join(paths)}")
    if result.errors:
        return FAILED
    return FOUND if result.findings and not options.exit_zero else CLEAN


def _explain_call(place: str, configuration: Configuration) -> int:
    path, _, line = place.rpartition(":")
    if not path or not line.isdecimal():
        return _fail(f"--explain takes FILE:LINE, not {place!r}")
    from kdacheck import releases
    from kdacheck.linter import read
    from kdacheck.source import Unreadable
    from kdacheck.source.explain import explain

    settings = configuration.of_folder(os.path.dirname(path) or os.curdir)
    try:
        data = read(path)
        found = explain(path, data, int(line), releases.resolve(settings.versions, settings.root))
    except OSError as error:
        return _fail(f"{path}: {error.strerror or error}")
    except Unreadable as error:
        return _fail(f"{path}:{error.row}: {error.message}")
    if found.text:
        sys.stdout.write(found.text)
        return CLEAN
    lines = ", ".join(map(str, found.lines))
    where = (
        f"there are some on line{'s' * (len(found.lines) > 1)} {lines}"
        if lines
        else "nor elsewhere in it"
    )
    return _fail(f"{path}: no call of a known kernel on line {line}, {where}")


def _fix_text(
    options: argparse.Namespace,
    result: Result,
    configuration: Configuration,
    texts: dict[str, bytes],
) -> None:
    """Fix standard input: what became of it goes to standard output, everything else to standard error."""
    from kdacheck.linter import fix_text

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
    from kdacheck.report import shown

    changed = False
    for path, (before, after) in sorted(result.texts.items()):
        text = difference(shown(path), before, after)
        changed = changed or bool(text)
        sys.stdout.write(text)
    sys.stdout.flush()
    for error in result.errors:
        _fail(error)
    if not options.quiet:
        count = len(result.fixed)
        _note(
            f"would fix {count} finding{'' if count == 1 else 's'}" if count else "nothing to fix"
        )
    if result.errors:
        return FAILED
    return FOUND if changed and not options.exit_zero else CLEAN


def _report(
    options: argparse.Namespace, result: Result, stream: TextIO, texts: dict[str, bytes]
) -> None:
    colour = _colour(stream, options.no_color)
    if options.statistics:
        _statistics(options.output_format, result, stream)
        return
    from kdacheck.report import write

    write(
        options.output_format,
        result.findings,
        stream,
        colour=colour,
        texts=texts,
        unsafe=options.unsafe_fixes,
    )
    if options.output_format in ("full", "concise") and not options.quiet and result.files:
        stream.write(_summary(result) + "\n")
        fixable = _fixable(options, result)
        if fixable:
            stream.write(fixable + "\n")


def _fixable(options: argparse.Namespace, result: Result) -> str:
    """How many fixes there are, and by which option each is applied; nothing where that was just done."""
    kinds = [finding.fix.applicability for finding in result.findings if finding.fix is not None]
    safe, unsafe = kinds.count("safe"), kinds.count("unsafe")
    if options.fix:
        safe, unsafe = 0, 0 if options.unsafe_fixes else unsafe
    told = []
    if options.unsafe_fixes and safe + unsafe:
        return f"[*] {safe + unsafe} fixable with --fix --unsafe-fixes."
    if safe:
        told.append(f"{safe} fixable with --fix")
    if unsafe:
        told.append(f"{unsafe} {'' if safe else 'fixable '}with --fix --unsafe-fixes")
    return f"[*] {', '.join(told)}." if told else ""


def _summary(result: Result) -> str:
    checked = f"{result.files} file{'' if result.files == 1 else 's'} checked"
    count = len(result.findings)
    if result.fixed:
        fixed = len(result.fixed)
        return (
            f"Found {count + fixed} finding{'' if count + fixed == 1 else 's'} "
            f"({fixed} fixed, {count} remaining; {checked})."
        )
    if not count and result.errors:
        return f"No broken call found in what could be checked ({checked})."
    if not count:
        return f"No broken call found ({checked})."
    return f"Found {count} finding{'' if count == 1 else 's'} ({checked})."


def _statistics(form: str, result: Result, stream: TextIO) -> None:
    counts: dict[tuple[str, str], int] = {}
    for finding in result.findings:
        key = finding.code, finding.name
        counts[key] = counts.get(key, 0) + 1
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if form == "json":
        import json

        table = [{"code": code, "name": name, "count": count} for (code, name), count in rows]
        json.dump(table, stream, indent=2)
        stream.write("\n")
        return
    width = len(str(rows[0][1])) if rows else 0
    for (code, name), count in rows:
        stream.write(f"{count:>{width}}  {code}  {name}\n")


def _colour(stream: TextIO, refused: bool) -> bool:
    if refused or os.environ.get("NO_COLOR"):
        return False
    force = os.environ.get("FORCE_COLOR")
    if force is not None and force not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _explain(command: str, arguments: list[str]) -> int:
    import argparse

    what = "CODE or NAME" if command == "rule" else "NAME"
    parser = argparse.ArgumentParser(
        prog=f"kdacheck {command}",
        allow_abbrev=False,
        description="Print what a rule says, or list all rules."
        if command == "rule"
        else "Print what a kernel asks of its arguments, or list all contracts.",
    )
    parser.add_argument("key", metavar=what, nargs="?")
    key: str | None = parser.parse_args(arguments).key
    from kdacheck import explain

    text = explain.rules(key) if command == "rule" else explain.contracts(key)
    if text is None:
        known = "rule" if command == "rule" else "contract"
        return _fail(f"there is no {known} `{key}`; `kdacheck {command}` lists all")
    sys.stdout.write(text)
    return CLEAN
