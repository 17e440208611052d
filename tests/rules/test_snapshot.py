"""The words of every finding on the wrong calls of these tests, compared with those written down in `words.txt`.

After a change that is meant: `KDACHECK_WRITE_WORDS=1 pytest tests/rules/test_snapshot.py`, and read the difference.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from kdacheck.contracts import Call, tags
from kdacheck.contracts.tags import K_FIRST, OVERWRITTEN, V_FIRST
from kdacheck.rules import catalogue

from .conftest import tensor
from .test_verdicts import (
    FLA,
    HELION,
    PACKED,
    REPLAY,
    VERIFY,
    WRONG,
    operands,
    packed,
    pool_call,
    replay,
)

WORDS = pathlib.Path(__file__).with_name("words.txt")

#: Calls that the verdicts do not have, for the words of rarer faults.
MORE: list[tuple[str, dict[str, Any]]] = [
    (HELION, pool_call(initial_state=tensor(16, 4, 32, 32, tags=frozenset((K_FIRST,))))),
    (FLA, operands() | {"initial_state": tensor(1, 4, 32, 32, tags=frozenset((V_FIRST,)))}),
    (PACKED, packed(mixed_qkv=tensor(4, 2 * 64 + 8 * 32))),
    (PACKED, packed(mixed_qkv=tensor(4, 8 * 32))),
    (PACKED, packed(mixed_qkv=tensor(4, 2 * 3 * 64 + 8 * 32))),
    (
        PACKED,
        packed(
            ssm_state_indices=tensor(
                4, dtype="int32", tags=frozenset((tags.CLAMPED, tags.CLAMPED_PADDING))
            )
        ),
    ),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", tags=frozenset((tags.CLAMPED,))))),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", values=[0, 1, 2, 16]))),
    (PACKED, packed(ssm_state_indices=tensor(4, dtype="int32", values=[0, 1, 2, 15]))),
    (HELION, pool_call(initial_state_indices=tensor(1, dtype="int32", values=[-1]))),
    (REPLAY, replay(g_cache=tensor(16, 8, 6, 64, dtype="bfloat16"))),
    (FLA, operands(batch=1, tokens=64) | {"beta": tensor(1, 63, 4)}),
    (FLA, operands(key=512)),
    (FLA, operands(key=32, value=64) | {"initial_state": tensor(1, 4, 64, 32)}),
    (FLA, operands(key=32, value=64) | {"initial_state": tensor(1, 4, 48, 32)}),
    (FLA, operands(key=32, value=64) | {"initial_state": tensor(1, 4, 64, 16)}),
]


def words(build: Callable[..., Call]) -> Iterator[str]:
    for path, arguments in [*((case[0], case[1]) for case in WRONG), *MORE]:
        yield f"{path}"
        yield from _told(build(path, **arguments))
    noted = build(FLA, **operands(), cu_seqlens=tensor(2, dtype="int64"))
    noted = Call(noted.contract, noted.arguments, notes={"cu_seqlens": OVERWRITTEN + "mask"})
    yield f"{FLA}, offsets overwritten"
    yield from _told(noted)
    yield f"{VERIFY}, one argument by position"
    yield from _told(Call(build(VERIFY).contract, {}, extra_positional=1))
    yield f"{FLA}, two arguments too many"
    yield from _told(Call(noted.contract, {}, extra_positional=2))


def _told(call: Call) -> Iterator[str]:
    for rule in catalogue():
        for found in rule.check(call) if rule.check else ():
            where = found.parameter or found.keyword or "the call"
            marks = " (likely)" * found.likely + " (at its origin)" * found.at_origin
            yield f"    {rule.code} {where}, {found.aspect or 'as a whole'}{marks}: {found.message}"
            yield f"        {found.remedy or rule.remedy}"


def test_words(build: Callable[..., Call]) -> None:
    found = "\n".join(words(build)) + "\n"
    if os.environ.get("KDACHECK_WRITE_WORDS"):
        WORDS.write_text(found)
    assert found.splitlines() == WORDS.read_text().splitlines()
