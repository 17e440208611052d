"""Decode steps and verification of candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Float32, Int, Int32
from torch import Tensor

from kdacheck import contract
from kdacheck.clauses import (
    Boundaries,
    Dense,
    Elements,
    GateParameters,
    Indices,
    Multiple,
    OffsetsEnd,
    Packed,
    PackedWidth,
    PerSequence,
    PowerOfTwo,
    Rings,
    SameDevice,
    States,
    VFirst,
)

from . import reference
from .launch import Launched, again, call, kernel, traced


@contract(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Dense(("mixed_qkv", "a", "b", "initial_state"), trailing=1),
    Dense(("out",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    PowerOfTwo(("K", "V")),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def packed_decode(
    mixed_qkv: Float[Tensor, "B W"],
    a: Float[Tensor, "B HV*K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    use_qk_l2norm_in_kernel: bool = False,
    lower_bound: float | None = None,
) -> tuple[Float[Tensor, "B 1 HV V"], Float[Tensor, "slots HV V K"]]:
    """One decode step for each of B rows: gate, delta rule and read-out. `reference` states the mathematics.

    Args:
        mixed_qkv: rows ``[q | k | v]`` of width W = 2 H K + HV V, last axis dense; HV is a multiple of H.
        a: raw gates, last axis dense.
        b: write strengths as logits.
        A_log, dt_bias: parameters of the gate, dense, as in `chunk_kda`.
        scale: of the queries.
        initial_state: pool of states, V first, any floating dtype, last axis dense; the slots named are overwritten.
        out: contiguous; overwritten.
        ssm_state_indices: slot of each row, distinct; a negative one leaves the pool alone and gives zeros.
        use_qk_l2norm_in_kernel: divide q and k by ``sqrt(sum(x^2) + 1e-6)``.
        lower_bound: of the log decay, for the bounded gate.

    Returns:
        ``out`` and ``initial_state`` themselves.

    Raises:
        ContractError: the call breaks the contract; not raised where contracts are not checked.
        ValueError: a shape or device would make the kernel read or write outside its tensors.
    """
    args = (
        mixed_qkv, a, b, A_log, dt_bias, float(scale), initial_state, out, ssm_state_indices,
        use_qk_l2norm_in_kernel, lower_bound,
    )  # fmt: skip

    def run(step: Callable[..., Any]) -> Any:
        _check(mixed_qkv, a, b, A_log, dt_bias, initial_state, out, ssm_state_indices)
        return step(*args)

    if traced(mixed_qkv):
        run(torch.ops.kdacheck.packed_decode)
    elif out.is_cuda:
        again("packed_decode", args, lambda: run(launch_packed_decode))
    else:
        run(reference.packed_decode)
    return out, initial_state


@contract(
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias", "a")),
    Dense(("mixed_qkv", "b", "initial_state"), trailing=1),
    Dense(("out",)),
    States(("initial_state",)),
    VFirst(("initial_state",), returns_state=False),
    Indices(("ssm_state_indices",), pool="initial_state"),
    Rings(("d_cache", "k_cache", "g_cache"), ("write_pos", "force_flush"), pool="initial_state"),
    PowerOfTwo(("K", "V")),
    PackedWidth("mixed_qkv"),
    SameDevice(),
)
def replayssm_decode(
    mixed_qkv: Float[Tensor, "B W"],
    a: Float[Tensor, "B HV*K"] | Float[Tensor, "B HV K"],
    b: Float[Tensor, "B HV"],
    A_log: Float[Tensor, "HV"],
    dt_bias: Float[Tensor, "HV*K"] | Float[Tensor, "HV K"],
    scale: float,
    initial_state: Float[Tensor, "slots HV V K"],
    d_cache: Float[Tensor, "slots HV L V"],
    k_cache: Float[Tensor, "slots H L K"],
    g_cache: Float32[Tensor, "slots HV L K"],
    out: Float[Tensor, "B 1 HV V"],
    ssm_state_indices: Int[Tensor, "B"],
    write_pos: Int32[Tensor, "B"],
    force_flush: Int32[Tensor, "B"] | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    lower_bound: float | None = None,
) -> tuple[Float[Tensor, "B 1 HV V"], Float[Tensor, "slots HV V K"]]:
    """One decode step that rewrites the state only every L steps. `reference` states the mathematics.

    Between flushes a step appends its write d, key k and log decay g to the rings of its slot at ``write_pos`` and reads through
    state and ring. It flushes, folding ring and itself into the state and leaving the rings, when ``write_pos`` is L - 1 or
    ``force_flush`` is not zero. The caller advances ``write_pos``: by one, to zero after a flush.

    Args:
        mixed_qkv, A_log, scale, initial_state, out, ssm_state_indices, use_qk_l2norm_in_kernel, lower_bound: as in `packed_decode`.
        a, dt_bias: as there, or with K as an axis of its own; contiguous.
        b: as there.
        d_cache, k_cache, g_cache: rings, as many slots as the pool, any strides; k_cache holds the keys as normalised.
        write_pos: filled places of each row's ring, 0 to L - 1.
        force_flush: flags.

    Returns:
        ``out`` and ``initial_state`` themselves.

    Raises:
        ContractError: the call breaks the contract; not raised where contracts are not checked.
        ValueError: a shape or device would make the kernel read or write outside its tensors.
    """
    args = (
        mixed_qkv, a, b, A_log, dt_bias, float(scale), initial_state, d_cache, k_cache, g_cache, out,
        ssm_state_indices, write_pos, force_flush, use_qk_l2norm_in_kernel, lower_bound,
    )  # fmt: skip

    def run(step: Callable[..., Any]) -> Any:
        _check(mixed_qkv, a, b, A_log, dt_bias, initial_state, out, ssm_state_indices, split=True)
        _check_rings(
            mixed_qkv, initial_state, d_cache, k_cache, g_cache, out, write_pos, force_flush
        )
        return step(*args)

    if traced(mixed_qkv):
        run(torch.ops.kdacheck.replayssm_decode)
    elif out.is_cuda:
        again("replayssm_decode", args, lambda: run(launch_replayssm_decode))
    else:
        run(reference.replayssm_decode)
    return out, initial_state


@contract(
    Packed(("q", "k", "v"), by="query_start_loc"),
    GateParameters(("A_log", "dt_bias")),
    Dense(("A_log", "dt_bias")),
    Elements("A_log", "HV"),
    Elements("dt_bias", "HV*K"),
    Elements("a", "T*HV*K"),
    Elements("b", "T*HV"),
    States(("ssm_states", "intermediate_states_buffer")),
    VFirst(("ssm_states", "intermediate_states_buffer"), returns_state=False),
    Indices(("cache_indices",), pool="ssm_states"),
    Indices(("intermediate_state_indices",), pool="intermediate_states_buffer"),
    PerSequence("cache_indices", by="query_start_loc"),
    PerSequence("intermediate_state_indices", by="query_start_loc"),
    Multiple("HV", "H"),
    Boundaries("query_start_loc", ("q", "k", "v", "a", "b")),
    OffsetsEnd("query_start_loc", tokens_of="q", exact=False),
    SameDevice(),
)
def verify(
    *,
    q: Float[Tensor, "1 T H K"],
    k: Float[Tensor, "1 T H K"],
    v: Float[Tensor, "1 T HV V"],
    a: Float[Tensor, "..."],
    b: Float[Tensor, "..."],
    A_log: Float[Tensor, "..."],
    dt_bias: Float[Tensor, "..."],
    ssm_states: Float[Tensor, "slots HV V K"],
    cache_indices: Int[Tensor, "N"],
    query_start_loc: Int[Tensor, "N+1"],
    intermediate_states_buffer: Float[Tensor, "scratch steps HV V K"],
    intermediate_state_indices: Int[Tensor, "N"],
    cache_steps: int,
    retrieve_parent_token: Int[Tensor, "_ _"] | None = None,
    lower_bound: float | None = None,
) -> Float[Tensor, "1 T HV V"]:
    """Run candidate tokens from committed states, with a snapshot after each; q and k are normalised, the scale is K ** -0.5.

    A chain continues from its own last token. A tree (``retrieve_parent_token``) resumes each step after the first from the
    snapshot of its parent, an earlier step of the same sequence.

    Args:
        q, k, v: packed tokens of N sequences; HV is a multiple of H.
        a, b: raw gates with T HV K elements and logits of the write strength with T HV.
        A_log, dt_bias: parameters of the gate, dense, with HV and HV K elements.
        ssm_states: pool of committed states, V first; read only.
        cache_indices: slot of each sequence; negative is padding and starts from zero.
        query_start_loc: offsets.
        intermediate_states_buffer: snapshots; row ``[i, s]`` takes the state after step s.
        intermediate_state_indices: snapshot row i of each sequence; negative keeps none, and then a tree runs as a chain.
        cache_steps: steps a sequence may have, at most the buffer's; further tokens read as zero.
        retrieve_parent_token: step of each step's parent, for N sequences and cache_steps steps, or more.
        lower_bound: of the log decay, for the bounded gate.

    Returns:
        Outputs in v's dtype; tokens of no sequence read as zero.

    Raises:
        ContractError: the call breaks the contract; not raised where contracts are not checked.
        ValueError: a shape or device would make the kernel read or write outside its tensors.
    """
    if (
        q.ndim != 4
        or q.shape[0] != 1
        or k.shape != q.shape
        or v.ndim != 4
        or v.shape[:2] != q.shape[:2]
    ):
        raise ValueError(
            "q and k must be [1, T, H, K] and v [1, T, HV, V]"
            f" (got {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)})"
        )
    tokens, heads, width = q.shape[1:]
    value_heads, value_width = v.shape[2:]
    state = (value_heads, value_width, width)
    buffer, sequences = intermediate_states_buffer, cache_indices.shape[0]
    if not heads or value_heads % heads:
        raise ValueError(f"HV must be a multiple of H (got H={heads}, HV={value_heads})")
    for name, x, size in (
        ("a", a, tokens * value_heads * width),
        ("b", b, tokens * value_heads),
        ("A_log", A_log, value_heads),
        ("dt_bias", dt_bias, value_heads * width),
    ):
        if x.numel() != size:
            raise ValueError(f"{name} must have {size} elements (got {tuple(x.shape)})")
    if ssm_states.ndim != 4 or ssm_states.shape[1:] != state:
        raise ValueError(f"ssm_states must be [slots, HV, V, K] (got {tuple(ssm_states.shape)})")
    if buffer.ndim != 5 or buffer.shape[2:] != state or not 0 < cache_steps <= buffer.shape[1]:
        raise ValueError(
            "intermediate_states_buffer must be [scratch, steps, HV, V, K] with 0 < cache_steps <= steps"
            f" (got {tuple(buffer.shape)}, cache_steps={cache_steps})"
        )
    if query_start_loc.shape != (sequences + 1,) or intermediate_state_indices.shape != (
        sequences,
    ):
        raise ValueError(
            f"{sequences} sequences need {sequences + 1} offsets and {sequences} snapshot rows"
            f" (got {tuple(query_start_loc.shape)}, {tuple(intermediate_state_indices.shape)})"
        )
    parents = retrieve_parent_token
    if parents is not None and (
        parents.ndim != 2 or parents.shape[0] < sequences or parents.shape[1] < cache_steps
    ):
        raise ValueError(
            f"retrieve_parent_token must cover [{sequences}, {cache_steps}] (got {tuple(parents.shape)})"
        )
    args = (
        q, k, v, a, b, A_log, dt_bias, ssm_states, cache_indices, query_start_loc, buffer,
        intermediate_state_indices, cache_steps, parents, lower_bound,
    )  # fmt: skip
    for x in args:
        if isinstance(x, Tensor) and x.device != q.device:
            raise ValueError(f"every tensor must be on q's device {q.device} (got {x.device})")
    if traced(q):
        return torch.ops.kdacheck.verify(*args)
    return launch_verify(*args) if q.is_cuda else _verify_on_cpu(*args)


def _check(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    pool: Tensor,
    out: Tensor,
    slots: Tensor,
    split: bool = False,
) -> None:
    """Refuse what would touch memory outside the tensors, contract or no contract.

    ``split`` allows K as an axis of a and dt_bias.
    """
    if pool.ndim != 4 or mixed_qkv.ndim != 2:
        raise ValueError(
            "mixed_qkv must be [B, W] and initial_state [slots, HV, V, K]"
            f" (got {tuple(mixed_qkv.shape)}, {tuple(pool.shape)})"
        )
    rows, total = mixed_qkv.shape
    _, value_heads, value_width, width = pool.shape
    heads, left = divmod(total - value_heads * value_width, 2 * width)
    if left or heads < 1 or value_heads % heads:
        raise ValueError(
            f"mixed_qkv of width {total} is not 2 H K + HV V with HV a multiple of H"
            f" (HV={value_heads}, V={value_width}, K={width})"
        )
    if width & (width - 1) or value_width & (value_width - 1):
        raise ValueError(f"K and V must be powers of two (got K={width}, V={value_width})")
    channels = value_heads * width
    if a.numel() != rows * channels or a.shape[0] != rows or not (split or a.ndim == 2):
        raise ValueError(f"a must be [{rows}, {channels}] (got {tuple(a.shape)})")
    if b.shape != (rows, value_heads):
        raise ValueError(f"b must be [{rows}, {value_heads}] (got {tuple(b.shape)})")
    if A_log.shape != (value_heads,):
        raise ValueError(f"A_log must be [{value_heads}] (got {tuple(A_log.shape)})")
    if dt_bias.numel() != channels or not (split or dt_bias.ndim == 1):
        raise ValueError(f"dt_bias must be [{channels}] (got {tuple(dt_bias.shape)})")
    if out.shape != (rows, 1, value_heads, value_width):
        raise ValueError(
            f"out must be [{rows}, 1, {value_heads}, {value_width}] (got {tuple(out.shape)})"
        )
    if slots.shape != (rows,):
        raise ValueError(f"ssm_state_indices must be [{rows}] (got {tuple(slots.shape)})")
    device = out.device
    for x in (mixed_qkv, a, b, A_log, dt_bias, pool, slots):
        if x.device != device:
            raise ValueError(f"every tensor must be on {device} (got {x.device})")


def _check_rings(
    mixed_qkv: Tensor,
    pool: Tensor,
    d_cache: Tensor,
    k_cache: Tensor,
    g_cache: Tensor,
    out: Tensor,
    write_pos: Tensor,
    force_flush: Tensor | None,
) -> None:
    """The same for what ReplaySSM adds; the rest is checked already."""
    slots, value_heads, value_width, width = pool.shape
    heads = (mixed_qkv.shape[1] - value_heads * value_width) // 2 // width
    length = d_cache.shape[2] if d_cache.ndim == 4 else 0
    if (
        length < 1
        or d_cache.shape != (slots, value_heads, length, value_width)
        or k_cache.shape != (slots, heads, length, width)
        or g_cache.shape != (slots, value_heads, length, width)
    ):
        raise ValueError(
            "the rings must be d_cache [slots, HV, L, V], k_cache [slots, H, L, K] and g_cache [slots, HV, L, K] with L >= 1"
            f" and the pool's slots (got {tuple(d_cache.shape)}, {tuple(k_cache.shape)}, {tuple(g_cache.shape)})"
        )
    rows = mixed_qkv.shape[:1]
    for name, x in (("write_pos", write_pos), ("force_flush", force_flush)):
        if x is not None and x.shape != rows:
            raise ValueError(f"{name} must be [B] (got {tuple(x.shape)})")
    for x in (d_cache, k_cache, g_cache, write_pos, force_flush):
        if x is not None and x.device != out.device:
            raise ValueError(f"every tensor must be on {out.device} (got {x.device})")


def _variant(state: Tensor, programs: int) -> str:
    """Regime of a launch, as `configs` names it; ``programs`` is rows times value heads."""
    width = "float32" if state.element_size() > 2 else "half"
    for size, below in (("tiny", 64), ("few", 256), ("some", 1024), ("many", 4096)):
        if programs < below:
            return f"{width}-{size}"
    return f"{width}-most"


def launch_packed_decode(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    scale: float,
    initial_state: Tensor,
    out: Tensor,
    ssm_state_indices: Tensor,
    normalize: bool,
    lower_bound: float | None,
) -> Launched | None:
    """Launch on any device that Helion serves, its interpreter included; says what it launched."""
    programs = mixed_qkv.shape[0] * initial_state.shape[1]
    if programs == 0:
        return None
    return call(
        kernel("decode_device", "packed_decode", out, _variant(initial_state, programs)),
        mixed_qkv,
        a,
        b,
        A_log,
        dt_bias,
        initial_state,
        ssm_state_indices,
        out,
        scale,
        0.0 if lower_bound is None else lower_bound,
        normalize,
        lower_bound is not None,
    )


def launch_replayssm_decode(
    mixed_qkv: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    scale: float,
    initial_state: Tensor,
    d_cache: Tensor,
    k_cache: Tensor,
    g_cache: Tensor,
    out: Tensor,
    ssm_state_indices: Tensor,
    write_pos: Tensor,
    force_flush: Tensor | None,
    normalize: bool,
    lower_bound: float | None,
) -> Launched | None:
    """Launch on any device that Helion serves, its interpreter included; says what it launched."""
    rows = mixed_qkv.shape[0]
    programs = rows * initial_state.shape[1]
    if programs == 0:
        return None
    return call(
        kernel("decode_device", "replayssm_decode", out, _variant(initial_state, programs)),
        mixed_qkv,
        a if a.ndim == 2 else a.view(rows, -1),
        b,
        A_log,
        dt_bias if dt_bias.ndim == 1 else dt_bias.view(-1),
        initial_state,
        d_cache,
        k_cache,
        g_cache,
        ssm_state_indices,
        write_pos,
        force_flush,
        out,
        scale,
        0.0 if lower_bound is None else lower_bound,
        normalize,
        lower_bound is not None,
        force_flush is not None,
    )


def launch_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    ssm_states: Tensor,
    cache_indices: Tensor,
    query_start_loc: Tensor,
    intermediate_states_buffer: Tensor,
    intermediate_state_indices: Tensor,
    cache_steps: int,
    retrieve_parent_token: Tensor | None,
    lower_bound: float | None,
) -> Tensor:
    """Launch on any device that Helion serves, its interpreter included."""
    tokens, _, width = q.shape[1:]
    value_heads = v.shape[2]
    sequences = cache_indices.shape[0]
    out = torch.zeros_like(v, memory_format=torch.contiguous_format)
    if tokens == 0 or sequences == 0:
        return out
    buffer = intermediate_states_buffer
    places, steps = buffer.shape[:2]
    unit = math.gcd(buffer.stride(0), buffer.stride(1)) or 1
    strides = buffer.stride(0) // unit, buffer.stride(1) // unit
    rows = (places - 1) * strides[0] + (steps - 1) * strides[1] + 1
    snapshots = buffer.as_strided((rows, *buffer.shape[2:]), (unit, *buffer.stride()[2:]))
    call(
        kernel("decode_device", "verify", q),
        q[0],
        k[0],
        v[0],
        a.reshape(tokens, value_heads, width),
        b.reshape(tokens, value_heads),
        A_log.reshape(-1),
        dt_bias.reshape(value_heads, width),
        ssm_states,
        cache_indices,
        query_start_loc,
        snapshots,
        intermediate_state_indices,
        retrieve_parent_token,
        out[0],
        width**-0.5,
        0.0 if lower_bound is None else lower_bound,
        sequences,
        cache_steps,
        tokens,
        *strides,
        lower_bound is not None,
        retrieve_parent_token is not None,
    )
    return out


def _verify_on_cpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    ssm_states: Tensor,
    cache_indices: Tensor,
    query_start_loc: Tensor,
    intermediate_states_buffer: Tensor,
    intermediate_state_indices: Tensor,
    cache_steps: int,
    retrieve_parent_token: Tensor | None,
    lower_bound: float | None,
) -> Tensor:
    return reference.verify(
        q=q,
        k=k,
        v=v,
        a=a,
        b=b,
        A_log=A_log,
        dt_bias=dt_bias,
        ssm_states=ssm_states,
        cache_indices=cache_indices,
        query_start_loc=query_start_loc,
        intermediate_states_buffer=intermediate_states_buffer,
        intermediate_state_indices=intermediate_state_indices,
        cache_steps=cache_steps,
        retrieve_parent_token=retrieve_parent_token,
        lower_bound=lower_bound,
    )


_STEP = "Tensor mixed_qkv, Tensor a, Tensor b, Tensor A_log, Tensor dt_bias, float scale, Tensor(a!) initial_state"
_OPTIONS = "bool normalize, float? lower_bound"


@torch.library.custom_op(
    "kdacheck::packed_decode",
    mutates_args=("initial_state", "out"),
    schema=f"({_STEP}, Tensor(b!) out, Tensor ssm_state_indices, {_OPTIONS}) -> ()",
)
def _packed_decode(mixed_qkv: Tensor, *args: Any) -> None:
    (launch_packed_decode if mixed_qkv.is_cuda else reference.packed_decode)(mixed_qkv, *args)


@torch.library.custom_op(
    "kdacheck::replayssm_decode",
    mutates_args=("initial_state", "d_cache", "k_cache", "g_cache", "out"),
    schema=(
        f"({_STEP}, Tensor(b!) d_cache, Tensor(c!) k_cache, Tensor(d!) g_cache, Tensor(e!) out,"
        f" Tensor ssm_state_indices, Tensor write_pos, Tensor? force_flush, {_OPTIONS}) -> ()"
    ),
)
def _replayssm_decode(mixed_qkv: Tensor, *args: Any) -> None:
    (launch_replayssm_decode if mixed_qkv.is_cuda else reference.replayssm_decode)(mixed_qkv, *args)


@_packed_decode.register_fake
@_replayssm_decode.register_fake
def _(*args: Any) -> None:
    return None


@torch.library.custom_op(
    "kdacheck::verify",
    mutates_args=("intermediate_states_buffer",),
    schema=(
        "(Tensor q, Tensor k, Tensor v, Tensor a, Tensor b, Tensor A_log, Tensor dt_bias, Tensor ssm_states,"
        " Tensor cache_indices, Tensor query_start_loc, Tensor(a!) intermediate_states_buffer,"
        " Tensor intermediate_state_indices, int cache_steps, Tensor? retrieve_parent_token, float? lower_bound)"
        " -> Tensor"
    ),
)
def _verify(q: Tensor, *args: Any) -> Tensor:
    return (launch_verify if q.is_cuda else _verify_on_cpu)(q, *args)


@_verify.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *args: Any) -> Tensor:
    return torch.empty_like(v, memory_format=torch.contiguous_format)
