"""KDA003: when one kernel of a function gets the sequence boundaries, its siblings get them too."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Boundaries
from kdacheck.contracts.tags import DROPPED, FLATTENED, SWALLOWED, UNREAD
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    for name, note in call.notes.items():
        if note.startswith(DROPPED):
            sibling = note.removeprefix(DROPPED)
            yield Violation(
                f"`{name}` is not passed, although `{sibling}` gets the sequence boundaries of the same tokens",
                parameter=name,
                remedy=f"pass the boundaries here too: `{name}=...`",
            )
        if note.startswith(SWALLOWED):
            function = note.removeprefix(SWALLOWED)
            yield Violation(
                f"`{name}` never arrives: it is read from **kwargs, and `{function}` takes **kwargs without "
                f"passing them on",
                parameter=name,
                remedy="pass `**kwargs` on",
            )
        if note.startswith(UNREAD):
            function = note.removeprefix(UNREAD)
            yield Violation(
                f"`{name}` is not passed: `{function}` takes it and does nothing with it",
                parameter=name,
                remedy=f"hand it on: `{name}={name}`",
                likely=True,
            )
    law = call.contract.first(Boundaries)
    if law is None or not call.complete or call.notes:
        return
    flattened = [
        name
        for name in law.operands
        if (t := call.tensor(name)) is not None and FLATTENED in t.tags
    ]
    if flattened and all(call.given(way) is False for way in (law.by, *law.instead)):
        yield Violation(
            f"`{law.by}` is not passed, but `{flattened[0]}` is rows of a batch laid one behind the other: each is taken "
            f"for the continuation of the one before",
            parameter=law.by,
            remedy=f"pass the boundaries of the rows: `{law.by}=...`",
            likely=True,
        )


RULE = Rule(
    code="KDA003",
    name="dropped-cu-seqlens",
    law="When one kernel of a function gets the sequence boundaries, its siblings on the same packed tensors get "
    "them too.",
    why="A kernel without boundaries takes the packed tokens for one sequence: the state of each document leaks into "
    "the next, and nothing raises.",
    remedy="pass the same `cu_seqlens` to every kernel that works on the packed tokens",
    static="sibling calls, wrappers, constant `None`",
    runtime="-",
    wrong=(
        """\
import torch
from fla.modules.convolution import causal_conv1d
from fla.ops.kda import chunk_kda

def run(weight, g, beta):
    x = torch.randn(1, 128, 256)
    cu = torch.tensor([0, 60, 128])
    y, _ = causal_conv1d(x, weight, activation="silu", cu_seqlens=cu)
    y = y.unflatten(-1, (4, 64))
    o, _ = chunk_kda(y, y, y, g, beta)
    return o
""",
    ),
    right=(
        """\
import torch
from fla.modules.convolution import causal_conv1d
from fla.ops.kda import chunk_kda

def run(weight, g, beta):
    x = torch.randn(1, 128, 256)
    cu = torch.tensor([0, 60, 128])
    y, _ = causal_conv1d(x, weight, activation="silu", cu_seqlens=cu)
    y = y.unflatten(-1, (4, 64))
    o, _ = chunk_kda(y, y, y, g, beta, cu_seqlens=cu)
    return o
""",
    ),
    likely=(
        """\
from fla.ops.kda import chunk_kda

def attend(q, k, v, g, beta, cu_seqlens=None):
    return chunk_kda(q, k, v, g, beta)
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def attend(k, v, g, beta):
    q = torch.randn(4, 64, 4, 128).reshape(1, -1, 4, 128)
    return chunk_kda(q, k, v, g, beta)
""",
    ),
    check=check,
)
