"""A call as the linter understands it: what each argument is known to be, and what each rule makes of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from kdacheck import rules
from kdacheck.contracts import tags
from kdacheck.contracts.call import Call
from kdacheck.conventions import NONE, Conventions
from kdacheck.facts import Fact, Integer, Literal, Number, TensorFacts, Unknown, show
from kdacheck.facts.dims import exactly
from kdacheck.facts.tensors import ASPECTS
from kdacheck.rule import Rule
from kdacheck.source.analyse import examine
from kdacheck.source.judge import Scene, everywhere
from kdacheck.source.module import Module
from kdacheck.source.origins import Made
from kdacheck.source.run import Run
from kdacheck.source.told import Span, Told

WIDTH = 100
INDENT = " " * 4
_EMPTY = cst.Module([])

TAGS: Mapping[str, str] = {
    tags.BATCH_CUT: "cut by `[:n]` on an axis of size 1",
    tags.FLATTENED: "rows laid one behind the other",
    tags.HEAD_FIRST: "heads before tokens",
    "token-major": "tokens before heads",
    "sum": "a sum over an axis",
    "difference": "differences of neighbours",
    tags.CUMSUM: "a cumulative sum",
    tags.PADDED_LEFT: "padded on the left",
    tags.QUOTIENT: "floor-divided",
    tags.DIVIDED: "lengths that did not divide evenly",
    tags.ROW: "one row of a matrix",
    tags.ONE_ROW: "one of several rows",
    tags.CLAMPED: "clamped from below",
    tags.CLAMPED_PADDING: "negative padding clamped to 0",
    tags.V_FIRST: "V before K",
    tags.K_FIRST: "K before V",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The text, empty where there is no contracted call on the line; and the lines that have one."""

    text: str
    lines: tuple[int, ...]


def explain(
    filename: str,
    data: bytes,
    line: int,
    versions: Mapping[str, str],
    conventions: Conventions = NONE,
    folder: str = "",
) -> Explanation:
    """Explain the contracted calls on one line. Raises Unreadable."""
    seen: list[Run] = []
    examine(filename, data, versions, seen=seen, conventions=conventions, folder=folder)
    calls: dict[str, None] = {}
    lines: set[int] = set()
    for run in seen:
        module = next(iter(run.interpreters))
        for scene in run.scenes:
            rows = [(first, last) for (first, _), (last, _) in _spans(scene, module)]
            lines.update(row[0] for row in rows)
            if any(first <= line <= last for first, last in rows):
                calls[_scene(scene, module, getattr(versions, "reasons", {}))] = None
    return Explanation("\n".join(calls), tuple(sorted(lines)))


def tell(
    filename: str,
    data: bytes,
    versions: Mapping[str, str],
    exports: frozenset[str] = frozenset(),
    at: tuple[int, int] | None = None,
    conventions: Conventions = NONE,
    folder: str = "",
) -> list[Told]:
    """The contracted calls of a file without their explanations, or with them those around one place.

    exports: those of `examine`. Raises Unreadable.
    """
    seen: list[Run] = []
    examine(filename, data, versions, exports, seen, conventions, folder)
    told: dict[Told, None] = {}
    for run in seen:
        module = next(iter(run.interpreters))
        for scene in run.scenes:
            for span in _spans(scene, module):
                if at is not None and not span[0] <= at < span[1]:
                    continue
                text = _scene(scene, module, getattr(versions, "reasons", {})) if at else ""
                is_call = scene.module is module and span == module.position(scene.node)
                arguments = tuple(_told_arguments(scene)) if is_call else ()
                told[Told(span, text, arguments)] = None
    return list(told)


def _told_arguments(scene: Scene) -> Iterator[tuple[Span, str, str]]:
    for name, argument in (*scene.given.items(), *scene.maybe.items()):
        if argument.node is None or argument.node not in scene.module:
            continue
        shapes = {
            fact.describe_shape() if isinstance(fact, TensorFacts) and fact.shape else ""
            for fact in (call.fact(name) for call in scene.calls)
        }
        shape = next(iter(shapes)) if len(shapes) == 1 else ""
        lines = textwrap.dedent("\n".join(_argument(scene, name)))
        yield scene.module.position(argument.node), lines, shape


