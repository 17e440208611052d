"""`python -m tests.contracts.verify`: which contracts agree with which release, as a table.

Wheels are taken as the tests take them: from KDACHECK_WHEELS, or else from the cache, which is filled by download.
"""

from __future__ import annotations

from collections import Counter

from kdacheck.contracts import catalogue
from kdacheck.contracts.clauses import Open
from kdacheck.contracts.versions import NEWEST, admits

from .conftest import RELEASES, opened
from .test_signatures import FORMER, compare


def rows() -> list[tuple[str, str, str]]:
    """(distribution, release, verdict) for every distribution of the catalogue."""
    table = []
    for package in sorted({contract.package for contract in catalogue()}):
        mine = [contract for contract in catalogue() if contract.package == package]
        for version in RELEASES.get(package, ()):
            sources = opened(package, version)
            if isinstance(sources, str):
                table.append((package, version, f"not verified: {sources}"))
                continue
            verdicts: Counter[str] = Counter()
            for contract in mine:
                if not admits(contract.versions, version):
                    continue
                if all(path.startswith(FORMER) for path in contract.paths):
                    continue
                try:
                    compare(contract, sources)
                    verdicts["verified"] += 1
                except AssertionError:
                    verdicts[f"{contract.name} differs"] += 1
            sources.close()
            table.append((package, version, ", ".join(f"{n} {w}" for w, n in verdicts.items())))
        if package not in RELEASES:
            unsure = sum(contract.first(Open) is not None for contract in mine)
            verdict = f"{len(mine)} not verified, {unsure} of them open to other keywords"
            table.append((package, NEWEST[package], verdict))
    return table


def main() -> None:
    for package, version, verdict in rows():
        print(f"{package:24}{version:14}{verdict}")


if __name__ == "__main__":
    main()
