"""Functions and classes of the project, followed with the facts of one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.facts import Dim, Literal, Unknown
from kdacheck.facts.dims import serial
from kdacheck.source import contracted, statements
from kdacheck.source.frames import MAX_DEPTH, Frame
from kdacheck.source.module import (
    Definition,
    defaults_to_none,
    dotted,
    harmless,
    names_in,
    suite,
    yields,
)
from kdacheck.source.objects import Argument, Arguments, Class, Function, Instance, Partial, is_none
from kdacheck.source.state import (
    State,
    alternatives,
    any_of,
    distinct,
    forgotten,
    join,
    opaque,
    reached,
    repeated,
    without_contents,
    without_objects,
    without_tensors,
)
from kdacheck.source.values import UNKNOWN, AnyOf, Code, Items, Repeated, Table, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter


def unknown_call(interp: Interpreter, arguments: Arguments, state: State) -> Value:
    """A callee that is not known: it may change what it is handed."""
    for value in arguments.every():
        let_change(interp, value, state)
    state.forget_contents()
    if interp.module.changes.reshapes:
        state.forget_tensors()
    return opaque()


def let_change(interp: Interpreter, value: Value, state: State) -> None:
    """Forget what is known of an object that somebody may change, and keep, and of the objects in it."""
    state.loosen((value,))
    match value:
        case Table(entries, _, maybe):
            state.rename(value, forgotten(value))
            for item in (*entries.values(), *maybe.values()):
                let_change(interp, item, state)
        case Items(items):
            if value.identity:
                state.rename(value, forgotten(value))
            for item in items:
                let_change(interp, item, state)
        case Repeated(element):
            if value.identity:
                state.rename(value, forgotten(value))
            let_change(interp, element, state)
        case AnyOf(values):
            for one in values:
                let_change(interp, one, state)
        case Unknown(_, handle):
            state.change_unknown()
            if handle:
                state.forget_attributes(handle)
        case Code(kind="instance", target=Instance() as target):
            interp.forget_object(target, state)
        case Code(kind="method", bound=receiver) if receiver is not None:
            let_change(interp, receiver, state)
        case Code(kind="function", target=Function() as target):
            closure = _closure(interp.home(target.module), target)
            for name in _handed_on(interp.home(target.module), target):
                if name in closure and reached(closure[name]):
                    let_change(interp, closure[name], state)
        case Code(kind="partial", target=Partial() as target):
            for argument in target.arguments.every():
                let_change(interp, argument, state)
        case _:
            pass


def _handed_on(interp: Interpreter, target: Function) -> Iterable[str]:
    """Names around a function whose objects it may hand on to whoever changes them."""
    if not target.is_lambda:
        return interp.module.changes.escaped
    return names_in(target.body)


def expected_to_fail(interp: Interpreter, callee: Value) -> None:
    """Remember a function that is handed to `pytest.raises` or its like."""
    if isinstance(callee, Code) and isinstance(callee.target, Function):
        if callee.target.definition is not None:
            interp.called_to_fail.add(callee.target.definition)
    elif isinstance(callee, Code) and isinstance(callee.target, Partial):
        expected_to_fail(interp, callee.target.callee)


def run_function(
    interp: Interpreter,
    target: Function,
    arguments: Arguments,
    state: State,
    node: cst.CSTNode,
    receiver: Value | None = None,
) -> Value:
    """Follow a function of the project with the facts of one call."""
    stated = target.stated
    if stated is None:
        return _follow(interp, target, arguments, state, node, receiver)
    if target.definition is not None and "staticmethod" in target.definition.decorators:
        receiver = None
    call = contracted.judge_call(interp, stated, arguments, node, state, receiver)
    value: Value = UNKNOWN
    if not contracted.is_stub(target.body):
        # a call that is refused runs nothing
        with interp.quiet() if call.is_refused else nullcontext():
            value = _follow(interp, target, arguments, state, node, receiver)
    return (
        contracted.returned(interp, stated, call, node, state)
        if isinstance(value, Unknown)
        else value
    )


def _follow(
    interp: Interpreter,
    target: Function,
    arguments: Arguments,
    state: State,
    node: cst.CSTNode,
    receiver: Value | None = None,
) -> Value:
    """Interpret the body of a function of the project."""
    caller, interp = interp, interp.home(target.module)
    definition = target.definition
    recursive = definition is not None and any(
        f.definition is definition for f in interp.run.frames
    )
    if recursive or len(interp.run.frames) > MAX_DEPTH or interp.spent:
        return _not_followed(interp, arguments, receiver, state)
    if definition is not None:
        node_def = definition.node
        assert isinstance(node_def, cst.FunctionDef)
        if node_def.asynchronous is not None:
            return _not_followed(interp, arguments, receiver, state)
        if not all(harmless(d) for d in definition.decorators):
            return _not_followed(interp, arguments, receiver, state)
        (interp.called_to_fail if state.muted else interp.called).add(definition)
    frame = interp.new_frame(target.name, _closure(interp, target))
    frame.definition = definition
    frame.is_lambda = target.is_lambda
    frame.self_value = receiver
    if definition is not None and definition.owner_class is not None:
        frame.owner = interp.class_of(definition.owner_class)
    names: dict[Hashable, Value] = {k: v for k, v in state.names.items() if isinstance(k, tuple)}
    # what was changed so far is changed for whatever the function reads from outside
    inner = State(
        names,
        dict(state.refined),
        dict(state.ranks),
        state.sure,
        state.muted,
        distinct(state.log),
        loose=state.loose,
    )
    frame.changes_before = len(inner.log)
    since = serial()
    inner.certain = state.certain
    interp.run.frames.append(frame)
    name = definition.qualified if definition is not None else target.name
    interp.run.chain.append((node, name, caller.module))
    try:
        bind(interp, target, arguments, inner, receiver)
        passed = arguments.every()
        if any(map(is_none, passed)):
            frame.instead = frozenset(
                id(v) for v in passed if any(isinstance(one, Unknown) for one in alternatives(v))
            )
        if target.is_lambda:
            assert isinstance(target.body, cst.BaseExpression)
            value = interp.evaluate(target.body, inner)
            if interp.module.has_yield and yields(target.body):
                return UNKNOWN
            frame.returns.append((inner.resolve(value), inner))
            return _finish(interp, frame, state)
        end = statements.run_suite(interp, suite(target.body), inner)
    finally:
        interp.run.frames.pop()
        interp.run.chain.pop()
    if end is not None:
        frame.returns.append((Literal(None), end))
    if definition is not None and interp.module.has_yield and definition.is_generator:
        state.suffer(inner.log[frame.changes_before :])
        if frame.yields and _is_fixture(definition):
            return any_of(frame.yields)
        return repeated(frame.yields or [UNKNOWN], "generator", since)
    value = _finish(interp, frame, state)
    if definition is not None and any("cache" in d for d in definition.decorators):
        # one object is handed to all callers
        let_change(interp, value, state)
        return forgotten(value) if isinstance(value, (Table, Items, Repeated)) else value
    return value


def _not_followed(
    interp: Interpreter, arguments: Arguments, receiver: Value | None, state: State
) -> Value:
    if receiver is not None:
        let_change(interp, receiver, state)
    return unknown_call(interp, arguments, state)


def _finish(interp: Interpreter, frame: Frame, state: State) -> Value:
    """What a call that is over returns, and does to the state of its caller."""
    if not frame.returns:
        return UNKNOWN
    after: State | None = None
    for _, left in frame.returns:
        after = join(after, left)
    assert after is not None
    for made in frame.made:
        # Nobody rebinds these names any more, but for the functions inside that say so.
        made.closure = {**frame.closure, **after.names}
    effects = after.log[frame.changes_before :]
    after.names = {k: v for k, v in after.names.items() if isinstance(k, tuple)}
    for key in [k for k in state.names if isinstance(k, tuple)]:
        del state.names[key]
    state.names.update(after.names)
    state.refined, state.ranks, state.sure = after.refined, after.ranks, after.sure
    state.muted = max(state.muted, after.muted)
    state.after_call(effects)
    return any_of(value for value, _ in frame.returns)


def _closure(interp: Interpreter, target: Function) -> Mapping[Hashable, Value]:
    """The names a function closes over, as they are now where its maker is still running."""
    for frame in interp.run.frames:
        if frame.number == target.frame and frame.number and frame.names is not None:
            return {**frame.closure, **{k: v for k, v in frame.names.items() if isinstance(k, str)}}
    return target.closure


def bind(
    interp: Interpreter,
    target: Function,
    arguments: Arguments,
    state: State,
    receiver: Value | None,
) -> None:
    """Bind the arguments of a call to the parameters of a project function."""
    params = target.params
    positional = [*params.posonly_params, *params.params]
    decorators = [] if target.definition is None else target.definition.decorators
    queue = list(arguments.positional)
    if receiver is not None and "staticmethod" not in decorators:
        queue.insert(0, Argument(receiver if "classmethod" not in decorators else opaque(True)))
    keywords = dict(arguments.keywords)
    dims = interp.frame.dims
    for param in positional:
        name = param.name.value
        if queue:
            value = queue.pop(0).value
        elif arguments.open_positional and name not in keywords:
            value = opaque()
        elif name in keywords:
            value = keywords.pop(name).value
        else:
            value = _absent(interp, target, param, arguments, state, dims)
        state.names[name] = _as_said(interp, param, value, state, dims)
    if isinstance(params.star_arg, cst.Param):
        rest: Value = Items(tuple(a.value for a in queue))
        state.names[params.star_arg.name.value] = (
            Repeated(UNKNOWN) if arguments.open_positional else rest
        )
    for param in params.kwonly_params:
        name = param.name.value
        if name in keywords:
            value = keywords.pop(name).value
        else:
            value = _absent(interp, target, param, arguments, state, dims)
        state.names[name] = _as_said(interp, param, value, state, dims)
    if params.star_kwarg is not None:
        entries = {k: a.value for k, a in keywords.items()}
        maybe = {k: a.value for k, a in arguments.maybe.items() if k not in entries}
        state.names[params.star_kwarg.name.value] = Table(entries, arguments.open_keywords, maybe)


def _absent(
    interp: Interpreter,
    target: Function,
    param: cst.Param,
    arguments: Arguments,
    state: State,
    dims: dict[str, Dim],
) -> Value:
    name = param.name.value
    default = opaque()
    if param.default is not None:
        default = _default(interp, target, param)
    if name in arguments.maybe:
        return any_of((arguments.maybe[name].value, default))
    if arguments.open_keywords or param.default is None:
        if target.definition is not None and _is_fixture(target.definition):
            fixture = fixture_value(interp, name, state)
            if fixture is not None:
                return fixture
        return interp.parameter_value(param, state, dims)
    return default


def _default(interp: Interpreter, target: Function, param: cst.Param) -> Value:
    """The default of a parameter: what it was when the function was made."""
    known = target.defaults.get(param.name.value)
    if known is not None:
        # one object serves all calls, and any of them may give it another shape
        return without_tensors(known) if interp.module.changes.reshapes else known
    if isinstance(param.default, _CONSTANT):
        return interp.evaluate(param.default, State({}))
    return opaque()


def defaults_of(interp: Interpreter, params: cst.Parameters, state: State) -> dict[str, Value]:
    """The defaults that are worth more than a look when a call leaves them out."""
    found: dict[str, Value] = {}
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.default is None or isinstance(param.default, _CONSTANT):
            continue
        value = without_contents(state.resolve(interp.evaluate(param.default, state)))
        # One list or dict serves all calls, and each may change it.
        found[param.name.value] = without_objects(value)
    return found


_CONSTANT = (cst.Integer, cst.Float, cst.SimpleString)


def _as_said(
    interp: Interpreter, param: cst.Param, value: Value, state: State, dims: dict[str, Dim]
) -> Value:
    return interp.as_said(param, value, state, dims) if isinstance(value, Unknown) else value


def construct(
    interp: Interpreter,
    made: Instance,
    arguments: Arguments | None,
    state: State,
    node: cst.CSTNode,
) -> None:
    """Run the constructor of a project class; with no arguments given, on unknown ones."""
    cls = made.cls
    receiver = Code("instance", made)
    found = cls.method("__init__")
    if found is not None:
        owner, definition = found
        target = interp.function_of(definition, owner)
        given = (
            arguments
            if arguments is not None
            else Arguments(open_positional=True, open_keywords=True)
        )
        run_function(interp, target, given, state, node, receiver)
    elif cls.is_record:
        given = (
            arguments
            if arguments is not None
            else Arguments(open_positional=True, open_keywords=True)
        )
        _fill_record(interp, made, given, state)
    post = cls.method("__post_init__")
    if post is not None and cls.is_record:
        run_function(
            interp, interp.function_of(post[1], post[0]), Arguments(), state, node, receiver
        )


def record_fields(cls: Class) -> list[str]:
    """The fields of a dataclass or NamedTuple, inherited ones first."""
    return [name for name, _ in _annotated_fields(cls)]


def _annotated_fields(cls: Class) -> list[tuple[str, cst.AnnAssign]]:
    fields: dict[str, cst.AnnAssign] = {}
    for each in reversed(cls.lineage()):
        for line in suite(each.definition.node.body):
            if isinstance(line, cst.SimpleStatementLine):
                for small in line.body:
                    if not isinstance(small, cst.AnnAssign) or not isinstance(
                        small.target, cst.Name
                    ):
                        continue
                    if "ClassVar" not in dotted(small.annotation.annotation):
                        fields[small.target.value] = small
    return list(fields.items())


def _fill_record(interp: Interpreter, made: Instance, arguments: Arguments, state: State) -> None:
    queue = list(arguments.positional)
    if queue and not _fields_in_order(made.cls):
        queue, arguments = [], replace(arguments, positional=[], open_positional=True)
    dims: dict[str, Dim] = {}
    is_tuple = any(path.rpartition(".")[2] == "NamedTuple" for path in made.cls.outside)
    for name, field in _annotated_fields(made.cls):
        if queue:
            value = queue.pop(0).value
        elif name in arguments.keywords:
            value = arguments.keywords[name].value
        elif arguments.open_keywords or arguments.open_positional or name in arguments.maybe:
            value = opaque()
        elif field.value is not None:
            value = interp.evaluate(field.value, State({}))
            if isinstance(field.value, cst.Call):
                value = opaque()
        else:
            value = opaque()
        if isinstance(value, Unknown) and not defaults_to_none(field.value):
            value = interp.from_annotation(field.annotation.annotation, value, state, dims, field)
        if is_tuple and interp.module.changes.assigners(name):
            value = opaque()  # the class has the fields, and one was given something else
        state.names[(made.uid, name)] = value


def _fields_in_order(cls: Class) -> bool:
    """Whether positional arguments of a constructor are the fields as they are written."""
    calls = [
        call
        for each in cls.lineage()
        for call in (
            *(decorator.decorator for decorator in each.definition.node.decorators),
            *(field.value for _, field in _annotated_fields(each)),
        )
        if isinstance(call, cst.Call)
    ]
    named = {arg.keyword.value for call in calls for arg in call.args if arg.keyword is not None}
    marked = any(
        dotted(field.annotation.annotation).rpartition(".")[2] == "KW_ONLY"
        for _, field in _annotated_fields(cls)
    )
    return not marked and not named & {"kw_only", "init"}


def _is_fixture(definition: Definition) -> bool:
    return any(d.rpartition(".")[2] == "fixture" for d in definition.decorators)


def takes_fixtures(definition: Definition) -> bool:
    """Whether pytest calls a function, and fills its parameters with fixtures."""
    return definition.name.startswith("test") or _is_fixture(definition)


def fixture_value(
    interp: Interpreter, name: str, state: State, within: Definition | None = None
) -> Value | None:
    """The value of the pytest fixture of this name, None where the file has none."""
    if within is not None and any(d.name == name for d in within.children):
        return opaque()
    definition = interp.module.top_level.get(name)
    if definition is None or definition.is_class or not _is_fixture(definition):
        return None
    with interp.quiet():
        return run_function(
            interp, interp.function_of(definition), Arguments(), state, definition.node
        )
