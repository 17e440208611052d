"""Options for an old code base: a baseline of what is known, and comments where findings stand."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kdacheck import baseline, fixes, ignores, linter
from kdacheck.cli import note
from kdacheck.config import ConfigError, Configuration, Settings
from kdacheck.finding import Finding
from kdacheck.lines import Lines
from kdacheck.linter import Candidate, Result
from kdacheck.report import shown
from kdacheck.suppressions import UNREADABLE_FILE

#: Comments in one file may bring out findings in another, which its own findings had spoken for.
ROUNDS = 5


def leave_out_known(
    result: Result,
    texts: Mapping[str, bytes],
    *,
    update: bool = False,
    prune: bool = False,
    quiet: bool = False,
) -> None:
    """Take out of the result what a baseline knows; update or prune it where that is asked for.

    Raises ConfigError for a baseline that cannot be read or written.
    """
    lines = Lines(texts)
    files = _by_baseline(result)
    if (update or prune) and not files:
        raise ConfigError("which baseline? Give --baseline FILE, or `baseline` in [tool.kdacheck]")
    for file, checked in files.items():
        findings = [finding for finding in result.findings if finding.filename in checked]
        is_new = update and not os.path.lexists(file)
        entries = baseline.Entries() if is_new else baseline.read(file)
        matched = baseline.match(file, entries, findings, checked, lines)
        if update:
            _write(file, matched.updated())
            matched.known += [f for f in matched.new if f.code != UNREADABLE_FILE]
        elif prune:
            _write(file, matched.pruned())
        elif matched.stale and not quiet:
            count = matched.stale.total()
            note(
                f"{shown(file)}: {count} finding{'' if count == 1 else 's'} of this baseline "
                f"{'is' if count == 1 else 'are'} there no more ({baseline.listed(matched.stale)}); "
                "--prune-baseline takes them out"
            )
        known = set(map(id, matched.known))
        result.findings = [finding for finding in result.findings if id(finding) not in known]
        result.known += matched.known


def _by_baseline(result: Result) -> dict[str, dict[str, Settings | None]]:
    """Baseline to the files that were read under it, with None for those that could not be analysed."""
    failed = {f.filename for f in result.findings if f.code == UNREADABLE_FILE}
    failed |= {error.partition(": ")[0] for error in result.errors}
    found: dict[str, dict[str, Settings | None]] = {}
    for path, settings in result.checked:
        if settings.baseline is not None:
            files = found.setdefault(settings.baseline, {})
            files[path] = None if path in failed else settings
    return found


def _write(file: str, entries: baseline.Entries) -> None:
    try:
        changed = baseline.write(file, baseline.text_of(entries))
    except OSError as error:
        raise ConfigError(f"{file}: not written: {error.strerror or error}") from None
    count = entries.total()
    holds = f"{count} finding{'' if count == 1 else 's'}"
    note(f"{shown(file)}: {'now holds' if changed else 'holds, as before,'} {holds}")


def check_reason(reason: str) -> None:
    """Raise ConfigError for a reason that cannot stand in a comment."""
    if not reason.isprintable():
        raise ConfigError("--add-ignore: the reason must be one line of text")


def add_ignores(result: Result, configuration: Configuration, reason: str) -> list[Finding]:
    """Write comments for the findings of a result, and return those that were silenced.

    What could not be done is put into words in the result's `refused` and `errors`.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in result.findings:
        by_file.setdefault(finding.filename, []).append(finding)
    silenced = []
    for path, targets in by_file.items():
        settings = configuration.of_folder(os.path.dirname(path) or os.curdir)

        def check(
            text: bytes, path: str = path, settings: Settings = settings
        ) -> tuple[list[Finding], str | None]:
            outcome = linter.check(Candidate(path, text, settings, result.exports))
            return outcome.findings, outcome.error

        if all(finding.code in ignores.NOT_FOR_COMMENTS for finding in targets):
            continue
        try:
            data = linter.read(path)
            found, error = check(data)
            if error is not None:
                continue
            done = ignores.add(data, found, targets, reason, check)
            if done.data != data:
                fixes.write(path, data, done.data)
        except OSError as problem:
            result.errors.append(f"{path}: no comment written: {problem.strerror or problem}")
        else:
            silenced += done.added
            result.refused += done.refused
    return silenced
