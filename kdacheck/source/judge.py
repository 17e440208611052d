"""Bind a call to its contract and let the rules judge it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck import rules
from kdacheck.contracts import REQUIRED, Call, Contract
from kdacheck.contracts.clauses import Boundaries
from kdacheck.contracts.model import label
from kdacheck.contracts.tags import DROPPED, OVERWRITTEN, SWALLOWED, UNREAD
from kdacheck.facts import Fact, Integer, Literal, Number, TensorFacts, Unknown
from kdacheck.rule import Rule, Violation
from kdacheck.rules import state_layout
from kdacheck.source import boundaries, limits
from kdacheck.source.module import Definition, Module
from kdacheck.source.narrowing import is_code_path
from kdacheck.source.objects import Argument, Arguments
from kdacheck.source.state import State, alternatives
from kdacheck.source.values import AnyOf, External, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: Combinations of alternative arguments judged one by one; beyond, an argument with alternatives counts as unknown.
MAX_COMBINATIONS = 64


@dataclass(frozen=True, slots=True)
class Scene:
    """A call as it was judged: by each combination of the alternatives of its arguments."""

    path: str
    contract: Contract
    version: str
    node: cst.CSTNode
    given: Mapping[str, Argument]
    unknown: Mapping[str, Argument]
    maybe: Mapping[str, Argument]
    calls: tuple[Call, ...]
    chain: tuple[tuple[cst.CSTNode, str, Module], ...]
    module: Module
    wired: boundaries.Wired | None


@dataclass(frozen=True, slots=True)
class Found:
    """A violation, with where it stands.

    chain: the calls of project functions that lead to it. names: what some names mean at the call, for a fix.
    """

    rule: Rule
    violation: Violation
    path: str
    contract: Contract
    version: str
    node: cst.CSTNode
    call: cst.CSTNode
    facts: Fact | None
    chain: tuple[tuple[cst.CSTNode, str, Module], ...]
    module: Module
    root: Definition | None = None
    scene: Scene | None = None
    names: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str | None, str | None, bool]:
        violation = self.violation
        return self.rule.code, violation.parameter, violation.keyword, violation.likely


def judge(
    interp: Interpreter,
    path: str,
    contract: Contract,
    version: str,
    arguments: Arguments,
    node: cst.CSTNode,
    state: State,
) -> Value:
    """Report what every execution with the known facts does wrong in one call; what the call returns."""
    bound = bind(contract, arguments)
    if interp.run.frames and interp.run.frames[0].definition is not None:
        interp.run.reached.add(interp.run.frames[0].definition)
    wired = boundaries.dropped_by(interp, contract, bound.given, bound.complete, state)
    scene: Scene | None = None
    if interp.is_told(node, state):
        scene = _report(interp, path, contract, version, bound, node, state, wired)
    whole = bound.complete and not bound.maybe
    sibling = boundaries.wired_by(interp, contract, bound.given, state) if whole else None
    if sibling is not None and scene is not None:
        for bare in boundaries.left_out(interp, sibling):
            _report_left_out(interp, bare, sibling)
    boundaries.note_gather(interp, path, contract, version, bound.given)
    tags: frozenset[str] = frozenset()
    if whole:
        tags = boundaries.wire(interp, contract, bound.given, state, sibling, scene)
    return boundaries.returned(interp, contract, bound.given, node, whole, tags)


def each_call(
    interp: Interpreter,
    contract: Contract,
    version: str,
    bound: Bound,
    state: State,
    notes: Mapping[str, str],
) -> list[Call]:
    """A call by each combination of the alternatives of its arguments."""
    choices: dict[str, tuple[Fact, ...]] = {}
    for name, argument in bound.given.items():
        choices[name] = _facts(interp, contract, name, argument.value, state)
    for name, argument in bound.maybe.items():
        default = contract.by_name[name].default
        known = _facts(interp, contract, name, argument.value, state)
        choices[name] = (*known, Unknown() if default is REQUIRED else Literal(default))
    combinations = 1
    for name, options in list(choices.items()):
        if combinations * len(options) > MAX_COMBINATIONS:
            choices[name] = (Unknown(all(_is_something(o) for o in options)),)
        combinations *= len(choices[name])
    limits.spend(limits.JUDGING * combinations)
    return [
        Call(
            contract=contract,
            arguments=dict(zip(choices, picked, strict=True)),
            version=version,
            unknown_keywords=tuple(bound.unknown),
            positional=bound.positional,
            complete=bound.complete,
            extra_positional=bound.extra,
            notes=notes,
        )
        for picked in itertools.product(*choices.values())
    ]


def _report(
    interp: Interpreter,
    path: str,
    contract: Contract,
    version: str,
    bound: Bound,
    node: cst.CSTNode,
    state: State,
    wired: boundaries.Wired | None,
) -> Scene:
    notes = _notes(interp, contract, bound, wired)
    calls = each_call(interp, contract, version, bound, state, notes)
    scene = Scene(
        path,
        contract,
        version,
        node,
        bound.given,
        bound.unknown,
        bound.maybe,
        tuple(calls),
        tuple(interp.run.chain),
        interp.module,
        wired,
    )
    interp.run.scenes.append(scene)
    violations = [(r, v) for r in rules.catalogue() if r.check for v in everywhere(r, calls)]
    # What lands on the wrong parameter is not judged as that parameter as well.
    drifted = {v.parameter for rule, v in violations if rule.code == "KDA502"} - {None}
    for rule, violation in violations:
        if rule.code == "KDA502" or violation.parameter not in drifted:
            where = _node_of(violation, bound, node)
            fact = calls[0].arguments.get(violation.parameter or "")
            passed = bound.given.get(violation.parameter or "")
            if violation.at_origin and passed is not None and isinstance(passed.node, cst.Name):
                written = interp.frame.overwritten.get(passed.node.value)
                where = written[1] if written is not None else where
            if violation.at_origin and isinstance(fact, TensorFacts):
                made = fact.origins.get(violation.aspect or "")
                where = made.node if made is not None else where
            interp.run.found.append(
                Found(
                    rule,
                    violation,
                    path,
                    contract,
                    version,
                    where,
                    node,
                    fact,
                    tuple(interp.run.chain),
                    interp.module,
                    interp.root,
                    scene,
                    _meanings(interp, wired, state),
                )
            )
    return scene


def _report_left_out(interp: Interpreter, bare: boundaries.Bare, wired: boundaries.Wired) -> None:
    """Report an earlier call that was not given the boundaries that a later one gets."""
    rule, law = rules.find("KDA003"), bare.scene.contract.first(Boundaries)
    if rule is None or law is None:
        return
    scene = replace(bare.scene, wired=wired)
    note = {law.by: DROPPED + label(wired.contract.paths[0])}
    names = {wired.name: bare.names[wired.name]} if wired.name in bare.names else {}
    for violation in everywhere(rule, [replace(call, notes=note) for call in scene.calls]):
        interp.run.found.append(
            Found(
                rule,
                violation,
                scene.path,
                scene.contract,
                scene.version,
                scene.node,
                scene.node,
                None,
                scene.chain,
                scene.module,
                interp.root,
                scene,
                names,
            )
        )


def _meanings(
    interp: Interpreter, wired: boundaries.Wired | None, state: State
) -> dict[str, Value]:
    """What the names that a fix may use mean at the call."""
    names = ("torch", "rearrange", *((wired.name,) if wired is not None and wired.name else ()))
    return {name: interp.lookup(name, state) for name in names}


def judge_scatter(interp: Interpreter, target: cst.Subscript, value: Value, state: State) -> None:
    """Report a state that is written back to its pool with K and V in each other's place."""
    found = boundaries.scattered(interp, target, value)
    rule = rules.find("KDA403")
    if found is None or rule is None or not interp.is_told(target, state):
        return
    read, written = found
    interp.run.found.append(
        Found(
            rule,
            state_layout.scattered(read.order, written),
            read.path,
            read.contract,
            read.version,
            target,
            target,
            None,
            tuple(interp.run.chain),
            interp.module,
            interp.root,
        )
    )


