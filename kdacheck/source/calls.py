"""Calls: which callee, which arguments, and what comes back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck import contracts
from kdacheck.facts import Dim, Literal, TensorFacts, Unknown
from kdacheck.source import judge, python_builtins, statements, torch_modules
from kdacheck.source import torch_semantics as torch
from kdacheck.source.module import Definition, dotted, suite
from kdacheck.source.objects import Argument, Arguments, Class, Function, Instance, Partial, is_none
from kdacheck.source.origins import Made
from kdacheck.source.state import State, alternatives, any_of, join, opaque
from kdacheck.source.values import (
    UNKNOWN,
    AnyOf,
    Code,
    External,
    Items,
    Repeated,
    Table,
    Value,
)

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

BUILTINS = python_builtins.NAMES

#: Callables that hand back, or call, what they are given.
_TRANSPARENT = frozenset(
    (
        "torch.compile",
        "torch.compiler.disable",
        "torch.compiler.allow_in_graph",
        "torch._dynamo.disable",
        "torch.jit.script",
        "torch.jit.ignore",
        "functools.cache",
        "functools.lru_cache",
    )
)
_APPLYING = frozenset(("torch.utils.checkpoint.checkpoint", "torch.autograd.profiler.record_function"))


def no_arguments() -> Arguments:
    return Arguments()


def call(interp: Interpreter, node: cst.Call, state: State) -> Value:
    """The value of a call; contracted callees are judged on the way."""
    func = node.func
    if isinstance(func, cst.Attribute):
        receiver = state.resolve(interp.evaluate(func.value, state))
        arguments = gather(interp, node.args, state)
        return call_method(interp, receiver, func.attr.value, arguments, node, state)
    if isinstance(func, cst.Name) and func.value == "super":
        return _super(interp)
    callee = state.resolve(interp.evaluate(func, state))
    return dispatch(interp, callee, gather(interp, node.args, state), node, state)


def gather(interp: Interpreter, args: Sequence[cst.Arg], state: State) -> Arguments:
    found = Arguments()
    for arg in args:
        value = state.resolve(interp.evaluate(arg.value, state))
        if arg.star == "*":
            spread = interp.iterate(value, state)
            if isinstance(spread, Items):
                found.positional.extend(Argument(v, arg.value) for v in spread.items)
            else:
                found.open_positional = True
        elif arg.star == "**":
            _spread_keywords(found, value, arg)
        elif arg.keyword is not None:
            found.keywords[arg.keyword.value] = Argument(value, arg.value)
        elif not found.open_positional:
            found.positional.append(Argument(value, arg.value))
    return found


def _spread_keywords(found: Arguments, value: Value, arg: cst.Arg) -> None:
    tables = [v for v in alternatives(value) if not is_none(v)]
    if not tables or not all(isinstance(t, Table) for t in tables):
        found.open_keywords = True
        return
    merged = any_of(tables)
    if not isinstance(merged, Table):
        found.open_keywords = True
        return
    for key, item in merged.entries.items():
        if isinstance(key, str):
            found.keywords[key] = Argument(item, arg.value)
    for key, item in merged.maybe.items():
        if isinstance(key, str):
            found.maybe[key] = Argument(item, arg.value)
    found.open_keywords = found.open_keywords or merged.open


def call_method(
    interp: Interpreter,
    receiver: Value,
    name: str,
    arguments: Arguments,
    node: cst.Call,
    state: State,
) -> Value:
    match receiver:
        case AnyOf(values):
            kept = [v for v in values if not is_none(v)]
            return any_of(
                call_method(interp, v, name, arguments, node, state) for v in kept
            )
        case TensorFacts():
            facts = interp.tensor_of(receiver, state)
            assert facts is not None
            return _tensor_method(interp, receiver, facts, name, arguments, node, state)
        case External(path):
            return dispatch(interp, External(f"{path}.{name}"), arguments, node, state)
        case Table() | Items() | Repeated() | Literal():
            found = python_builtins.method(interp, receiver, name, arguments, state)
            return found if found is not None else unknown_call(interp, arguments, state)
        case Unknown(_, handle):
            stored = state.names.get((handle, name)) if handle else None
            if stored is not None and not isinstance(stored, Unknown):
                return dispatch(interp, stored, arguments, node, state)
            if name in torch.TENSOR_METHODS:
                facts = interp.tensor_of(receiver, state) or TensorFacts()
                return _tensor_method(interp, receiver, facts, name, arguments, node, state)
            if name == "size" and handle:
                shape = interp.attribute(receiver, "shape", node, state)
                if arguments.positional:
                    from kdacheck.source.expressions import subscript

                    axis = arguments.positional[0].value
                    return subscript(interp, shape, axis, node, state)
                return shape
            if handle:
                state.forget_attributes(handle)
            if name == "setattr":
                state.muted += 1
            return unknown_call(interp, arguments, state)
        case Code(kind="instance", target=Instance() as target):
            return _instance_method(interp, receiver, target, name, arguments, node, state)
        case Code(kind="forward of", target=path):
            return dispatch(interp, External(f"{path}.{name}"), arguments, node, state)
        case Code(kind="super" | "class"):
            callee = interp.attribute(receiver, name, node, state)
            return dispatch(interp, callee, arguments, node, state)
        case _:
            return unknown_call(interp, arguments, state)


def _tensor_method(
    interp: Interpreter,
    receiver: Value,
    facts: TensorFacts,
    name: str,
    arguments: Arguments,
    node: cst.Call,
    state: State,
) -> Value:
    if name == "size" and facts.shape is None:
        shape = interp.attribute(receiver, "shape", node, state)
        if not arguments.positional:
            return shape
        from kdacheck.source.expressions import subscript

        return subscript(interp, shape, arguments.positional[0].value, node, state)
    if name in torch.INPLACE_SHAPE_METHODS:
        state.rename(receiver, opaque(True))
        return opaque(True)
    if name.endswith("_") and not name.startswith("_"):
        state.forget_contents()
        return replace(facts, values=None, tags=frozenset())
    if not arguments.known:
        return unknown_call(interp, arguments, state)
    result = torch.call_method(
        name, facts, _torch_values(interp, arguments, state), _torch_keywords(interp, arguments, state)
    )
    if result is None:
        return unknown_call(interp, arguments, state)
    return interp.torch_result(result, facts, node, name, state)


def _torch_values(interp: Interpreter, arguments: Arguments, state: State) -> list[Value]:
    return [_torch_value(interp, v, state) for v in arguments.values()]


def _torch_keywords(
    interp: Interpreter, arguments: Arguments, state: State
) -> dict[str, Value]:
    return {k: _torch_value(interp, v, state) for k, v in arguments.keyword_values().items()}


def _torch_value(interp: Interpreter, value: Value, state: State) -> Value:
    """A tensor of unknown rank with the sizes learnt of it so far."""
    if isinstance(value, TensorFacts) and value.shape is None:
        return interp.tensor_of(value, state) or value
    if isinstance(value, Items):
        return Items(tuple(_torch_value(interp, v, state) for v in value.items), value.kind)
    return value


def _instance_method(
    interp: Interpreter,
    receiver: Code,
    target: Instance,
    name: str,
    arguments: Arguments,
    node: cst.Call,
    state: State,
) -> Value:
    stored = state.names.get((target.uid, name))
    if stored is not None:
        return dispatch(interp, stored, arguments, node, state)
    if target.cls.method(name) is None and name in ("register_buffer", "register_parameter", "add_module"):
        if len(arguments.positional) >= 2 and isinstance(arguments.positional[0].value, Literal):
            key = (target.uid, str(arguments.positional[0].value.value))
            state.names[key] = arguments.positional[1].value
        return Literal(None)
    callee = interp.attribute(receiver, name, node, state)
    if isinstance(callee, Unknown):
        return unknown_call(interp, arguments, state)
    return dispatch(interp, callee, arguments, node, state)


def dispatch(
    interp: Interpreter, callee: Value, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    match callee:
        case AnyOf(values):
            return _dispatch_any(interp, values, arguments, node, state)
        case External(path):
            return _external(interp, path, arguments, node, state)
        case Code(kind="function", target=Function() as target):
            return run_function(interp, target, arguments, state, node)
        case Code(kind="unbound", target=Function() as target):
            return run_function(interp, target, arguments, state, node)
        case Code(kind="method", target=Function() as target, bound=receiver):
            return run_function(interp, target, arguments, state, node, receiver)
        case Code(kind="partial", target=Partial() as target):
            return dispatch(interp, target.callee, target.complete(arguments), node, state)
        case Code(kind="class", target=Class() as cls):
            made = Instance(cls)
            construct(interp, made, arguments, state, node)
            return Code("instance", made)
        case Code(kind="instance", target=Instance() as target):
            for name in ("forward", "__call__") if target.cls.is_torch_module else ("__call__", "forward"):
                if target.cls.method(name) is not None:
                    return _instance_method(interp, callee, target, name, arguments, node, state)
            return unknown_call(interp, arguments, state)
        case Code(kind="forward of", target=path):
            return _external(interp, f"{path}.forward", arguments, node, state)
        case Code(kind="torch module"):
            result = torch_modules.apply(callee, arguments)
            source = arguments.positional[0].value if arguments.positional else None
            name = str(callee.target[0]).rpartition(".")[2]
            if result is None:
                return unknown_call(interp, arguments, state)
            return interp.torch_result(result, source, node, name, state)
        case Code(kind="nothing"):
            return UNKNOWN
        case _:
            return unknown_call(interp, arguments, state)


def _dispatch_any(
    interp: Interpreter,
    values: tuple[Value, ...],
    arguments: Arguments,
    node: cst.CSTNode,
    state: State,
) -> Value:
    """One of several callees: a violation counts only where each of them has it."""
    callees = [v for v in values if not is_none(v)]
    if len(callees) == 1:
        return dispatch(interp, callees[0], arguments, node, state)
    results: list[Value] = []
    found_by: list[list[judge.Found]] = []
    for callee in callees:
        before = interp.found
        interp.found = []
        try:
            results.append(dispatch(interp, callee, arguments, node, state))
        finally:
            found_by.append(interp.found)
            interp.found = before
    common = set.intersection(*({f.key for f in found} for found in found_by)) if found_by else set()
    interp.found.extend(f for f in (found_by[0] if found_by else []) if f.key in common)
    return any_of(results)


def _external(
    interp: Interpreter, path: str, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    chosen = contracts.choose(path, interp.versions)
    if chosen is not None:
        judge.judge(interp, path, *chosen, arguments, node, state)
        state.forget_contents()
        return opaque(True)
    if path in _TRANSPARENT:
        return arguments.positional[0].value if arguments.positional else UNKNOWN
    if path in _APPLYING and arguments.positional:
        keywords = {
            k: a
            for k, a in arguments.keywords.items()
            if k not in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug")
        }
        rest = Arguments(
            arguments.positional[1:], keywords, {}, arguments.open_positional, arguments.open_keywords
        )
        return dispatch(interp, arguments.positional[0].value, rest, node, state)
    if path.rpartition(".")[2] == "get_kernel" and arguments.positional:
        named = arguments.positional[0].value
        if isinstance(named, Literal) and isinstance(named.value, str):
            target = contracts.registry().get(named.value.removeprefix("attention."))
            backend = [a.value for a in (*arguments.positional[1:], *arguments.keywords.values())]
            helion = any(isinstance(b, External) and b.path.endswith(".HELION") for b in backend)
            if target is not None and helion:
                return External(target)
        return opaque(True)
    if f"{path}.forward" in contracts.paths():
        return Code("forward of", path)
    built_in = python_builtins.function(interp, path, arguments, node, state)
    if built_in is not None:
        return built_in
    if not arguments.known:
        if path.startswith(("torch.", "einops.")):
            return opaque(True)
        return unknown_call(interp, arguments, state)
    module = torch_modules.make(path, arguments)
    if module is not None:
        return module
    values = _torch_values(interp, arguments, state)
    if path.startswith("einops."):
        values = [interp.tensor_of(v, state) or v for v in values]
    elif path.startswith("torch."):
        values = [_tensor_argument(interp, path, v, i, state) for i, v in enumerate(values)]
    result = torch.call_function(path, values, _torch_keywords(interp, arguments, state))
    if "out" in arguments.keywords or path.rpartition(".")[2].endswith("_"):
        state.forget_contents()
    if result is None:
        if path.startswith("torch."):
            return opaque()
        return unknown_call(interp, arguments, state)
    source = next((v for v in values if isinstance(v, TensorFacts)), None)
    return interp.torch_result(result, source, node, path.rpartition(".")[2], state)


def _tensor_argument(interp: Interpreter, path: str, value: Value, index: int, state: State) -> Value:
    """The first argument of a torch function, taken as a tensor where nothing else is known of it."""
    if index == 0 and isinstance(value, Unknown) and value.handle and path not in _SIZED:
        return interp.tensor_of(value, state) or value
    if index == 0 and isinstance(value, Items) and path.rpartition(".")[2] in ("cat", "stack", "concat"):
        return Items(tuple(interp.tensor_of(v, state) or v for v in value.items), value.kind)
    return value


_SIZED = frozenset(
    f"torch.{name}"
    for name in "zeros ones empty rand randn full randint arange linspace eye tensor as_tensor device".split()
)


def unknown_call(interp: Interpreter, arguments: Arguments, state: State) -> Value:
    """A callee that is not known: it may change what it is handed."""
    state.forget_contents()
    for value in arguments.every():
        if isinstance(value, Table):
            state.rename(value, Table({}, True, {**value.entries, **value.maybe}))
        elif isinstance(value, Items) and value.kind == "list":
            state.rename(value, Repeated(UNKNOWN, "list"))
        elif isinstance(value, Unknown) and value.handle:
            state.forget_attributes(value.handle)
    return opaque()


def _super(interp: Interpreter) -> Value:
    frame = interp.frame
    if frame.owner is None or frame.self_value is None:
        return UNKNOWN
    return Code("super", frame.owner, frame.self_value)


def run_function(
    interp: Interpreter,
    target: Function,
    arguments: Arguments,
    state: State,
    node: cst.CSTNode,
    receiver: Value | None = None,
) -> Value:
    """Follow a function of the project with the facts of one call."""
    from kdacheck.source.interpreter import MAX_DEPTH

    definition = target.definition
    recursive = definition is not None and any(f.definition is definition for f in interp.frames)
    if recursive or len(interp.frames) > MAX_DEPTH or interp.spent:
        return unknown_call(interp, arguments, state)
    if definition is not None:
        node_def = definition.node
        assert isinstance(node_def, cst.FunctionDef)
        if node_def.asynchronous is not None:
            return unknown_call(interp, arguments, state)
        if not all(statements._harmless(d) for d in definition.decorators):
            return unknown_call(interp, arguments, state)
    frame = interp.new_frame(target.name, _closure(interp, target))
    frame.definition = definition
    frame.self_value = receiver
    if definition is not None and definition.owner_class is not None:
        frame.owner = interp.class_of(definition.owner_class)
    names = {k: v for k, v in state.names.items() if isinstance(k, tuple)}
    inner = State(names, dict(state.refined), dict(state.ranks), state.sure, state.muted)
    interp.frames.append(frame)
    interp.chain.append((node, target.name))
    try:
        bind(interp, target, arguments, inner, receiver)
        if target.is_lambda:
            assert isinstance(target.body, cst.BaseExpression)
            value = interp.evaluate(target.body, inner)
            return inner.resolve(value)
        end = statements.run_suite(interp, suite(target.body), inner)
    finally:
        interp.frames.pop()
        interp.chain.pop()
    if end is not None:
        frame.returns.append((Literal(None), end))
    if frame.yields:
        if definition is not None and _is_fixture(definition):
            return any_of(frame.yields)
        return Repeated(any_of(frame.yields), "generator")
    if not frame.returns:
        return UNKNOWN
    after: State | None = None
    for _, left in frame.returns:
        left.names = {k: v for k, v in left.names.items() if isinstance(k, tuple)}
        after = join(after, left)
    assert after is not None
    for key in [k for k in state.names if isinstance(k, tuple)]:
        del state.names[key]
    state.names.update(after.names)
    state.refined, state.ranks, state.sure = after.refined, after.ranks, after.sure
    return any_of(value for value, _ in frame.returns)


def _closure(interp: Interpreter, target: Function) -> Mapping[Hashable, Value]:
    """The names a function closes over, as they are now where its maker is still running."""
    for frame in interp.frames:
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
        queue.insert(0, Argument(receiver if "classmethod" not in decorators else UNKNOWN))
    keywords = dict(arguments.keywords)
    dims: dict[str, Dim] = {}
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
        state.names[name] = _refined_by_annotation(interp, param, value, state, dims)
    if isinstance(params.star_arg, cst.Param):
        rest: Value = Items(tuple(a.value for a in queue))
        state.names[params.star_arg.name.value] = Repeated(UNKNOWN) if arguments.open_positional else rest
    for param in params.kwonly_params:
        name = param.name.value
        if name in keywords:
            value = keywords.pop(name).value
        else:
            value = _absent(interp, target, param, arguments, state, dims)
        state.names[name] = _refined_by_annotation(interp, param, value, state, dims)
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
        default = interp.evaluate(param.default, State({}))
    if name in arguments.maybe:
        return any_of((arguments.maybe[name].value, default))
    if arguments.open_keywords or param.default is None:
        if target.definition is not None and _is_fixture(target.definition):
            fixture = fixture_value(interp, name, state)
            if fixture is not None:
                return fixture
        return interp.parameter_value(param, state, dims)
    return default


def _refined_by_annotation(
    interp: Interpreter, param: cst.Param, value: Value, state: State, dims: dict[str, Dim]
) -> Value:
    if isinstance(value, Unknown) and param.annotation is not None:
        return interp.from_annotation(param.annotation.annotation, value, state, dims, param)
    return value


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
        given = arguments if arguments is not None else Arguments(open_positional=True, open_keywords=True)
        run_function(interp, target, given, state, node, receiver)
    elif cls.is_record:
        given = arguments if arguments is not None else Arguments(open_positional=True, open_keywords=True)
        _fill_record(interp, made, given, state)
    post = cls.method("__post_init__")
    if post is not None and cls.is_record:
        run_function(interp, interp.function_of(post[1], post[0]), no_arguments(), state, node, receiver)


def record_fields(cls: Class) -> list[str]:
    """The fields of a dataclass or NamedTuple, inherited ones first."""
    return [name for name, _ in _annotated_fields(cls)]


def _annotated_fields(cls: Class) -> list[tuple[str, cst.AnnAssign]]:
    fields: dict[str, cst.AnnAssign] = {}
    for each in reversed(cls.lineage()):
        for line in suite(each.definition.node.body):
            if isinstance(line, cst.SimpleStatementLine):
                for small in line.body:
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        if "ClassVar" not in dotted(small.annotation.annotation):
                            fields[small.target.value] = small
    return list(fields.items())


def _fill_record(interp: Interpreter, made: Instance, arguments: Arguments, state: State) -> None:
    queue = list(arguments.positional)
    dims: dict[str, Dim] = {}
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
        if isinstance(value, Unknown):
            value = interp.from_annotation(field.annotation.annotation, value, state, dims, field)
        state.names[(made.uid, name)] = value


def _is_fixture(definition: Definition) -> bool:
    return any(d.rpartition(".")[2] == "fixture" for d in definition.decorators)


def fixture_value(interp: Interpreter, name: str, state: State) -> Value | None:
    """The value of the pytest fixture of this name, None where the file has none."""
    definition = interp.module.top_level.get(name)
    if definition is None or definition.is_class or not _is_fixture(definition):
        return None
    with interp.quiet():
        return run_function(
            interp, interp.function_of(definition), no_arguments(), state, definition.node
        )


def run_root(
    interp: Interpreter, definition: Definition, closure: Mapping[Hashable, Value]
) -> None:
    node = definition.node
    assert isinstance(node, cst.FunctionDef)
    state = State()
    if any(_replaces_kernels(d) for d in definition.decorators):
        state.muted += 1
    frame = interp.new_frame(definition.name, closure)
    frame.definition = definition
    interp.frames.append(frame)
    try:
        _bind_root(interp, definition, node, frame, state)
        end = statements.run_suite(interp, suite(node.body), state)
        _nested_roots(interp, definition, frame, end)
    finally:
        interp.frames.pop()


def _replaces_kernels(decorator: str) -> bool:
    parts = decorator.split(".")
    return "patch" in parts or parts[-1] in ("xfail", "expectedFailure")


def _bind_root(
    interp: Interpreter,
    definition: Definition,
    node: cst.FunctionDef,
    frame: object,
    state: State,
) -> None:
    from kdacheck.source.interpreter import Frame

    assert isinstance(frame, Frame)
    params = node.params
    named = [*params.posonly_params, *params.params]
    owner = definition.owner_class
    if owner is not None and named and "staticmethod" not in definition.decorators:
        receiver, attributes = interp.receiver(owner)
        if "classmethod" in definition.decorators:
            cls = interp.class_of(owner)
            receiver = Code("class", cls) if cls is not None else UNKNOWN
        state.names.update(attributes)
        state.names[named[0].name.value] = receiver
        frame.owner, frame.self_value = interp.class_of(owner), receiver
        named = named[1:]
    dims: dict[str, Dim] = {}
    sets = parametrized(interp, definition, state)
    for param in (*named, *params.kwonly_params):
        name = param.name.value
        value = sets.get(name)
        if value is None and param.default is None:
            value = fixture_value(interp, name, state)
        state.names[name] = (
            value if value is not None else interp.parameter_value(param, state, dims)
        )
    if isinstance(params.star_arg, cst.Param):
        state.names[params.star_arg.name.value] = Repeated(UNKNOWN)
    if params.star_kwarg is not None:
        state.names[params.star_kwarg.name.value] = Table({}, True)


def parametrized(
    interp: Interpreter, definition: Definition, state: State
) -> dict[str, Value]:
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
            values = [a.value for a in given.positional]
            values += [given.keywords[k].value for k in ("argnames", "argvalues") if k in given.keywords]
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
        names = [v.value for v in value.items if isinstance(v, Literal) and isinstance(v.value, str)]
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
    interp: Interpreter, definition: Definition, frame: object, end: State | None
) -> None:
    """Functions defined inside a function, on their own, with what it assigns exactly once."""
    from kdacheck.source.interpreter import Frame

    assert isinstance(frame, Frame)
    for _, left in frame.returns:
        end = join(end, left)
    node = definition.node
    assert isinstance(node, cst.FunctionDef)
    counts: dict[str, int] = {}
    for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
        counts[param.name.value] = counts.get(param.name.value, 0) + 1
    for target in statements.assigned_targets(suite(node.body)):
        if isinstance(target, cst.Name):
            counts[target.value] = counts.get(target.value, 0) + 1
    for made, at in list(frame.defined):
        inner: Function = made.target
        if inner.definition is None or inner.definition.number not in interp.relevant:
            continue
        closure: dict[Hashable, Value] = {**frame.closure}
        for name, count in counts.items():
            if count > 1:
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


__all__ = [
    "BUILTINS",
    "Made",
    "call",
    "construct",
    "dispatch",
    "gather",
    "no_arguments",
    "record_fields",
    "run_function",
    "run_root",
]
