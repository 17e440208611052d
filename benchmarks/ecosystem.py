"""What a change of kdacheck does to findings, fixes and time on released packages.

    python benchmarks/ecosystem.py [--wheels DIR] [--before COMMIT] [--after COMMIT] [--small] [NAME ...]

Lints the trees of `benchmarks/trees.py` with kdacheck as of two commits (the last one and the working tree unless told
otherwise) and prints the difference, as Markdown. Exit status 1: a finding that came is not in the triage table, or is
false there; a fix or a run failed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import results, trees  # noqa: E402

#: The smallest trees, for a run between two changes.
SMALL = ("kernel-fun", "flash-linear-attention", "attn-gym")

WORKING_TREE = "working tree"


@dataclass
class Run:
    """What one kdacheck says of one tree. fixes: by rule, those that --diff would apply."""

    findings: dict[tuple[str, str, str, str], dict[str, Any]] = field(default_factory=dict)
    fixes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    failed: str = ""


def checkout(commit: str, folder: Path) -> Path:
    """kdacheck as of a commit, in a folder of its own."""
    if commit == WORKING_TREE:
        return ROOT
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False
    )
    if packed.returncode:
        sys.exit(packed.stderr.decode().strip())
    place = folder / commit.replace("/", "_")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(place, filter="tar")
    return place


def lint(kdacheck: Path, tree: Path, runs: int) -> Run:
    """Lint a tree cold; time is the least of the runs."""
    command = [sys.executable, "-P", "-m", "kdacheck", "--isolated", "--no-cache", "--exit-zero"]
    environment = {**os.environ, "PYTHONPATH": str(kdacheck)}
    run, listing = Run(seconds=float("inf")), "[]"
    for _ in range(runs):
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--output-format", "json", "."],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        run.seconds = min(run.seconds, time.perf_counter() - begin)
        if done.returncode:
            run.failed = done.stderr.strip() or f"status {done.returncode}"
            return run
        listing = done.stdout
    for finding in json.loads(listing):
        path = os.path.relpath(finding["filename"], tree).replace(os.sep, "/")
        key = path, str(finding["location"]["row"]), finding["code"], finding["message"]
        run.findings[key] = finding
        if finding["fix"] is not None:
            run.fixes[finding["code"]] += 1
    return run


def arrow(before: object, after: object) -> str:
    return str(after) if before == after else f"{before} → {after}"


def compare(
    names: list[str], wheels: Path, commits: tuple[str, str], runs: int
) -> tuple[dict[str, tuple[Run, Run]], list[str]]:
    """(both runs by tree, trees that cannot be had)."""
    found: dict[str, tuple[Run, Run]] = {}
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        sides = [checkout(commit, Path(folder)) for commit in commits]
        for name in names:
            tree = trees.unpacked(name, trees.TREES[name], wheels)
            if tree is None:
                missing.append(name)
                continue
            tree = tree.resolve()
            old = lint(sides[0], tree, runs)
            found[name] = old, old if sides[0] == sides[1] else lint(sides[1], tree, runs)
    return found, missing


def tables(found: dict[str, tuple[Run, Run]]) -> str:
    """The difference by project and by rule, in Markdown."""
    lines = [
        "| project | findings | new | gone | fixes | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    rules: dict[str, list[int]] = {}
    for name, (old, new) in found.items():
        came, went = (
            new.findings.keys() - old.findings.keys(),
            old.findings.keys() - new.findings.keys(),
        )
        fixes = arrow(old.fixes.total(), new.fixes.total())
        seconds = f"{old.seconds:.1f} → {new.seconds:.1f}"
        lines.append(
            f"| {name} {trees.TREES[name]} | {arrow(len(old.findings), len(new.findings))} | {len(came)} "
            f"| {len(went)} | {fixes} | {seconds} |"
        )
        for index, run in enumerate((old, new)):
            for key in run.findings:
                rules.setdefault(key[2], [0, 0, 0, 0])[index] += 1
            for code, count in run.fixes.items():
                rules.setdefault(code, [0, 0, 0, 0])[2 + index] += count
    lines += ["", "| rule | findings | fixes |", "|---|---:|---:|"]
    lines += [
        f"| {code} | {arrow(a, b)} | {arrow(c, d)} |"
        for code, (a, b, c, d) in sorted(rules.items())
    ]
    return "\n".join(lines)


def judged(found: dict[str, tuple[Run, Run]]) -> tuple[list[str], bool]:
    """(a line for every finding that came or went, whether all that stands is judged right)."""
    verdicts = {row.key: row.verdict for row in trees.triage()}
    lines: list[str] = []
    good = True
    for name, (old, new) in found.items():
        for side in (old, new):
            if side.failed:
                lines.append(f"- {name}: **failed**: {side.failed}")
        good = good and not new.failed
        for path, row, code, message in sorted(new.findings):
            verdict = verdicts.get((name, trees.TREES[name], path, row, code), "not triaged")
            right = verdict in ("defect", "drift")
            good = good and right
            is_new = (path, row, code, message) not in old.findings
            if is_new or not right:
                lines.append(
                    f"- {'new' if is_new else 'standing'}, {verdict}: {name} `{path}:{row}` {code} {message}"
                )
        for path, row, code, message in sorted(old.findings.keys() - new.findings.keys()):
            lines.append(f"- gone: {name} `{path}:{row}` {code} {message}")
    return lines, good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="distributions (all of them)")
    parser.add_argument("--wheels", type=Path, help="where wheels are kept")
    parser.add_argument("--before", default="HEAD", metavar="COMMIT")
    parser.add_argument("--after", default=WORKING_TREE, metavar="COMMIT")
    parser.add_argument("--runs", type=int, default=1, help="of which the quickest counts")
    parser.add_argument("--small", action="store_true", help=f"only {', '.join(SMALL)}")
    results.add_option(parser)
    options = parser.parse_args()
    wheels = options.wheels or Path(
        os.environ.get("KDACHECK_WHEELS") or Path(tempfile.gettempdir(), "kdacheck-wheels")
    )
    wheels.mkdir(parents=True, exist_ok=True)
    if shutil.which("git") is None:
        sys.exit("git is needed to look at commits")
    names = options.names or list(SMALL if options.small else trees.TREES)
    found, missing = compare(names, wheels, (options.before, options.after), options.runs)
    print(f"# {options.before} → {options.after}\n\n{tables(found)}")
    lines, good = judged(found)
    print("\n".join(["", *(lines or ["No finding came or went."])]))
    if missing:
        print(f"\nNot to be had: {', '.join(missing)}.")
    if options.save:
        rows = {
            name: {
                "findings": len(new.findings),
                "fixes": new.fixes.total(),
                "seconds": new.seconds,
            }
            for name, (_, new) in found.items()
        }
        results.save("ecosystem", {"trees": rows, "before": options.before, "after": options.after})
    return 0 if good and found else 1


if __name__ == "__main__":
    sys.exit(main())
