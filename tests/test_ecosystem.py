"""Released packages, the smallest of them: what is found is what was judged."""

from __future__ import annotations

import os
import pathlib
import tempfile

import pytest

from benchmarks import ecosystem


def test_small_packages_give_what_was_judged(monkeypatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "10")
    folder = os.environ.get("KDACHECK_WHEELS") or os.path.join(
        tempfile.gettempdir(), "kdacheck-wheels"
    )
    wheels = pathlib.Path(folder)
    wheels.mkdir(parents=True, exist_ok=True)
    here = ecosystem.WORKING_TREE
    found, missing = ecosystem.compare(list(ecosystem.SMALL), wheels, (here, here), 1)
    if missing:
        pytest.skip(f"not to be had here: {', '.join(missing)}")
    lines, good = ecosystem.judged(found)
    assert good, "\n".join(lines)
    assert lines == []
    table = ecosystem.tables(found)
    assert "| kernel-fun 0.2.0 | 0 | 0 | 0 | 0 |" in table


def test_a_finding_that_nobody_judged_is_told() -> None:
    old, new = ecosystem.Run(), ecosystem.Run()
    new.findings["a.py", "1", "KDA001", "wrong"] = {}
    old.findings["b.py", "2", "KDA101", "strided"] = {}
    lines, good = ecosystem.judged({"kernel-fun": (old, new)})
    assert not good
    assert lines == [
        "- new, not triaged: kernel-fun `a.py:1` KDA001 wrong",
        "- gone: kernel-fun `b.py:2` KDA101 strided",
    ]
