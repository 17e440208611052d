"""KDA304: offsets are int64 or int32 as the callee wants."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import dtype_violations


def check(call: Call) -> Iterator[Violation]:
    return dtype_violations(call, "KDA304")


RULE = Rule(
    code="KDA304",
    name="cu-seqlens-dtype",
    law="Offsets are int64 or int32, as this callee wants.",
    why="FlashKDA reads 8-byte offsets, attention-gym and cuLA 4-byte ones, FLA either. `cumsum` of any integer dtype "
    "gives int64 unless it is told otherwise.",
    remedy="state the dtype: `lens.cumsum(0, dtype=...)`, or cast at the call",
    static="dtype dataflow",
    runtime="meta",
    wrong=(
        """\
import torch
import torch.nn.functional as F
from attn_gym.linear.kda import chunk_kda

def run(q, k, v, gate, beta):
    lens = torch.tensor([3, 4, 9], dtype=torch.int32)
    return chunk_kda(q, k, v, gate, beta, cu_seqlens=F.pad(lens.cumsum(0), (1, 0)))
""",
    ),
    right=(
        """\
import torch
import torch.nn.functional as F
from attn_gym.linear.kda import chunk_kda

def run(q, k, v, gate, beta):
    lens = torch.tensor([3, 4, 9], dtype=torch.int32)
    cu = F.pad(lens.cumsum(0, dtype=torch.int32), (1, 0))
    return chunk_kda(q, k, v, gate, beta, cu_seqlens=cu)
""",
    ),
    check=check,
)
