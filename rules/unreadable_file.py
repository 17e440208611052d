"""KDA901: a file that cannot be read or parsed is reported."""

from __future__ import annotations

from kdacheck.rule import Rule

RULE = Rule(
    code="KDA901",
    name="unreadable-file",
    law="A file that cannot be read or parsed is reported, never skipped in silence.",
    why="A skipped file looks like a clean one.",
    remedy="fix the file, or exclude it",
    static="reading and parsing",
    runtime="-",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta:
    return chunk_kda(q, k, v, g, beta)
""",
    ),
    right=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta):
    return chunk_kda(q, k, v, g, beta)
""",
    ),
)
