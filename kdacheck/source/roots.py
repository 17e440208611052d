"""Functions on their own: what is known of parameters that nobody passes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import libcst as cst

from kdacheck.facts import Literal
from kdacheck.source import statements
from kdacheck.source.boundaries import Wiring
from kdacheck.source.calls import gather
from kdacheck.source.frames import BUDGET, CEILING, Frame
from kdacheck.source.functions import fixture_value, takes_fixtures
from kdacheck.source.interpreter import Interpreter, defaults_to_none
from kdacheck.source.module import Definition, assigned_targets, dotted, looped_names, suite
from kdacheck.source.objects import Function
from kdacheck.source.state import State, any_of, join
from kdacheck.source.values import UNKNOWN, Code, Items, Repeated, Table, Value


def run_root(
    interp: Interpreter, definition: Definition, closure: Mapping[Hashable, Value]
) -> None:
    node = definition.node
    assert isinstance(node, cst.FunctionDef)
    state = State(loose=set(interp.loose))
    interp.run.limit = min(interp.run.steps + BUDGET, CEILING)
    interp.run.wiring = Wiring()
    decorators = [d for outer in definition.within for d in outer.decorators]
    if any(_replaces_kernels(d) for d in decorators) or interp.module.is_expected_to_fail:
        state.muted += 1
    above, interp.root = interp.root, definition
    frame = interp.new_frame(definition.name, closure)
    frame.definition = definition
    interp.run.frames.append(frame)
    try:
        _bind_root(interp, definition, node, frame, state)
        end = statements.run_suite(interp, suite(node.body), state)
        _nested_roots(interp, definition, frame, end)
    finally:
        interp.run.frames.pop()
        interp.root = above


def _replaces_kernels(decorator: str) -> bool:
    parts = decorator.split(".")
    return "patch" in parts or parts[-1] in ("xfail", "expectedFailure")


def _bind_root(
    interp: Interpreter,
    definition: Definition,
    node: cst.FunctionDef,
    frame: Frame,
    state: State,
) -> None:
    params = node.params
    named = [*params.posonly_params, *params.params]
    owner = definition.owner_class
    if owner is not None and named and "staticmethod" not in definition.decorators:
        receiver, attributes = interp.receiver(owner)
        if "classmethod" in definition.decorators:
            cls = interp.class_of(owner)
            receiver = Code("class", cls, "or a subclass") if cls is not None else UNKNOWN
        state.names.update(attributes)
        state.names[named[0].name.value] = receiver
        frame.owner, frame.self_value = interp.class_of(owner), receiver
        named = named[1:]
    dims = frame.dims
    sets = parametrized(interp, definition, state)
    for param in (*named, *params.kwonly_params):
        name = param.name.value
        value = sets.get(name)
        if value is None and param.default is None and takes_fixtures(definition):
            value = fixture_value(interp, name, state, definition.owner_class)
        state.names[name] = (
            value if value is not None else interp.parameter_value(param, state, dims)
        )
    frame.parameters = {
        param.name.value: state.names[param.name.value]
        for param in (*named, *params.kwonly_params)
        if defaults_to_none(param.default)
    }
    if isinstance(params.star_arg, cst.Param):
        state.names[params.star_arg.name.value] = Repeated(UNKNOWN)
    if params.star_kwarg is not None:
        state.names[params.star_kwarg.name.value] = Table({}, True)


def parametrized(interp: Interpreter, definition: Definition, state: State) -> dict[str, Value]:
    """The values `pytest.mark.parametrize` gives to parameters, joined over all cases."""
    result: dict[str, Value] = {}
    owners = [definition] + ([definition.owner] if definition.owner is not None else [])
    for owner in owners:
        for decorator in owner.node.decorators:
            call_node = decorator.decorator
            if not isinstance(call_node, cst.Call) or not dotted(call_node).endswith("parametrize"):
                continue
            with interp.quiet():
                given = gather(interp, call_node.args, state)
            if "indirect" in given.keywords or len(given.positional) > 2:
                continue  # the values go through fixtures
            values = [a.value for a in given.positional]
            values += [
                given.keywords[k].value for k in ("argnames", "argvalues") if k in given.keywords
            ]
            if len(values) < 2:
                continue
            names = _argument_names(values[0])
            cases = interp.iterate(values[1], state)
            if names is None or not isinstance(cases, Items) or not cases.items:
                continue
            columns = [_case(case, len(names)) for case in cases.items]
            for index, name in enumerate(names):
                result[name] = any_of(column[index] for column in columns)
    return result


def _argument_names(value: Value) -> list[str] | None:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return [part.strip() for part in value.value.split(",") if part.strip()]
    if isinstance(value, Items):
        names = [
            v.value for v in value.items if isinstance(v, Literal) and isinstance(v.value, str)
        ]
        return names if len(names) == len(value.items) else None
    return None


def _case(case: Value, count: int) -> list[Value]:
    if isinstance(case, Items) and case.kind == "param" and len(case.items) == count:
        return list(case.items)
    if count == 1:
        return [case if not (isinstance(case, Items) and case.kind == "param") else UNKNOWN]
    if isinstance(case, Items) and len(case.items) == count:
        return list(case.items)
    return [UNKNOWN] * count


def _nested_roots(
    interp: Interpreter, definition: Definition, frame: Frame, end: State | None
) -> None:
    """Functions defined inside a function, on their own, with what it assigns exactly once."""
    for _, left in frame.returns:
        end = join(end, left)
    node = definition.node
    assert isinstance(node, cst.FunctionDef)
    counts: dict[str, int] = {}
    for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
        counts[param.name.value] = counts.get(param.name.value, 0) + 1
    for target in assigned_targets(suite(node.body)):
        if isinstance(target, cst.Name):
            counts[target.value] = counts.get(target.value, 0) + 1
    often = looped_names(suite(node.body)) | interp.module.changed_names(definition)
    for made, at in list(frame.defined):
        inner: Function = made.target
        if inner.definition is None or inner.definition.number not in interp.relevant:
            continue
        closure: dict[Hashable, Value] = {**frame.closure}
        for name, count in counts.items():
            if count > 1 or name in often:
                closure[name] = UNKNOWN
            elif end is not None and name in end.names:
                closure[name] = end.names[name]
            elif name in at.names:
                closure[name] = at.names[name]
            else:
                closure[name] = UNKNOWN
        for key, value in (end or at).names.items():
            if isinstance(key, tuple):
                closure[key] = value
        run_root(interp, inner.definition, closure)
