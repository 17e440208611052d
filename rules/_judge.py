"""What several rules share: which code a fault of the unification has, and how facts are put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from kdacheck.contracts.call import Call, RankFault, SizeFault
from kdacheck.contracts.clauses import Dense
from kdacheck.facts import Dim, TensorFacts, equal, exactly, is_dense, show
from kdacheck.facts.dims import at_least
from kdacheck.rule import Violation

WORDS: Mapping[str, str] = {
    "B": "batch size",
    "T": "tokens",
    "H": "heads",
    "HV": "value heads",
    "K": "key channels",
    "V": "value channels",
    "N": "sequences",
    "L": "ring length",
    "D": "channels",
    "W": "kernel width",
    "slots": "slots",
}

RANK_CODES = {
    "gate parameter": "KDA102",
    "gate": "KDA104",
    "offsets": "KDA305",
    "index": "KDA405",
    "ring": "KDA406",
    "cursor": "KDA406",
}

DTYPE_CODES = {
    "gate parameter": "KDA106",
    "offsets": "KDA304",
    "state": "KDA402",
    "ring": "KDA402",
    "index": "KDA405",
    "cursor": "KDA406",
}

LAYOUT_CODES = {
    "gate parameter": "KDA101",
    "offsets": "KDA307",
    "index": "KDA405",
    "cursor": "KDA406",
}


def size_code(call: Call, fault: SizeFault) -> str | None:
    """The code of a size that disagrees; None where another rule already tells the same fault."""
    role = call.contract.roles[fault.parameter]
    if fault.parameter in call.unflattened and fault.axis < 2:
        return None
    if role == "offsets":
        return None
    if role in ("gate parameter", "ring", "cursor"):
        return {"gate parameter": "KDA103"}.get(role, "KDA406")
    if fault.spec == "N" or role == "index":
        return "KDA401"
    if role == "state":
        return "KDA403" if swapped(call, fault.parameter) else "KDA203"
    if role == "gate" and (fault.names & {"H", "HV", "K", "V"}):
        return "KDA104"
    return "KDA203"


def size_faults(call: Call, code: str) -> Iterator[SizeFault]:
    """The faults that are this rule's, in the order of the signature, at most one per axis."""
    return (fault for fault in call.unified.sizes if size_code(call, fault) == code)


def size_violations(call: Call, code: str) -> Iterator[Violation]:
    """One violation per parameter with sizes that disagree."""
    told: set[str] = set()
    for fault in size_faults(call, code):
        if fault.parameter in told or call.ignored(fault.parameter):
            continue
        told.add(fault.parameter)
        yield size_violation(call, fault)


def size_violation(call: Call, fault: SizeFault) -> Violation:
    facts = call.tensor(fault.parameter)
    shape = facts.describe_shape() if facts is not None else "[...]"
    return Violation(
        f"`{fault.parameter}` is {shape}: axis {fault.axis} is {show(fault.actual)}, "
        f"but must be {meaning(fault)}",
        parameter=fault.parameter,
        aspect="shape",
        remedy=f"give `{fault.parameter}` the shape {wanted_shape(call, fault.parameter)}",
    )


def meaning(fault: SizeFault) -> str:
    """What a size must be and why: `8, the heads (H) of `q``."""
    value = show(fault.expected)
    if fault.spec == value:
        return value
    word = WORDS.get(fault.spec)
    name = fault.spec if word in (None, fault.spec) else f"{word} ({fault.spec})"
    of = f" of `{fault.against}`" if fault.against and fault.against != fault.parameter else ""
    return f"{value}, the {name}{of}" if word else f"{value} = {name}"


def counted(count: Dim, what: str) -> str:
    """`3 entries`, `n entries`, `1 entry`."""
    one = {"entries": "entry", "slot indices": "slot index"}.get(what, what.removesuffix("s"))
    return f"{show(count)} {one if exactly(count) == 1 else what}"


def wanted_shape(call: Call, name: str) -> str:
    """The shapes that a parameter may have, as its annotation writes them."""
    specs = call.annotation(name).tensors
    shapes = [str(spec.axes).replace("_", "any") for spec in specs if spec.axes is not None]
    return " or ".join(dict.fromkeys(shapes)) or "that the signature states"


def swapped(call: Call, name: str) -> bool:
    """Whether a state certainly has K and V in each other's place."""
    facts = call.tensor(name)
    order = {"k-first": ("K", "V"), "v-first": ("V", "K")}.get(call.state_order(name) or "")
    if facts is None or order is None:
        return False
    first, last = facts.dim(-2), facts.dim(-1)
    want_first, want_last = (call.unified.size(axis) for axis in order)
    if first is None or last is None or equal(first, last):
        return False
    checks = []
    if want_first is not None:
        checks.append(equal(last, want_first))
    if want_last is not None:
        checks.append(equal(first, want_last))
    return bool(checks) and all(checks)


def rank_code(call: Call, fault: RankFault) -> str:
    return RANK_CODES.get(call.contract.roles[fault.parameter], "KDA204")


def rank_violations(call: Call, code: str) -> Iterator[Violation]:
    """One violation per parameter whose rank is none of those allowed."""
    for fault in call.unified.ranks:
        if rank_code(call, fault) != code or call.ignored(fault.parameter):
            continue
        facts = call.tensor(fault.parameter)
        shape = facts.describe_shape() if facts is not None else "[...]"
        allowed = " or ".join(f"{rank}-D" for rank in fault.allowed)
        yield Violation(
            f"`{fault.parameter}` is {fault.actual}-D, {shape}, but must be {allowed}, "
            f"{wanted_shape(call, fault.parameter)}",
            parameter=fault.parameter,
            aspect="shape",
            remedy=f"give `{fault.parameter}` the shape {wanted_shape(call, fault.parameter)}",
        )


