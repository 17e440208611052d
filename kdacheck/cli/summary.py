"""The lines after the findings, and what may stand in place of them."""

from __future__ import annotations

import argparse
import os
from typing import TextIO

from kdacheck.linter import Result


def fixable(options: argparse.Namespace, result: Result) -> str:
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


def line(result: Result, seconds: float | None = None) -> str:
    """How much was found in how much, and how long it took where that is to be told."""
    files = f"{result.files:,} file{'' if result.files == 1 else 's'} checked"
    if seconds is not None:
        files += f" in {seconds:.1f} s"
    if result.known:
        files += f"; {len(result.known):,} known to the baseline"
    count = len(result.findings)
    if result.fixed:
        fixed = len(result.fixed)
        return f"Found {_findings(count + fixed)} ({fixed:,} fixed, {count:,} remaining; {files})."
    if not count and result.errors:
        return f"No broken call found in what could be checked ({files})."
    if not count:
        return f"No{' other' if result.known else ''} broken call found ({files})."
    return f"Found {_findings(count)} ({files})."


def _findings(count: int) -> str:
    return f"{count:,} finding{'' if count == 1 else 's'}"


def statistics(form: str, result: Result, stream: TextIO) -> None:
    """The number of findings by rule."""
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


def colour(stream: TextIO, refused: bool) -> bool:
    """Whether a stream is to get colour."""
    if refused or os.environ.get("NO_COLOR"):
        return False
    force = os.environ.get("FORCE_COLOR")
    if force is not None and force not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
