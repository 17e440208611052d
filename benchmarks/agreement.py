"""Whether the linter and the runtime agree, on random straight-line programs that end in a call of a KDA kernel.

    python benchmarks/agreement.py [--programs N] [--seed N] [--show N] [--save]

Each program is linted as text, and run with stand-ins for the kernels. Whenever the linter flags it, running it must
raise (at the level `values`, by which time every law that shows at a call is checked); whenever running it raises at
`meta`, the linter should have flagged it. Both rates are printed, and the exit status is 1 where the first is not whole
or the second is under 97 %.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import kdacheck
from kdacheck import rules
from kdacheck.source.analyse import analyse

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from benchmarks import results
from tests.programs.kernels import programs


def flagged(text: str) -> list[str]:
    """The codes that the linter reports, of rules that also show at a call."""
    silent = {rule.code for rule in rules.catalogue() if rule.runtime == "-"}
    found = analyse("program.py", text.encode(), {})
    return [finding.code for finding in found if finding.code not in silent]


def raised(text: str, level: Any) -> tuple[str, ...]:
    """The codes with which running a program raises; none where it runs through."""
    scope: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), scope)
    try:
        with kdacheck.checking(level):
            scope["run"]()
    except kdacheck.ContractError as error:
        return error.codes
    return ()


@dataclass
class Tally:
    """How often the two agreed."""

    programs: int = 0
    flagged: int = 0
    flagged_and_raised: int = 0
    raising: int = 0
    raising_and_flagged: int = 0
    same_codes: int = 0
    false_alarms: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    missed_codes: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        """Lint and run one program."""
        self.programs += 1
        codes = flagged(text)
        at_meta = raised(text, "meta")
        at_values = raised(text, "values") if codes else ()
        if codes:
            self.flagged += 1
            if at_values:
                self.flagged_and_raised += 1
            if not set(codes) <= {*at_values, *at_meta}:
                self.false_alarms.append(f"# linter {codes}, run {at_values}\n{text}")
        if at_meta:
            self.raising += 1
            self.same_codes += set(at_meta) <= set(codes)
            if codes:
                self.raising_and_flagged += 1
            else:
                self.missed.append(f"# run {at_meta}\n{text}")
                self.missed_codes.update(at_meta)

    @property
    def sound(self) -> float:
        """The share of flagged programs that raise."""
        return self.flagged_and_raised / self.flagged if self.flagged else 1.0

    @property
    def complete(self) -> float:
        """The share of raising programs that are flagged."""
        return self.raising_and_flagged / self.raising if self.raising else 1.0


def compare(seed: int, count: int) -> Tally:
    """Lint and run random programs, with stand-ins in the place of the kernels."""
    tally = Tally()
    with kdacheck.dry("fla", "sglang", "flash_kda"):
        for text in programs(seed, count):
            tally.add(text)
    return tally


def main() -> int:
    """Print both rates; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--show", type=int, default=0, help="print so many programs of each kind of disagreement"
    )
    results.add_option(parser)
    options = parser.parse_args()
    start = time.perf_counter()
    tally = compare(options.seed, options.programs)
    seconds = time.perf_counter() - start
    tally.false_alarms.sort(key=lambda text: "run ()" not in text)
    for text in [*tally.false_alarms[: options.show], *tally.missed[: options.show]]:
        print(text)
    print(f"`python {' '.join(sys.argv)}`: {tally.programs} programs, {seconds:.0f} s\n")
    print("| | programs | rate |")
    print("|---|---:|---:|")
    print(f"| flagged | {tally.flagged} | |")
    print(f"| flagged, and running raises | {tally.flagged_and_raised} | {tally.sound:.2%} |")
    print(f"| raising at `meta` | {tally.raising} | |")
    print(f"| raising, and flagged | {tally.raising_and_flagged} | {tally.complete:.2%} |")
    print(f"| raising, and flagged with every code | {tally.same_codes} | |")
    if tally.missed_codes:
        missed = ", ".join(f"{code} {n}" for code, n in tally.missed_codes.most_common())
        print(f"\nmissed: {missed}")
    if tally.false_alarms:
        print(f"\na code that running does not confirm: {len(tally.false_alarms)} programs")
    if options.save:
        names = ("programs", "flagged", "flagged_and_raised", "raising", "raising_and_flagged")
        figures = {name: getattr(tally, name) for name in names}
        results.save("agreement", {**figures, "seed": options.seed, "seconds": round(seconds)})
    return 0 if tally.sound == 1.0 and tally.complete >= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
