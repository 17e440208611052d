"""KDA501: no keyword that this release of the callee swallows or rejects."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import OneOf, Open, Swallows
from kdacheck.facts import Literal
from kdacheck.rule import Rule, Violation


def check(call: Call) -> Iterator[Violation]:
    swallows = call.contract.first(Swallows)
    is_open = call.contract.first(Open) is not None
    for keyword in () if is_open else call.unknown_keywords:
        if swallows is not None and keyword in swallows.reads:
            continue
        if swallows is None:
            what = f"there is no parameter `{keyword}`: the call raises TypeError"
        elif keyword in swallows.refuses:
            what = f"`{keyword}` was removed and is refused"
        else:
            what = f"`{keyword}` vanishes in **kwargs: nothing reads it"
        close = _closest(keyword, [p.name for p in call.contract.parameters])
        yield Violation(
            what + (f"; did you mean `{close}`?" if close else ""),
            keyword=keyword,
            remedy=f"write `{close}`, or drop `{keyword}`" if close else f"drop `{keyword}`",
        )
    for law in call.contract.each(OneOf):
        fact = call.fact(law.parameter)
        if isinstance(fact, Literal) and fact.value not in (*law.values, None):
            values = " or ".join(map(repr, law.values))
            yield Violation(
                f"`{law.parameter}` is {fact.value!r}, but must be {values}",
                parameter=law.parameter,
                remedy=f"pass {values}",
            )


def _closest(keyword: str, names: list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(keyword, names, cutoff=0.75)), None)


RULE = Rule(
    code="KDA501",
    name="unknown-keyword",
    law="No keyword is passed that this release of the callee swallows in `**kwargs` or rejects.",
    why="Several kernels take `**kwargs`, so a typo, a keyword of another library and a removed switch all run "
    "without effect.",
    remedy="use a keyword of this release's signature",
    static="versioned signature",
    runtime="meta",
    wrong=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, cu):
    return chunk_kda(q, k, v, g, beta, cu_seqlen=cu)
""",
        """\
from attn_gym.linear.kda import chunk_kda

def run(q, k, v, gate, beta):
    return chunk_kda(q, k, v, gate, beta, scale=0.088)
""",
    ),
    right=(
        """\
from fla.ops.kda import chunk_kda

def run(q, k, v, g, beta, cu):
    return chunk_kda(q, k, v, g, beta, chunk_size=32, cu_seqlens=cu)
""",
        """\
from attn_gym.linear.kda import chunk_kda

def run(q, k, v, gate, beta):
    return chunk_kda(q, k, v, gate, beta, output_final_state=True)
""",
    ),
    check=check,
)
