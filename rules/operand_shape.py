"""KDA203: dimensions agree across operands as the signature states."""

from __future__ import annotations

from collections.abc import Iterator

from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import AtMost, Covers, Multiple, PackedWidth, PowerOfTwo
from kdacheck.facts import bounds, show
from kdacheck.facts.dims import add, multiply
from kdacheck.rule import Rule, Violation
from kdacheck.rules._judge import WORDS, counted, size_violations


def check(call: Call) -> Iterator[Violation]:
    told = set()
    for violation in size_violations(call, "KDA203"):
        told.add(violation.parameter)
        yield violation
    for laws in (_multiples, _limits, _powers, _covers, _widths):
        for violation in laws(call):
            if violation.parameter not in told:
                told.add(violation.parameter)
                yield violation


def _whole(call: Call, dim: str) -> int | None:
    size = call.unified.size(dim)
    return size if isinstance(size, int) else None


def _source(call: Call, dim: str) -> str:
    return call.unified.bound[dim][0].parameter


def _multiples(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(Multiple):
        big, small = _whole(call, law.big), _whole(call, law.small)
        if big is not None and small and big % small:
            name = _source(call, law.big)
            yield Violation(
                f"`{name}` has {counted(big, WORDS[law.big])}, no multiple of the {small} "
                f"{WORDS[law.small]} of `{_source(call, law.small)}`",
                parameter=name,
                aspect="shape",
                remedy=f"make {law.big} a multiple of {law.small}",
            )


def _limits(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(AtMost):
        size = call.unified.size(law.dim)
        low = bounds(size)[0] if size is not None else None
        if size is not None and low is not None and low > law.limit:
            name = _source(call, law.dim)
            yield Violation(
                f"`{name}` has {show(size)} {WORDS[law.dim]}, more than the {law.limit} supported",
                parameter=name,
                aspect="shape",
                remedy=f"use at most {law.limit} {WORDS[law.dim]} per head",
            )


def _powers(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(PowerOfTwo):
        for dim in law.dims:
            size = _whole(call, dim)
            if size is not None and (size < 1 or size & (size - 1)):
                name = _source(call, dim)
                yield Violation(
                    f"`{name}` has {size} {WORDS[dim]}, no power of two",
                    parameter=name,
                    aspect="shape",
                    remedy=f"pad {dim} to a power of two, or call the Triton kernel",
                )


def _covers(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(Covers):
        short = call.tensor(law.short)
        wanted = short.dim(law.axis) if short is not None else None
        if wanted is None or call.unflattened:
            continue
        ranks = {fault.parameter for fault in call.unified.ranks}
        for name in law.long:
            facts = call.tensor(name)
            have = facts.dim(law.axis) if facts is not None else None
            if facts is None or have is None or name in ranks:
                continue
            low = bounds(add(wanted, multiply(have, -1)))[0]
            if low is not None and low > 0:
                yield Violation(
                    f"`{name}` has {counted(have, 'tokens')} in {facts.describe_shape()}, "
                    f"fewer than the {show(wanted)} of `{law.short}`",
                    parameter=name,
                    aspect="shape",
                    remedy=f"give `{name}` at least the tokens of `{law.short}`",
                )


def _widths(call: Call) -> Iterator[Violation]:
    for law in call.contract.each(PackedWidth):
        facts = call.tensor(law.parameter)
        width = facts.dim(-1) if facts is not None else None
        heads, key, value = (_whole(call, dim) for dim in ("HV", "K", "V"))
        if not isinstance(width, int) or heads is None or not key or value is None:
            continue
        rest = width - heads * value
        key_heads, odd = divmod(rest, 2 * key)
        if odd or key_heads < 1 or heads % key_heads:
            yield Violation(
                f"`{law.parameter}` has rows of {width}, but 2*H*K + HV*V with K={key}, HV={heads}, V={value} "
                f"gives that for no H that divides HV",
                parameter=law.parameter,
                aspect="shape",
                remedy="concatenate q, k and v as 2*H*K + HV*V channels",
            )


RULE = Rule(
    code="KDA203",
    name="operand-shape",
    law="Dimensions agree across operands as the signature states.",
    why="Kernels take sizes from one operand and index the others by them. What is not compared is read past its end.",
    remedy="give every operand the sizes that the signature states",
    static="symbolic unification",
    runtime="meta",
    wrong=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, k = torch.randn(2, 64, 8, 32), torch.randn(2, 64, 4, 32)
    v, beta = torch.randn(2, 64, 8, 32), torch.rand(2, 64, 8)
    return chunk_kda(q, k, v, torch.zeros(2, 64, 8, 32), beta)
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 4, 32), torch.randn(2, 64, 6, 32)
    return chunk_kda(q, q, v, torch.zeros(2, 64, 6, 32), torch.rand(2, 64, 6))
""",
    ),
    right=(
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, k = torch.randn(2, 64, 8, 32), torch.randn(2, 64, 8, 32)
    v, beta = torch.randn(2, 64, 8, 32), torch.rand(2, 64, 8)
    return chunk_kda(q, k, v, torch.zeros(2, 64, 8, 32), beta)
""",
        """\
import torch
from fla.ops.kda import chunk_kda

def run():
    q, v = torch.randn(2, 64, 4, 32), torch.randn(2, 64, 8, 32)
    return chunk_kda(q, q, v, torch.zeros(2, 64, 8, 32), torch.rand(2, 64, 8))
""",
    ),
    check=check,
)