def _notes(
    interp: Interpreter, contract: Contract, bound: Bound, wired: boundaries.Wired | None
) -> dict[str, str]:
    """What the function around a call tells of its boundaries: dropped here, or overwritten before."""
    law = contract.first(Boundaries)
    if law is None:
        return {}
    if wired is not None:
        return {law.by: DROPPED + label(wired.contract.paths[0])}
    passed = bound.given.get(law.by)
    swallower = boundaries.swallowed_by(interp, passed)
    if swallower:
        return {law.by: SWALLOWED + swallower}
    ignorer = boundaries.unread_by(interp, law, bound.given) if bound.complete else ""
    if ignorer:
        return {law.by: UNREAD + ignorer}
    if passed is not None and isinstance(passed.node, cst.Name):
        mask = interp.frame.overwritten.get(passed.node.value)
        if mask is not None:
            return {law.by: OVERWRITTEN + mask[0]}
    return {}


def everywhere(rule: Rule, calls: list[Call]) -> list[Violation]:
    """The violations that every alternative of the call has."""
    assert rule.check is not None
    common: list[Violation] = []
    for index, call in enumerate(calls):
        found = list(rule.check(call))
        if index == 0:
            common = found
        else:
            likely = {(v.parameter, v.keyword): v.likely for v in found}
            common = [
                replace(v, likely=v.likely or likely[v.parameter, v.keyword])
                for v in common
                if (v.parameter, v.keyword) in likely
            ]
        if not common:
            return []
    return common


