"""From what the interpreter found to findings: positions, words, origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kdacheck.contracts.model import label
from kdacheck.facts import TensorFacts, show
from kdacheck.finding import Finding, Origin, Position
from kdacheck.source.interpreter import Interpreter
from kdacheck.source.judge import Found
from kdacheck.source.origins import Made


def findings_of(interpreter: Interpreter) -> Iterable[Finding]:
    if not interpreter.run.found:
        return
    from kdacheck.source.repair import propose

    to_fail = interpreter.called_to_fail - interpreter.called
    found = [f for f in interpreter.run.found if f.root not in to_fail]
    found.sort(
        key=lambda f: f.violation.likely
    )  # of two that say the same, the certain one is told
    direct = {(f.rule.code, f.call) for f in found if not f.chain and not f.violation.likely}
    seen: set[tuple[object, ...]] = set()
    for item in found:
        if item.chain and (item.rule.code, item.call) in direct:
            continue
        finding = _finding(item, getattr(interpreter.versions, "reasons", {}))
        finding = replace(finding, fix=propose(item, interpreter.run.scenes, found))
        key = (finding.code, finding.location, finding.parameter)
        if key not in seen:
            seen.add(key)
            yield finding


def _finding(item: Found, reasons: Mapping[str, str]) -> Finding:
    violation, rule = item.violation, item.rule
    node, call = item.node, item.call
    module = item.module
    if item.chain:
        node, _, module = item.chain[0]
        call = node
    start, end = module.position(node)
    first, last = module.position(call)
    release = " ".join(filter(None, (item.contract.package, item.version)))
    reason = reasons.get(item.contract.package)
    where = f"`{label(item.path)}`"
    if release:
        where += f" ({release}{f', {reason}' if reason else ''})"
    message = f"{where}: {violation.message}"
    if item.chain:
        message += f" (via {' -> '.join(name for _, name, _ in item.chain)})"
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        remedy=violation.remedy or rule.remedy,
        filename=module.filename,
        location=Position(*start),
        end_location=Position(*end),
        callee=item.path,
        version=item.version or None,
        parameter=violation.parameter or violation.keyword,
        origins=tuple(_origins(item)),
        span=(first[0], last[0]),
        inner=tuple(_inner(item)),
        likely=violation.likely,
    )


def _origins(item: Found) -> Iterable[Origin]:
    origins = getattr(item.facts, "origins", None) or {}
    made = origins.get(item.violation.aspect or "")
    if isinstance(made, Made) and made.node is not item.node:
        start, end = made.module.position(made.node)
        yield Origin(
            f"`{item.violation.parameter}`: {made.what} made it {describe(item)}",
            made.module.filename,
            Position(*start),
            Position(*end),
        )
    yield from _inner(item)


def _inner(item: Found) -> Iterable[Origin]:
    """The kernel call, where the finding stands at the call of a wrapper."""
    if item.chain:
        start, end = item.module.position(item.call)
        yield Origin("the call is here", item.module.filename, Position(*start), Position(*end))


def describe(item: Found) -> str:
    """What the origin made of the argument, by the aspect at fault."""

    assert isinstance(item.facts, TensorFacts)
    facts = item.facts
    match item.violation.aspect:
        case "dtype":
            return " or ".join(sorted(facts.dtypes or ()))
        case "device":
            return f"on {facts.device}"
        case "layout" if facts.strides is not None:
            strides = ", ".join("?" if s is None else show(s) for s in facts.strides)
            return f"{facts.describe_shape()} with strides ({strides})"
        case "layout":
            return f"{facts.describe_shape()}, not dense"
        case "values" if facts.values is not None and len(facts.values) <= 16:
            return str(list(facts.values))
        case _:
            return facts.describe_shape()
