"""What the linter takes for certain is so, on random programs and on those that once showed otherwise."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest
import torch

from tests.programs.soundness import Bench, Tally, bench, generate

REGRESSIONS = sorted((pathlib.Path(__file__).parent / "regressions").glob("*.py"))
PROGRAMS = range(150)
SEEDS = range(6)


@pytest.fixture(scope="module")
def made() -> Iterator[Bench]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with bench() as here:
        yield here
    torch.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
def test_random_programs(made: Bench) -> None:
    tally = Tally()
    for seed in PROGRAMS:
        made.elsewhere.random.seed(seed)
        program = generate(seed)
        tally.add(seed, program, made.run(program.text, program.roots, seed))
    assert not tally.bad, "\n".join(map(str, tally.bad[0]))
    assert tally.outcome["with a claim"] > 0.9 * tally.programs
    assert tally.outcome["with a finding"] > 0.25 * tally.programs
    assert tally.outcome["raising_and_flagged"] > 0.5 * tally.outcome["raising"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_regression(made: Bench, path: pathlib.Path) -> None:
    text = path.read_text()
    expected = re.search(r"^finds: (.+)$", text, re.MULTILINE)
    assert expected is not None
    outcomes = [made.run(text, ["root0"], seed) for seed in SEEDS]
    assert [problem for outcome in outcomes for problem in outcome.problems] == []
    assert any(outcome.compared for outcome in outcomes)
    assert any(outcome.found for outcome in outcomes) is (expected[1] != "nothing")