@dataclass
class Bound:
    """The arguments of a call by parameter. maybe: those passed on some paths only. unknown: by unknown keywords."""

    given: dict[str, Argument]
    maybe: dict[str, Argument]
    positional: dict[str, int]
    unknown: dict[str, Argument]
    complete: bool
    extra: int


def bind(contract: Contract, arguments: Arguments) -> Bound:
    """The arguments of a call by the parameters of a contract."""
    given: dict[str, Argument] = {}
    positions: dict[str, int] = {}
    named = contract.by_name
    for index, argument in enumerate(arguments.positional):
        if index < len(contract.positional):
            given[contract.positional[index].name] = argument
            positions[contract.positional[index].name] = index
    unknown: dict[str, Argument] = {}
    for name, argument in arguments.keywords.items():
        if name not in named:
            unknown[name] = argument
        elif name not in given:
            given[name] = argument
    maybe = {k: a for k, a in arguments.maybe.items() if k in named and k not in given}
    extra = max(0, len(arguments.positional) - len(contract.positional))
    complete = not (arguments.open_positional or arguments.open_keywords)
    return Bound(given, maybe, positions, unknown, complete, extra)


def _node_of(violation: Violation, bound: Bound, call: cst.CSTNode) -> cst.CSTNode:
    argument = None
    if violation.keyword is not None:
        argument = bound.unknown.get(violation.keyword) or bound.given.get(violation.keyword)
    elif violation.parameter is not None:
        argument = bound.given.get(violation.parameter) or bound.maybe.get(violation.parameter)
    return argument.node if argument is not None and argument.node is not None else call


def _is_something(fact: Fact) -> bool:
    if isinstance(fact, Unknown):
        return fact.not_none
    return not (isinstance(fact, Literal) and fact.value is None)


def _facts(
    interp: Interpreter, contract: Contract, name: str, value: Value, state: State
) -> tuple[Fact, ...]:
    """The facts of each alternative of an argument."""
    required = contract.by_name[name].default is REQUIRED
    facts: list[Fact] = []
    for alternative in alternatives(state.resolve(value)):
        fact = _fact(interp, alternative, state, required)
        if fact not in facts:
            facts.append(fact)
    return tuple(facts)


def _fact(interp: Interpreter, value: Value, state: State, required: bool) -> Fact:
    match value:
        case TensorFacts():
            facts = interp.tensor_of(value, state)
            return state.resolve_facts(facts if facts is not None else value)
        case Literal() | Integer() | Number():
            return value
        case Unknown(not_none, handle):
            if handle and (not_none or required):
                facts = interp.tensor_of(value, state)
                if facts is not None and (facts.shape is not None or facts.partial):
                    return state.resolve_facts(facts)
            return value
        case AnyOf():
            return Unknown()
        case External(path):
            return Unknown(not_none=is_code_path(path))
        case _:
            return Unknown(not_none=True)