def dtype_violations(call: Call, code: str) -> Iterator[Violation]:
    """One violation per parameter whose dtype is none of those allowed."""
    for name, facts in call.tensors():
        annotation = call.annotation(name)
        allowed = annotation.dtypes
        if allowed is None or annotation.others or call.ignored(name):
            continue
        if DTYPE_CODES.get(call.contract.roles[name], "KDA205") != code:
            continue
        if facts.dtype_outside(allowed):
            yield Violation(
                f"`{name}` is {dtypes(facts.dtypes or frozenset())}, but must be {dtypes(allowed)}",
                parameter=name,
                aspect="dtype",
                remedy=f"pass `{name}` as {dtypes(allowed)}",
            )


_FAMILIES: Mapping[frozenset[str], str] = {
    frozenset(("int8", "int16", "int32", "int64")): "an integer tensor",
}


def dtypes(names: frozenset[str]) -> str:
    """`float32`, `int32 or int64`, `a floating-point tensor`."""
    if names in _FAMILIES:
        return _FAMILIES[names]
    if len(names) > 3 and all("float" in name for name in names):
        return "a floating-point tensor"
    return " or ".join(sorted(names))


def layout_violations(call: Call, code: str) -> Iterator[Violation]:
    """One violation per parameter that certainly does not lie in memory as the callee assumes."""
    for dense in call.contract.each(Dense):
        if dense.unless is not None and call.on(dense.unless) is not False:
            continue
        for name in dense.parameters:
            facts = call.tensor(name)
            if facts is None or call.ignored(name) or not strided(facts, dense.trailing):
                continue
            role = call.contract.roles[name]
            if LAYOUT_CODES.get(role, "KDA201") == code:
                yield _strided(name, role, facts, dense)


def _strided(name: str, role: str, facts: TensorFacts, dense: Dense) -> Violation:
    what = {None: "dense", 1: "dense in its last axis"}.get(
        dense.trailing, f"dense in its last {dense.trailing} axes"
    )
    then = (
        "the call is refused" if dense.outcome == "refused" else "its values are misread in silence"
    )
    written = name == "out" or role in ("state", "ring")
    return Violation(
        f"`{name}` must be {what} but is {describe_layout(facts)}; {then}",
        parameter=name,
        aspect="layout",
        remedy=f"make `{name}` dense where it is allocated: what is written to a copy is lost"
        if written
        else f"pass a dense copy: `{name}.contiguous()`",
    )


def strided(facts: TensorFacts, trailing: int | None = None) -> bool:
    """Whether a tensor, or its last axes, certainly do not lie densely in memory."""
    if trailing is None and facts.dense is False:
        return True
    if facts.shape is None or facts.strides is None:
        return False
    shape, strides = facts.shape, facts.strides
    if trailing is not None:
        if len(shape) < trailing:
            return False
        shape, strides = shape[-trailing:], strides[-trailing:]
    if any(exactly(size) == 0 for size in facts.shape):
        return False
    if is_dense(shape, strides) is False:
        return True
    # a stride of 0 shows expansion even where the other strides are unknown
    return any(
        exactly(stride) == 0 and at_least(size, 2)
        for size, stride in zip(shape, strides, strict=True)
    )


def describe_layout(facts: TensorFacts) -> str:
    """`[8, 128] with strides (1, 8), a transpose`."""
    shape = facts.describe_shape()
    if facts.shape is None or facts.strides is None:
        return f"{shape} and strided"
    steps = ", ".join("?" if step is None else show(step) for step in facts.strides)
    comma = "," if len(facts.strides) == 1 else ""
    cause = _cause(facts.shape, facts.strides)
    return f"{shape} with strides ({steps}{comma})" + (f", {cause}" if cause else "")


def _cause(shape: tuple[Dim, ...], strides: tuple[Dim | None, ...]) -> str:
    pairs = [
        (size, stride)
        for size, stride in zip(shape, strides, strict=True)
        if exactly(size) != 1 and stride is not None
    ]
    if any(exactly(stride) == 0 for _, stride in pairs):
        return "an expanded tensor (stride 0)"
    steps = [step for _, stride in pairs if (step := exactly(stride)) is not None]
    if len(steps) != len(pairs) or not steps or strides[-1] is None:
        return ""
    if steps != sorted(steps, reverse=True):
        return "a transpose"
    if steps[-1] != 1:
        return "every second element" if steps == [2] else "a column slice"
    return "a slice of wider rows"


def offsets(call: Call) -> Iterator[tuple[str, TensorFacts]]:
    """The offsets of a call that are certainly a tensor, and not certainly of another rank: KDA305 tells that alone."""
    for name, facts in call.tensors():
        if call.contract.roles[name] == "offsets" and facts.rank in (None, 1):
            yield name, facts


def falls(values: tuple[int, ...]) -> bool:
    """Whether a list has an entry below the one before it."""
    return any(after < before for before, after in pairwise(values))


def show_values(values: tuple[int, ...]) -> str:
    """`[0, 3, 8]`, shortened in the middle where long."""
    if len(values) <= 8:
        return str(list(values))
    head = ", ".join(map(str, values[:5]))
    tail = ", ".join(map(str, values[-2:]))
    return f"[{head}, ..., {tail}]"


def token_major(call: Call, name: str) -> bool:
    """Whether the callee certainly reads axis 1 of a parameter as tokens, after a batch axis."""
    specs = call.annotation(name).tensors
    return bool(specs) and all(
        spec.axes is not None
        and spec.axes.rank is not None
        and spec.axes.rank >= 3
        and spec.axes.names[0] in ("B", "1")
        and spec.axes.names[1] in ("T", "_")
        for spec in specs
    )
