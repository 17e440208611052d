"""Whether what the linter takes for certain is so, on random programs that are linted and run.

    python benchmarks/soundness.py [--programs N] [--seed N] [--keep DIR]

Every program has functions, classes, containers and control flow around the tensors of a KDA kernel, and is called with
random arguments, with stand-ins for the kernels and real torch for the rest. Before every statement that runs, what the
interpreter claims of every name there (sizes, strides, density, dtype, device, contents, None or not, ints, items of
containers, attributes of objects) is compared with what there is; and whenever a call that the linter flags is
reached, the run-time checker must refuse it. A program that goes wrong is made as small as it can be, and written
to DIR where one is given. The exit status is 1 where any claim or finding was false.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import torch

from tests.programs.minimising import minimised
from tests.programs.soundness import Bench, Tally, bench, generate

#: Programs between two lines of progress.
EVERY = 1_000


def check(made: Bench, tally: Tally, seed: int) -> None:
    """Write, lint and run the program of one seed."""
    made.elsewhere.random.seed(seed)
    program = generate(seed)
    tally.add(seed, program, made.run(program.text, program.roots, seed))


def smaller(made: Bench, text: str, roots: list[str], seed: int) -> str:
    """A program as small as it goes wrong still."""

    def goes_wrong(candidate: str) -> bool:
        try:
            return bool(made.run(candidate, roots, seed).problems)
        except Exception:
            return False

    return minimised(text, goes_wrong)


def report(tally: Tally, seconds: float) -> None:
    """Print what came of all programs, in Markdown."""
    count = max(1, tally.programs)
    total = tally.outcome
    false = sum(1 for _, _, _, problems in tally.bad for p in problems if "flagged" not in p)
    flagged = sum(1 for _, _, _, problems in tally.bad for p in problems if "flagged" in p)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    print(
        f"\n`python {' '.join(sys.argv)}`: {tally.programs} programs, {seconds:.0f} s "
        f"({tally.programs / seconds:.1f} a second), torch {torch.__version__}, "
        f"CPython {platform.python_version()}, commit {commit.stdout.strip() or '?'}\n"
    )
    print("| | |\n|---|---:|")
    for label, value in (
        ("programs", f"{tally.programs:,}"),
        ("with a claim about a tensor", f"{total['with a claim'] / count:.1%}"),
        ("with a finding at a call that was reached", f"{total['with a finding'] / count:.1%}"),
        ("runs, and runs to the end", f"{total['runs']:,}, {total['finished']:,}"),
        ("statements run and compared", f"{total['statements']:,}"),
        ("facts compared: sizes", f"{tally.claims['size']:,}"),
        ("strides", f"{tally.claims['stride']:,}"),
        ("dense or not", f"{tally.claims['dense']:,}"),
        ("dtypes", f"{tally.claims['dtype']:,}"),
        ("devices", f"{tally.claims['device']:,}"),
        ("calls of kernels, and refused", f"{total['calls']:,}, {total['raising']:,}"),
        ("refused, and flagged", f"{total['raising_and_flagged']:,}"),
        ("flagged under one code, refused under another", f"{total['other_code']:,}"),
        ("**false claims**", str(false)),
        ("**flagged, and ran clean**", str(flagged)),
    ):
        print(f"| {label} | {value} |")
    covered = ", ".join(f"{name} {n / count:.1%}" for name, n in tally.constructs.most_common())
    print(f"\nPrograms with: {covered}.")


def main() -> int:
    """Run the programs; 1 where anything was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for small programs that go wrong")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tally, start = Tally(), time.perf_counter()
    with bench() as made:
        for seed in range(options.seed, options.seed + options.programs):
            before = len(tally.bad)
            check(made, tally, seed)
            for _, text, roots, problems in tally.bad[before:]:
                print(f"seed {seed}: {problems[0]}", flush=True)
                if options.keep is not None:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    small = smaller(made, text, roots, seed)
                    (options.keep / f"seed_{seed}.py").write_text(f"# {problems[0]}\n{small}")
            if tally.programs % EVERY == 0:
                seconds = time.perf_counter() - start
                print(
                    f"{tally.programs} programs, {seconds:.0f} s, {len(tally.bad)} wrong",
                    flush=True,
                )
    report(tally, time.perf_counter() - start)
    return 1 if tally.bad else 0


if __name__ == "__main__":
    sys.exit(main())
