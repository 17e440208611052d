"""Whether what the linter takes for certain is so, on random programs that are linted and run.

    python benchmarks/soundness.py [--programs N] [--seed N] [--jobs N] [--keep DIR] [--save]

Every program has functions, classes, containers and control flow around the tensors of a KDA kernel, and is called with
random arguments, with stand-ins for the kernels and real torch for the rest. Before every statement that runs, what the
interpreter claims of every name there (sizes, strides, density, dtype, device, contents, None or not, ints, items of
containers, attributes of objects) is compared with what there is; and whenever a call that the linter flags is
reached, the run-time checker must refuse it. A program that goes wrong is made as small as it can be, and written
to DIR where one is given. The exit status is 1 where any claim or finding was false.
"""

from __future__ import annotations

import argparse
import gc
import os
import pathlib
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import torch

from benchmarks import results
from tests.programs.minimising import minimised
from tests.programs.soundness import Bench, Tally, bench, generate

#: Programs that a process runs at a time.
EVERY = 500


def smaller(made: Bench, text: str, roots: list[str], seed: int) -> str:
    """A program as small as it goes wrong still."""

    def goes_wrong(candidate: str) -> bool:
        try:
            return bool(made.run(candidate, roots, seed).problems)
        except Exception:
            return False

    return minimised(text, goes_wrong)


def checked(seeds: range, keep: pathlib.Path | None) -> Tally:
    """Write, lint and run the programs of some seeds."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gc.set_threshold(20_000, 50, 1_000)  # trees are many small objects: a quarter of the time
    tally = Tally()
    with bench() as made:
        for seed in seeds:
            made.elsewhere.random.seed(seed)
            program = generate(seed)
            tally.add(seed, program, made.run(program.text, program.roots, seed))
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for seed, text, roots, problems in tally.bad:
                small = smaller(made, text, roots, seed)
                (keep / f"seed_{seed}.py").write_text(f"# {problems[0]}\n{small}")
    return tally


def figures(tally: Tally) -> dict[str, int]:
    """What came of all programs, by what a reader is told of it."""
    total = tally.outcome
    return {
        "programs": tally.programs,
        "with a claim about a tensor": total["with a claim"],
        "with a finding at a call that was reached": total["with a finding"],
        "runs": total["runs"],
        "runs to the end": total["finished"],
        "statements run and compared": total["statements"],
        "facts compared: sizes": tally.claims["size"],
        "strides": tally.claims["stride"],
        "dense or not": tally.claims["dense"],
        "dtypes": tally.claims["dtype"],
        "devices": tally.claims["device"],
        "calls of kernels": total["calls"],
        "refused": total["raising"],
        "refused, and flagged": total["raising_and_flagged"],
        "flagged under one code, refused under another": total["other_code"],
        "**false claims**": sum("flagged" not in p for *_, told in tally.bad for p in told),
        "**flagged, and ran clean**": sum("flagged" in p for *_, told in tally.bad for p in told),
    }


def main() -> int:
    """Run the programs; 1 where anything was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for small programs that go wrong")
    results.add_option(parser)
    options = parser.parse_args()
    tally, start = Tally(), time.perf_counter()
    end = options.seed + options.programs
    parts = [range(at, min(at + EVERY, end)) for at in range(options.seed, end, EVERY)]
    with ProcessPoolExecutor(options.jobs) as pool:
        for part in pool.map(checked, parts, repeat(options.keep)):
            for seed, _, _, problems in part.bad:
                print(f"seed {seed}: {problems[0]}", flush=True)
            tally.join(part)
            took = time.perf_counter() - start
            print(f"{tally.programs} programs, {took:.0f} s, {len(tally.bad)} wrong", flush=True)
    told, took = figures(tally), time.perf_counter() - start
    print(f"\n{results.command()}, {results.machine()}, torch {torch.__version__}, {took:.0f} s\n")
    print("| | |\n|---|---:|")
    for label, value in told.items():
        print(f"| {label} | {value:,} |")
    shares = ((name, n / max(1, tally.programs)) for name, n in tally.constructs.most_common())
    print("\nPrograms with: " + ", ".join(f"{name} {share:.1%}" for name, share in shares) + ".")
    if options.save:
        results.save("soundness", {**told, "seed": options.seed, "seconds": round(took)})
    return 1 if tally.bad else 0


if __name__ == "__main__":
    sys.exit(main())