def _spans(scene: Scene, module: Module) -> Iterator[Span]:
    """Where a call stands in the file that is explained: its own place, and those of calls that lead to it."""
    nodes = [node for node, _, around in scene.chain if around is module]
    if scene.module is module:
        nodes.append(scene.node)
    for node in nodes:
        yield module.position(node)


def _scene(scene: Scene, module: Module, reasons: Mapping[str, str]) -> str:
    (row, column), _ = scene.module.position(scene.node)
    contract = scene.contract
    lines = [f"{scene.module.filename}:{row}:{column}: {scene.path}"]
    for node, name, around in scene.chain:
        (line, _), _ = around.position(node)
        lines.append(f"{INDENT}as `{name}` is called at {around.filename}:{line}")
    release = " ".join(filter(None, (contract.package, scene.version)))
    reason = reasons.get(contract.package, "the newest known")
    if release:
        lines.append(f"{INDENT}release   {release}, {reason}")
    versions = f" of {contract.package} {contract.versions}" if contract.versions else ""
    where = f"`kdacheck contracts {scene.path}`" if contract.package else "its own decorator"
    lines.append(f"{INDENT}contract  {where}{versions}")
    lines.append("")
    lines += _arguments(scene)
    lines.append("")
    lines += _verdicts(scene)
    return "\n".join(lines) + "\n"


