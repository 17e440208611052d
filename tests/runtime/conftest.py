"""Every test of the runtime starts at one level, whatever the environment says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def meta() -> Iterator[None]:
    """The level `meta`, for the whole process."""
    from kdacheck.runtime import levels

    before = levels.process.level
    levels.process.set(levels.META)
    yield
    levels.process.set(before)
