"""Times kdacheck beside other linters on the same tree, in alternating runs.

    python benchmarks/lint.py TREE [--fla FLA_TREE] [--runs N] [--save]

On TREE: kdacheck and ruff. On FLA_TREE: Fixit, TorchFix and semgrep as well, where installed; they take minutes, so
they run once. Then `kdacheck --version` beside `python -c pass`.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from benchmarks import results

BIN = pathlib.Path(sys.executable).parent
SEMGREP_RULE = """\
rules:
- id: offsets
  languages: [python]
  severity: ERROR
  message: a packed call
  pattern: chunk_kda(..., cu_seqlens=$CU, ...)
"""


@dataclass
class Contender:
    """A command, and what its version flag is."""

    name: str
    command: list[str]
    version: list[str]

    @property
    def present(self) -> bool:
        return find(self.command[0]) is not None


def find(program: str) -> str | None:
    return shutil.which(program, path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")


def timed(command: list[str]) -> tuple[float, int]:
    program = find(command[0])
    assert program is not None
    start = time.perf_counter()
    done = subprocess.run(
        [program, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start, done.returncode


def version_of(contender: Contender) -> str:
    program = find(contender.version[0])
    assert program is not None
    done = subprocess.run([program, *contender.version[1:]], capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+\S*", done.stdout + done.stderr)
    return found.group() if found else "?"


def compare(title: str, contenders: list[Contender], runs: int) -> dict[str, float]:
    """Runs the contenders in turn, forwards and backwards, and prints medians; returns them."""
    contenders = [contender for contender in contenders if contender.present]
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    status = {}
    for contender in contenders if runs > 1 else []:
        timed(contender.command)  # the first run reads the tree from disk
    for number in range(runs):
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            taken, status[contender.name] = timed(contender.command)
            seconds[contender.name].append(taken)
            if contender.name.startswith("kdacheck") and status[contender.name] not in (0, 1):
                sys.exit("kdacheck could not do the job, so its time means nothing")
    print(f"\n## {title}\n")
    print("| tool | version | median s | best | worst | status | command |")
    print("|---|---|---:|---:|---:|---:|---|")
    medians = {}
    for contender in contenders:
        times = seconds[contender.name]
        medians[contender.name] = statistics.median(times)
        print(
            f"| {contender.name} | {version_of(contender)} | {medians[contender.name]:.3f} "
            f"| {min(times):.3f} | {max(times):.3f} | {status[contender.name]} "
            f"| `{' '.join(contender.command)}` |"
        )
    return medians


def files_of(tree: str) -> str:
    count = size = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            if name.endswith(".py"):
                count += 1
                size += os.path.getsize(os.path.join(folder, name))
    return f"{count:,} Python files, {size / 1e6:.1f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("tree")
    parser.add_argument("--fla", help="a tree for the slow ones too")
    parser.add_argument("--runs", type=int, default=7)
    results.add_option(parser)
    options = parser.parse_args()
    print(f"{results.machine()}\n`{results.command()}`")

    os.environ["KDACHECK_CACHE_DIR"] = tempfile.mkdtemp()

    def quick(tree: str) -> list[Contender]:
        kdacheck = ["kdacheck", "--isolated", tree]
        ruff = ["ruff", "check", "--no-cache", "--isolated", tree]
        return [
            Contender("kdacheck", [*kdacheck, "--no-cache"], ["kdacheck", "--version"]),
            Contender("kdacheck, second run", kdacheck, ["kdacheck", "--version"]),
            Contender("ruff", ruff, ["ruff", "--version"]),
        ]

    medians = compare(
        f"{options.tree}: {files_of(options.tree)}", quick(options.tree), options.runs
    )
    if "ruff" in medians:
        again = medians["kdacheck, second run"] / medians["ruff"]
        print(
            f"\nkdacheck takes {medians['kdacheck'] / medians['ruff']:.2f} of ruff's time, "
            f"{again:.2f} with a cache."
        )
    if options.fla:
        compare(f"{options.fla}: {files_of(options.fla)}", quick(options.fla), options.runs)
        with tempfile.TemporaryDirectory() as folder:
            rule = pathlib.Path(folder, "rule.yaml")
            rule.write_text(SEMGREP_RULE, "utf-8")
            semgrep = ["semgrep", "scan", "--metrics=off", "--quiet", "--config", str(rule)]
            slow = [
                Contender("semgrep", [*semgrep, options.fla], ["semgrep", "--version"]),
                Contender("Fixit", ["fixit", "lint", options.fla], ["fixit", "--version"]),
                Contender("TorchFix", ["torchfix", options.fla], ["torchfix", "--version"]),
            ]
            missing = [contender.name for contender in slow if not contender.present]
            if len(missing) < len(slow):
                compare(f"{options.fla}, once", slow, 1)
            if missing:
                print(f"\nNot installed: {', '.join(missing)}.")
    start = compare(
        "start-up",
        [
            Contender("kdacheck", ["kdacheck", "--version"], ["kdacheck", "--version"]),
            Contender("python", [sys.executable, "-c", "pass"], [sys.executable, "--version"]),
        ],
        4 * options.runs,
    )
    print(
        f"\n--version takes {start['kdacheck'] / start['python']:.2f} of an empty program's time."
    )
    if options.save:
        results.save(
            "lint", {"seconds": medians, "start-up": start, "files": files_of(options.tree)}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