def _hanging(start: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _arguments(scene: Scene) -> list[str]:
    lines: list[str] = []
    passed = {**scene.given, **scene.maybe}
    names = [name for name in scene.contract.by_name if name in passed]
    for name in names:
        lines += _argument(scene, name)
    for keyword in scene.unknown:
        lines.append(f"{INDENT}{keyword}: no parameter of the callee")
    rest = [name for name in scene.contract.by_name if name not in passed]
    if rest and scene.calls[0].complete:
        lines += _hanging(f"{INDENT}not passed: ", ", ".join(rest))
    elif rest:
        lines += _hanging(f"{INDENT}perhaps passed by an unknown * or **: ", ", ".join(rest))
    return lines


def _argument(scene: Scene, name: str) -> list[str]:
    passed = scene.maybe[name] if name in scene.maybe else scene.given[name]
    text = " ".join(_EMPTY.code_for_node(passed.node).split()) if passed.node is not None else "?"
    text = textwrap.shorten(text, 60, placeholder=" ...") if len(text) > 60 else text
    sometimes = " (on some paths only)" if name in scene.maybe else ""
    wanted = scene.contract.by_name[name].text
    lines = [f"{INDENT}{name}{f': {wanted}' if wanted else ''} = {text}{sometimes}"]
    facts = list(dict.fromkeys(_words(call.fact(name), scene.module) for call in scene.calls))
    for number, words in enumerate(facts):
        start = INDENT * 2 + ("or " if number else "")
        lines += [line for part in words.split("\n") for line in _hanging(start, part)]
    return lines


def _words(fact: Fact, module: Module) -> str:
    """What is known of an argument, and on a line of its own from where."""
    match fact:
        case TensorFacts():
            return "\n".join((_tensor(fact), *_origins(fact, module)))
        case Literal(value):
            return repr(value)
        case Integer(dim):
            return f"an integer, {show(dim)}"
        case Number():
            return "a number"
        case Unknown(not_none):
            return "not None, nothing else is known" if not_none else "nothing is known"


def _tensor(facts: TensorFacts) -> str:
    known = facts.shape is not None or bool(facts.partial)
    parts = [facts.describe_shape() if known else "a tensor of unknown shape"]
    if facts.dense:
        parts.append("dense")
    elif facts.strides is not None:
        steps = ", ".join("?" if step is None else show(step) for step in facts.strides)
        what = "not dense" if facts.dense is False else "perhaps dense"
        parts.append(f"{what}, strides ({steps})")
    else:
        parts.append("not dense" if facts.dense is False else "layout unknown")
    parts.append(" or ".join(sorted(facts.dtypes)) if facts.dtypes else "dtype unknown")
    parts.append(f"on {facts.device}" if facts.device else "device unknown")
    if facts.values is not None:
        parts.append(f"holds {textwrap.shorten(str(list(facts.values)), 60)}")
    parts += [TAGS[tag] for tag in sorted(facts.tags) if tag in TAGS]
    return ", ".join(parts)


def _origins(facts: TensorFacts, module: Module) -> Iterator[str]:
    by_place: dict[tuple[str, str], list[str]] = {}
    for aspect in ASPECTS:
        made = facts.origins.get(aspect)
        if isinstance(made, Made) and _is_known(facts, aspect):
            (row, _), _ = made.module.position(made.node)
            where = f"line {row}" if made.module is module else f"{made.module.filename}:{row}"
            by_place.setdefault((made.what, where), []).append(aspect)
    for (what, where), aspects in by_place.items():
        yield f"{', '.join(aspects)}: {what}, {where}"


def _is_known(facts: TensorFacts, aspect: str) -> bool:
    return {
        "shape": facts.shape is not None or bool(facts.partial),
        "layout": facts.dense is not None or facts.strides is not None,
        "dtype": bool(facts.dtypes),
        "device": facts.device is not None,
        "values": facts.values is not None or bool(facts.tags & TAGS.keys()),
    }[aspect]


# Verdicts


def _verdicts(scene: Scene) -> list[str]:
    broken: list[str] = []
    unknown: list[str] = []
    holding: list[str] = []
    silent: list[str] = []
    tries = [try_ for call in scene.calls for try_ in _tries(call)]
    for rule in rules.catalogue():
        if rule.check is None:
            continue
        label = f"{INDENT}{rule.code} {rule.name:<27} "
        violations = everywhere(rule, list(scene.calls))
        if violations:
            for violation in violations:
                word = "likely broken" if violation.likely else "broken"
                broken += _hanging(f"{label}{word}: ", violation.message)
            continue
        why = _unknown(rule, scene.calls, tries)
        if why is not None:
            unknown += _hanging(f"{label}unknown: ", why.removeprefix("not known: "))
        elif _is_about_the_call(rule) or any(t.known and t.tells(rule) for t in tries):
            holding.append(rule.code)
        else:
            silent.append(rule.code)
    lines = [*broken, *unknown]
    if holding:
        lines += _hanging(f"{INDENT}hold: ", ", ".join(holding))
    if silent:
        lines += _hanging(f"{INDENT}nothing to say of this call: ", ", ".join(silent))
    return lines


def _is_about_the_call(rule: Rule) -> bool:
    """Whether a rule judges which arguments are passed, or how, rather than what they are."""
    return rule.code in ("KDA003", "KDA004", "KDA501", "KDA502")


@dataclass(frozen=True, slots=True)
class _Try:
    """The call with something else in the place of one fact: an unknown one, or (`known`) one that is known.

    plain: the same without what is tried, where that takes more facts than the one.
    """

    call: Call
    plain: Call | None
    parameter: str
    what: str
    known: bool

    def tells(self, rule: Rule) -> bool:
        """Whether the rule goes by what is tried."""
        return _fires(rule, self.call) and (self.plain is None or not _fires(rule, self.plain))


def _unknown(rule: Rule, calls: Sequence[Call], tries: Iterable[_Try]) -> str | None:
    """What would have to be known for a verdict, None where there is one."""
    if any(_fires(rule, call) for call in calls):
        return "broken on some of the paths that lead here"
    missing: dict[str, dict[str, None]] = {}
    for one in tries:
        if not one.known and one.tells(rule):
            missing.setdefault(one.what, {})[f"`{one.parameter}`"] = None
    if missing:
        listed = (f"{what} of {', '.join(names)}" for what, names in missing.items())
        return f"not known: {'; '.join(listed)}"
    if rule.code in ("KDA501", "KDA502") and not calls[0].complete:
        return "an unknown * or ** may pass more"
    return None


def _fires(rule: Rule, call: Call) -> bool:
    assert rule.check is not None
    return next(iter(rule.check(call)), None) is not None


#: Sizes that agree with nothing, by axis.
_SIZES = (2, 3, 5, 7, 11)
_DTYPES = ("float32", "float64", "bfloat16", "int64", "int32", "int16", "bool")
_CONTENTS = ((5, 7, 4), (3, 8, 9), (0, 4, 2), (0, 1, 10_007), (0, 0, 3), (-1, 4, 2))
_CONSTANTS = (True, False, 0, 0.5, -100.0, "?")


def _tries(call: Call) -> Iterator[_Try]:
    # a law that needs two unknown arguments is looked at with one of them given
    given = {
        name: Unknown(True, fact.handle) if isinstance(fact, Unknown) else fact
        for name, fact in call.arguments.items()
    }
    arguments, call = call.arguments, replace(call, arguments=given)
    for parameter in call.contract.parameters:
        name = parameter.name
        fact = arguments.get(name, call.fact(name))
        is_tensor = bool(parameter.annotation.tensors)
        for what, other, plain in _others(fact, is_tensor, parameter.required):
            yield _Try(
                _with(call, name, other),
                None if plain is None else _with(call, name, plain),
                name,
                what,
                _knows(fact, what, name, call),
            )


def _with(call: Call, name: str, fact: Fact) -> Call:
    return replace(call, arguments={**call.arguments, name: fact})


def _knows(fact: Fact, what: str, name: str, call: Call) -> bool:
    if isinstance(fact, TensorFacts):
        return {
            "the shape": fact.shape is not None
            and all(exactly(size) is not None for size in fact.shape),
            "the layout": fact.dense is not None,
            "the dtype": fact.dtypes is not None,
            "the device": fact.device is not None,
            "the contents": fact.values is not None or bool(fact.tags & TAGS.keys()),
            "the origin": True,
            "the presence": True,
        }.get(what, True)
    if isinstance(fact, Unknown):
        passed = name in call.arguments or not call.complete
        return not passed or (what == "the presence" and fact.not_none)
    return not isinstance(fact, (Integer, Number))


def _others(
    fact: Fact, is_tensor: bool, required: bool
) -> Iterator[tuple[str, Fact, TensorFacts | None]]:
    """The ways in which an argument can differ: what differs, what it might be, and the same without the difference."""
    if not required:
        yield "the presence", Literal(None), None
    if not is_tensor:
        for value in _CONSTANTS:
            yield "the value", Literal(value), None
        return
    base = fact if isinstance(fact, TensorFacts) else TensorFacts()
    for rank in range(1, 6):
        for lead in (1, 2):
            yield "the shape", _with_shape(base, (lead, *_SIZES[1:])[:rank]), None
    if base.shape:
        for size in (1, 2, 10_007):
            yield "the shape", _with_shape(base, (size, *base.shape[1:])), None
            yield "the shape", _with_shape(base, (*base.shape[:-1], size)), None
    shapes = [base.shape] if base.shape else [_SIZES[:rank] for rank in (1, 2, 4)]
    for shape in shapes:
        dense = _with_shape(base, shape)
        fixed = tuple(exactly(size) or 2 for size in shape)
        yield "the layout", replace(dense, strides=(0,) * len(shape), dense=False), dense
        strided = replace(dense, shape=fixed, strides=(2,) * len(fixed), dense=False)
        yield "the layout", strided, dense
    for dtype in _DTYPES:
        yield "the dtype", replace(base, dtypes=frozenset((dtype,))), None
    for device in ("cpu", "cuda"):
        yield "the device", replace(base, device=device), None
    for values in _CONTENTS:
        empty = TensorFacts.of((len(values),), dense=True, dtype=base.dtypes)
        yield "the contents", replace(empty, values=values), empty
    for tag in (tags.BATCH_CUT, tags.HEAD_FIRST, tags.V_FIRST, tags.K_FIRST):
        yield "the origin", replace(base, tags=frozenset((tag,))), replace(base, tags=_NO_TAGS)
    for tag in ("sum", tags.DIVIDED, tags.ONE_ROW, tags.CLAMPED_PADDING):
        yield "the contents", replace(base, tags=frozenset((tag,))), replace(base, tags=_NO_TAGS)


_NO_TAGS = frozenset[str]()


def _with_shape(base: TensorFacts, shape: tuple[object, ...]) -> TensorFacts:
    return TensorFacts.of(
        shape,  # pyright: ignore[reportArgumentType]
        dense=True,
        dtype=base.dtypes,
        device=base.device,
        tags=base.tags,
    )
