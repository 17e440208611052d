"""KDA004: a padding mask and `cu_seqlens` are not both given."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Exclusive
from kdacheck.contracts.tags import OVERWRITTEN
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    for clause in call.contract.each(Exclusive):
        offsets = [p for p in clause.parameters if call.contract.roles[p] == "offsets"]
        given = [p for p in clause.parameters if call.given(p) is True]
        if not offsets or len(given) < 2:
            continue
        other = next(p for p in given if p not in offsets)
        yield Violation(
            f"`{other}` and `{offsets[0]}` are both given: two statements of the sequence boundaries",
            parameter=other,
            remedy=f"drop `{other}`: packed tokens have no padding",
        )
    for name, note in call.notes.items():
        if note.startswith(OVERWRITTEN):
            mask = note.removeprefix(OVERWRITTEN)
            yield Violation(
                f"the branch on `{mask}` replaces a caller's `{name}`, whatever it was",
                parameter=name,
                at_origin=True,
                remedy=f"test both: `if {name} is None and {mask} is not None`",
            )


RULE = Rule(
    code="KDA004",
    name="mask-with-cu-seqlens",
    law="A padding mask and `cu_seqlens` are not both given, and a mask branch does not overwrite a caller's "
    "`cu_seqlens`.",
    why="The two describe the same boundaries in different layouts. Some callees raise; a branch that derives offsets "
    "from an all-ones mask replaces the caller's own and merges all sequences into one.",
    remedy="test both: `if cu_seqlens is None and mask is not None`",
    static="control flow",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.modules import ShortConvolution

def run():
    conv = ShortConvolution(64, 4)
    cu = torch.tensor([0, 10, 32])
    return conv(torch.randn(1, 32, 64), mask=torch.ones(1, 32), cu_seqlens=cu)
""",
    ),
    right=(
        """\
import torch
from fla.modules import ShortConvolution

def run():
    conv = ShortConvolution(64, 4)
    return conv(torch.randn(1, 32, 64), cu_seqlens=torch.tensor([0, 10, 32]))
""",
    ),
    check=check,
)
