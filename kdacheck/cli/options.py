"""The options of the command line, and the settings they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from kdacheck.config import ConfigError, Overrides
from kdacheck.report import FORMATS
from kdacheck.version import VERSION

USAGE = """kdacheck [OPTION...] [PATH...]
       kdacheck rule [CODE | NAME]
       kdacheck contracts [NAME]
       kdacheck clean
       kdacheck server"""
EPILOGUE = """\
exit status: 0 nothing found, 1 findings, 2 the job could not be done

`kdacheck rule` prints what a rule says, or lists all; `kdacheck contracts` prints what a kernel asks of its
arguments, or lists all; `kdacheck clean` removes the cache; `kdacheck server` serves editors. A folder of such a name is linted
as ./rule, and so on."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """What a command line says. Raises SystemExit for one that makes no sense, or only asks for help."""
    return _parser().parse_args(list(_apart(arguments)))


def _apart(arguments: Sequence[str]) -> Iterator[str]:
    """`--add-ignore` without a reason gets an empty one: it must not take the path behind it for one."""
    options = True
    for argument in arguments:
        options = options and argument != "--"
        yield "--add-ignore=" if options and argument == "--add-ignore" else argument


def _parser() -> argparse.ArgumentParser:
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
        "--extend-per-file-ignores", metavar="PATTERN:RULE", action="append", help="these as well"
    )
    rules.add_argument(
        "--likely",
        action="store_true",
        help="report strong evidence as well that may have an innocent reading, marked (likely)",
    )

    adopting = parser.add_argument_group("an old code base")
    adopting.add_argument(
        "--add-ignore",
        metavar="[=REASON]",
        help="write `# kdacheck: ignore[CODE]  REASON` to every finding",
    )
    adopting.add_argument(
        "--baseline", metavar="FILE", help="leave out the findings that this file knows"
    )
    adopting.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_const",
        const="",
        help="leave nothing out, whatever the settings say",
    )
    adopting.add_argument(
        "--update-baseline", action="store_true", help="write what is found now into the baseline"
    )
    adopting.add_argument(
        "--prune-baseline",
        action="store_true",
        help="take out of the baseline what is not found any more",
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

    showing = parser.add_argument_group("what would be done")
    showing.add_argument(
        "--show-files", action="store_true", help="list the files that would be checked"
    )
    showing.add_argument(
        "--show-settings",
        action="store_true",
        help="print the settings of the first file, and where each comes from",
    )
    showing.add_argument(
        "--explain",
        metavar="FILE:LINE",
        help="show the calls on that line as the linter understands them, and every rule's verdict",
    )

    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=FORMATS, default="full", help="default: full")
    output.add_argument("-o", "--output-file", metavar="FILE", help="write there")
    output.add_argument("--statistics", action="store_true", help="count findings by rule instead")
    output.add_argument(
        "-e", "--exit-zero", action="store_true", help="status 0 where findings would give 1"
    )
    output.add_argument(
        "--watch",
        action="store_true",
        help="look again whenever something changes, until interrupted",
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
        raise argparse.ArgumentTypeError(f"not a positive number: {text!r}")
    return int(text)


def _split(values: list[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(part for part in parts if part)


def _pairs(option: str, values: list[str] | None) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in _split(values):
        pattern, colon, rule = item.rpartition(":")
        if not colon or not pattern or not rule:
            raise ConfigError(f"{option}: `{item}` is not PATTERN:RULE")
        pairs.append((pattern.strip(), rule.strip()))
    return tuple(pairs)


def overrides(options: argparse.Namespace) -> Overrides:
    """The settings that options stand for."""
    return Overrides(
        config=options.config,
        isolated=options.isolated,
        select=None if options.select is None else _split(options.select),
        extend_select=_split(options.extend_select),
        ignore=_split(options.ignore) + _split(options.extend_ignore),
        exclude=None if options.exclude is None else _split(options.exclude),
        extend_exclude=_split(options.extend_exclude),
        per_file_ignores=_pairs("--per-file-ignores", options.per_file_ignores),
        respect_gitignore=options.respect_gitignore,
        likely=options.likely,
        force_exclude=options.force_exclude,
        extend_per_file_ignores=_pairs(
            "--extend-per-file-ignores", options.extend_per_file_ignores
        ),
        baseline=options.baseline,
    )
