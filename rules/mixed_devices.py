"""KDA206: all operands are on one device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import SameDevice
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    law = call.contract.first(SameDevice)
    if law is None:
        return
    known = [
        (name, facts.device)
        for name, facts in call.tensors()
        if facts.device is not None and name not in law.but and not call.ignored(name)
    ]
    if len(known) < 2:
        return
    counts = Counter(device for _, device in known)
    common = max(counts, key=counts.__getitem__)
    peer = next(name for name, device in known if device == common)
    for name, device in known:
        if _apart(device, common):
            yield Violation(
                f"`{name}` is on {device}, `{peer}` on {common}",
                parameter=name,
                aspect="device",
                remedy=f"make `{name}` on the device of `{peer}`: device={peer}.device",
            )


def _apart(one: str, other: str) -> bool:
    """`cuda` may be any of the cards, `cuda:0` and `cuda:1` are two."""
    kind, _, index = one.partition(":")
    other_kind, _, other_index = other.partition(":")
    return kind != other_kind or bool(index and other_index and index != other_index)


RULE = Rule(
    code="KDA206",
    name="mixed-devices",
    law="All operands are on one device.",
    why="A kernel gets raw pointers. One into another memory is refused where anybody looks, and faults where nobody "
    "does; offsets and slot indices made on the host are the usual case.",
    remedy="make the tensor on the device of the others",
    static="dataflow",
    runtime="meta",
    wrong=(
        """\
import flash_kda
import torch

def run(v, g, beta, out, A_log, dt_bias):
    q = torch.randn(1, 512, 4, 128, device="cuda", dtype=torch.bfloat16)
    cu = torch.tensor([0, 128, 512])
    flash_kda.fwd(q, q, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
""",
    ),
    right=(
        """\
import flash_kda
import torch

def run(v, g, beta, out, A_log, dt_bias):
    q = torch.randn(1, 512, 4, 128, device="cuda", dtype=torch.bfloat16)
    cu = torch.tensor([0, 128, 512], device="cuda")
    flash_kda.fwd(q, q, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)
""",
    ),
    check=check,
)
