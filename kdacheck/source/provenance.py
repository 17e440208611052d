"""What the making of a tensor says of its axes: tokens or heads first, K or V first.

Sizes cannot tell these apart, so evidence is the operation that put the axes there. Tags as in
`kdacheck.contracts.tags`; whatever is not known to keep or swap the axes drops them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kdacheck.contracts.tags import FLATTENED, HEAD_FIRST, K_FIRST, V_FIRST
from kdacheck.facts import Literal, TensorFacts, equal
from kdacheck.facts.dims import multiply
from kdacheck.source.values import Value

#: Tokens stand before heads: two leading axes of a [B, T, C] tensor whose channels were split.
TOKEN_MAJOR = "token-major"

_AXES = frozenset((HEAD_FIRST, TOKEN_MAJOR, K_FIRST, V_FIRST))
_OPPOSITE = {HEAD_FIRST: TOKEN_MAJOR, TOKEN_MAJOR: HEAD_FIRST, K_FIRST: V_FIRST, V_FIRST: K_FIRST}
_HEADS = (HEAD_FIRST, TOKEN_MAJOR)
_STATES = (K_FIRST, V_FIRST)

_KEEPING = frozenset(
    [
        "contiguous",
        "clone",
        "detach",
        "to",
        "float",
        "half",
        "bfloat16",
        "double",
        "cuda",
        "cpu",
        "type",
        "type_as",
        "requires_grad_",
        "silu",
        "sigmoid",
        "relu",
        "exp",
        "neg",
        "abs",
        "tanh",
        "normalize",
        "+",
        "-",
        "*",
        "/",
        "dropout",
        "data",
    ]
)
_SPLITTING = frozenset(("view", "reshape", "unflatten"))
_TRANSPOSING = frozenset(("transpose", "swapaxes", "swapdims"))

_HEAD_NAMES = frozenset(
    ["h", "heads", "hq", "hk", "hv", "num_heads", "nheads", "num_v_heads", "num_k_heads"]
)
_TOKEN_NAMES = frozenset(["t", "s", "l", "tokens", "seq", "seqlen", "seq_len", "time", "length"])


def tags_after(
    operation: str, source: TensorFacts, result: TensorFacts, arguments: Sequence[Value]
) -> frozenset[str]:
    """The tags of a result: those its facts carry, with the ones about axes decided by the operation."""
    other = result.tags - _AXES
    axes = source.tags & _AXES
    if _flattens(source, result):
        other |= {FLATTENED}
    if operation in _KEEPING and source.rank == result.rank:
        return other | axes | (source.tags & {FLATTENED})
    if operation in _TRANSPOSING and len(arguments) >= 2:
        return other | _swapped(axes, _pair(arguments), source.rank)
    if operation in ("mT", "adjoint"):
        return other | _swapped(axes, (-2, -1), source.rank)
    if operation == "permute":
        return other | _permuted(axes, arguments)
    if operation == "rearrange" and arguments and isinstance(arguments[0], Literal):
        return other | _rearranged(axes, str(arguments[0].value))
    if operation in _SPLITTING and _splits_channels(source, result):
        return other | {TOKEN_MAJOR}
    return other


def _flattens(source: TensorFacts, result: TensorFacts) -> bool:
    """Whether the rows of a batch, which may be more than one, are laid one behind the other in a batch of one."""
    if source.shape is None or result.shape is None or len(source.shape) != len(result.shape):
        return False
    if len(source.shape) < 3 or source.shape[0] == 1 or result.shape[0] != 1:
        return False
    rows, tokens = source.shape[:2]
    return equal(multiply(rows, tokens), result.shape[1])


def _pair(arguments: Sequence[Value]) -> tuple[int, int] | None:
    first, second = (a.value if isinstance(a, Literal) else None for a in arguments[:2])
    if type(first) is int and type(second) is int:
        return min(first, second), max(first, second)
    return None


def _swapped(
    axes: frozenset[str], pair: tuple[int, int] | None, rank: int | None
) -> frozenset[str]:
    if pair == (1, 2):
        return frozenset(_OPPOSITE[tag] for tag in axes if tag in _HEADS)
    last_two = pair == (-2, -1) or (rank is not None and pair == (rank - 2, rank - 1))
    if last_two:
        return frozenset(_OPPOSITE[tag] for tag in axes if tag in _STATES)
    return frozenset()


def _permuted(axes: frozenset[str], arguments: Sequence[Value]) -> frozenset[str]:
    order = tuple(a.value if isinstance(a, Literal) else None for a in arguments)
    return _swapped(axes, (1, 2) if order == (0, 2, 1, 3) else None, None)


def _rearranged(axes: frozenset[str], pattern: str) -> frozenset[str]:
    """einops patterns that split channels into heads, or swap the two middle axes."""
    left, arrow, right = pattern.partition("->")
    before, after = left.split(), right.split()
    if not arrow or len(after) != 4 or any("(" in part for part in after):
        return frozenset()
    grouped = [part.strip("()") for part in before if part.startswith("(") or part.endswith(")")]
    if len(before) == 4 and len(grouped) == 2 and before[2].startswith("("):
        batch, tokens, (heads, channels) = before[0], before[1], grouped
        if after == [batch, heads, tokens, channels]:
            return frozenset((HEAD_FIRST,))
        if after == [batch, tokens, heads, channels]:
            return frozenset((TOKEN_MAJOR,))
    if not grouped and len(before) == 4 and after == [before[0], before[2], before[1], before[3]]:
        return _swapped(axes, (1, 2), 4)
    return frozenset()


def _splits_channels(source: TensorFacts, result: TensorFacts) -> bool:
    """[B, T, C] -> [B, T, H, D]."""
    if source.rank != 3 or result.rank != 4:
        return False
    assert source.shape is not None
    assert result.shape is not None
    return equal(source.shape[0], result.shape[0]) and equal(source.shape[1], result.shape[1])


def annotated(names: Sequence[str]) -> frozenset[str]:
    """The tags that the axis names of an annotation give."""
    if len(names) not in (3, 4):
        return frozenset()
    second, third = names[1].lower(), names[2].lower()
    if second in _HEAD_NAMES and third in _TOKEN_NAMES:
        return frozenset((HEAD_FIRST,))
    if second in _TOKEN_NAMES and third in _HEAD_NAMES:
        return frozenset((TOKEN_MAJOR,))
    return frozenset()
