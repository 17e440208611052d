"""Lint released packages that call KDA kernels, and hold every finding against the triage table.

    python benchmarks/trees.py [--wheels DIR] [--save] [NAME ...]

Wheels are taken from DIR (or the KDACHECK_WHEELS environment variable) and downloaded there by pip where missing; they
are read, never installed or imported. Prints one row a tree, then every finding. Exit status 1: a finding is not in
`benchmarks/triage.md`, is judged false there, or a row there is stale.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import results

#: Distribution -> release. axolotl and megatron-core are the newest that have a wheel for Python 3.11.
TREES = {
    "sglang": "0.5.23",
    "fla-core": "0.6.0",
    "flash-linear-attention": "0.6.0",
    "transformers": "5.23.0",
    "axolotl": "0.19.0",
    "megatron-core": "0.16.1",
    "nemo-automodel": "0.7.0",
    "unsloth-zoo": "2026.10.9",
    "flashinfer-python": "0.7.2.post1",
    "attn-gym": "0.0.17",
    "torchtitan": "0.3.0",
    "ai2-olmo-core": "3.0.0",
    "kernel-fun": "0.2.0",
    "vllm": "0.33.0",
    "tilelang": "0.1.15",
    "mlx-lm": "0.32.2",
    "trl": "1.16.0",
    "liger-kernel": "0.8.5",
    "torch": "2.13.0",
}
TRIAGE = Path(__file__).with_name("triage.md")


class Row(NamedTuple):
    """A finding of the triage table. verdict: "defect", "drift" (wrong for that release) or "false"."""

    wheel: str
    version: str
    file: str
    line: str
    rule: str
    verdict: str
    reason: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self[:5]


def triage() -> list[Row]:
    """The rows of the triage table."""
    rows = []
    for line in TRIAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 7 and cells[0] != "wheel":
            rows.append(Row(*cells))
    return rows


def unpacked(name: str, version: str, wheels: Path) -> Path | None:
    """The folder with the Python files of a wheel, None where the wheel cannot be had."""
    stem = f"{name.replace('-', '_')}-{version}"
    folder = wheels / "unpacked" / stem
    if folder.is_dir():
        return folder
    found = sorted(wheels.glob(f"{stem}*.whl"))
    if not found:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
        ]
        done = subprocess.run([*command, "-d", str(wheels), f"{name}=={version}"], check=False)
        found = sorted(wheels.glob(f"{stem}*.whl"))
        if done.returncode or not found:
            return None
    with zipfile.ZipFile(found[0]) as archive:
        members = [m for m in archive.namelist() if m.endswith(".py") and ".." not in m]
        archive.extractall(folder, members)
    return folder


def lint(folder: Path) -> tuple[list[dict[str, Any]], int, float]:
    """(findings, exit status, seconds) of the linter on a tree."""
    command = [sys.executable, "-m", "kdacheck", "--exit-zero"]
    folder = folder.resolve()
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, "--output-format", "json", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begin
    if done.stderr:
        print(done.stderr, file=sys.stderr, end="")
    return json.loads(done.stdout or "[]"), done.returncode, seconds


def rows_of(name: str, version: str, folder: Path, findings: list[dict[str, Any]]) -> Iterator[Row]:
    for finding in findings:
        path = os.path.relpath(
            os.path.join(folder.resolve(), finding["filename"]), folder.resolve()
        )
        line = str(finding["location"]["row"])
        yield Row(
            name, version, path.replace(os.sep, "/"), line, finding["code"], "", finding["message"]
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="distributions (all of them)")
    parser.add_argument("--wheels", type=Path, help="where wheels are kept")
    results.add_option(parser)
    options = parser.parse_args()
    wheels = options.wheels or Path(
        os.environ.get("KDACHECK_WHEELS") or Path(tempfile.gettempdir(), "kdacheck-wheels")
    )
    wheels.mkdir(parents=True, exist_ok=True)
    known = {row.key: row for row in triage()}
    seen: set[tuple[str, ...]] = set()
    bad = 0
    figures: dict[str, dict[str, Any]] = {}
    print("| wheel | release | Python files | findings | seconds |\n|---|---|---:|---:|---:|")
    listing: list[str] = []
    for name in options.names or TREES:
        folder = unpacked(name, TREES[name], wheels)
        if folder is None:
            print(f"| {name} | {TREES[name]} | not to be had | | |")
            continue
        files = sum(1 for _ in folder.rglob("*.py"))
        findings, status, seconds = lint(folder)
        bad += status != 0
        figures[f"{name} {TREES[name]}"] = {
            "files": files,
            "findings": len(findings),
            "seconds": round(seconds, 2),
        }
        print(f"| {name} | {TREES[name]} | {files} | {len(findings)} | {seconds:.1f} |")
        for row in rows_of(name, TREES[name], folder, findings):
            seen.add(row.key)
            judged = known.get(row.key)
            verdict = judged.verdict if judged else "NOT TRIAGED"
            bad += verdict not in ("defect", "drift")
            listing.append(f"{verdict:11} {name} {row.file}:{row.line} {row.rule} {row.reason}")
        for stale in (key for key in known if key[0] == name and key not in seen):
            bad += 1
            listing.append(f"STALE       {' '.join(stale)}")
    print("\n".join(["", *listing]))
    if options.save:
        results.save("trees", {"trees": figures, "not right": bad})
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
