"""Calls: which callee, which arguments, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck import contracts
from kdacheck.facts import Literal, TensorFacts, Unknown, equal
from kdacheck.source import contracted, judge, own, python_builtins, torch_modules
from kdacheck.source import torch_semantics as torch
from kdacheck.source.expressions import is_simple, only_reads, subscript
from kdacheck.source.functions import construct, expected_to_fail, run_function, unknown_call
from kdacheck.source.module import EXPECTING, dotted
from kdacheck.source.objects import Argument, Arguments, Class, Function, Instance, Partial, is_none
from kdacheck.source.select import CHANGING
from kdacheck.source.state import State, alternatives, any_of, join, opaque
from kdacheck.source.values import (
    UNKNOWN,
    AnyOf,
    Code,
    DType,
    External,
    Items,
    Repeated,
    Table,
    Value,
)

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

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
_APPLYING = frozenset(
    ("torch.utils.checkpoint.checkpoint", "torch.autograd.profiler.record_function")
)


def call(interp: Interpreter, node: cst.Call, state: State) -> Value:
    """The value of a call; contracted callees are judged on the way."""
    func = node.func
    if isinstance(func, cst.Attribute):
        receiver = state.settle(interp.evaluate(func.value, state))
        arguments = gather(interp, node.args, state)
        if not all(is_simple(arg.value) for arg in node.args) and only_reads(func.value):
            # what was called for the arguments may have changed it
            receiver = state.settle(interp.evaluate(func.value, state))
        interp.show_names(state)
        return call_method(interp, receiver, func.attr.value, arguments, node, state)
    if isinstance(func, cst.Name) and func.value == "super":
        return _super(interp, node.args, state)
    callee = state.resolve(interp.evaluate(func, state))
    arguments = gather(interp, node.args, state)
    interp.show_names(state)
    return dispatch(interp, callee, arguments, node, state)


def gather(interp: Interpreter, args: Sequence[cst.Arg], state: State) -> Arguments:
    found = Arguments()
    values = [state.settle(interp.evaluate(arg.value, state)) for arg in args]
    simple = [is_simple(arg.value) for arg in args]
    if not all(simple) and not interp.module.has_walrus:
        # what is called for one argument may change another
        values = [
            state.settle(interp.evaluate(arg.value, state)) if again else value
            for arg, value, again in zip(args, values, simple, strict=True)
        ]
    for arg, value in zip(args, values, strict=True):
        if arg.star == "*":
            spread = interp.iterate(value, state)
            if isinstance(spread, Items):
                found.positional.extend(Argument(v, arg.value) for v in spread.items)
            else:
                found.open_positional = True
                found.rest.append(value)
        elif arg.star == "**":
            _spread_keywords(found, value, arg)
            if found.open_keywords:
                found.rest.append(value)
        elif arg.keyword is not None:
            found.keywords[arg.keyword.value] = Argument(value, arg.value)
        elif not found.open_positional:
            found.positional.append(Argument(value, arg.value))
        else:
            found.rest.append(value)
    state.loosen(found.rest)
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
            ways = [partial(call_method, interp, v, name, arguments, node) for v in kept]
            return any_of(_one_of(ways, state))
        case TensorFacts():
            facts = interp.tensor_of(receiver, state)
            assert facts is not None
            return _tensor_method(interp, receiver, facts, name, arguments, node, state)
        case External(path):
            owner = interp.of_project(path) if path.rpartition(".")[2][:1].isupper() else None
            callee: Value = External(f"{path}.{name}")
            if isinstance(owner, Code) and owner.kind == "class":
                callee = interp.attribute(owner, name, node, state)
            return dispatch(interp, callee, arguments, node, state)
        case Table() | Items() | Repeated() | Literal():
            found = python_builtins.method(interp, receiver, name, arguments, state)
            if found is None:
                interp.let_change(receiver, state)
                return unknown_call(interp, arguments, state)
            return found
        case Unknown(_, handle):
            if name in CHANGING:
                state.loosen(arguments.every())
                state.change_unknown()
            interp.called_unknown(name, state)
            stored = state.names.get((handle, name)) if handle else None
            if stored is not None and not isinstance(stored, Unknown):
                return dispatch(interp, stored, arguments, node, state)
            if (
                name in torch.TENSOR_METHODS
                or handle in state.ranks
                or _says_tensor(name, arguments)
            ):
                facts = interp.tensor_of(receiver, state) or TensorFacts()
                return _tensor_method(interp, receiver, facts, name, arguments, node, state)
            if name == "size" and handle:
                return _size(interp, receiver, arguments, node, state)
            if handle:
                state.forget_attributes(handle)
            if name in torch.INPLACE_SHAPE_METHODS:
                state.forget_tensors()
            if name in CHANGING:
                state.rename(receiver, opaque(True))
            if name == "setattr" or (name == "start" and "patch" in dotted(node.func).split(".")):
                state.muted += 1
            if name in EXPECTING:
                for value in arguments.values():
                    expected_to_fail(interp, value)
            state.change_unknown()
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


#: Methods that modules have as well; what they give can only go into a kernel where it is a tensor.
_CASTS = frozenset(("bfloat16", "bool", "double", "float", "half", "int", "long"))


def _says_tensor(name: str, arguments: Arguments) -> bool:
    """Whether a method that other objects have too is called as only tensors are, or gives a tensor's dtype."""
    values = arguments.every()
    if name == "view":
        return len(values) > 1
    if name == "to":
        return any(isinstance(v, DType) and v.name is not None for v in values)
    return name in _CASTS and not values


def _size(
    interp: Interpreter, receiver: Value, arguments: Arguments, node: cst.Call, state: State
) -> Value:
    """`x.size()` and `x.size(axis)` of an object of unknown rank."""
    shape = interp.attribute(receiver, "shape", node, state)
    if not arguments.positional:
        return shape
    return subscript(interp, shape, arguments.positional[0].value, node, state)


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
        return _size(interp, receiver, arguments, node, state)
    if name in torch.INPLACE_SHAPE_METHODS:
        state.forget_tensors()
        return opaque(True)
    if name.endswith("_") and not name.startswith("_"):
        state.forget_contents()
        changed = replace(facts, values=None, tags=frozenset())
        state.rename(receiver, changed)
        return changed
    if not arguments.known:
        return unknown_call(interp, arguments, state)
    result = torch.call_method(
        name,
        facts,
        _torch_values(interp, arguments, state),
        _torch_keywords(interp, arguments, state),
    )
    if result is None:
        return unknown_call(interp, arguments, state)
    return interp.torch_result(result, facts, node, name, state, arguments.values())


def _torch_values(interp: Interpreter, arguments: Arguments, state: State) -> list[Value]:
    return [_torch_value(interp, v, state) for v in arguments.values()]


def _torch_keywords(interp: Interpreter, arguments: Arguments, state: State) -> dict[str, Value]:
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
    node: cst.CSTNode,
    state: State,
) -> Value:
    stored = state.names.get((target.uid, name))
    if stored is not None:
        return dispatch(interp, stored, arguments, node, state)
    if target.cls.method(name) is None and name in (
        "register_buffer",
        "register_parameter",
        "add_module",
    ):
        if len(arguments.positional) >= 2 and isinstance(arguments.positional[0].value, Literal):
            key = (target.uid, str(arguments.positional[0].value.value))
            state.names[key] = arguments.positional[1].value
        return Literal(None)
    callee = interp.attribute(receiver, name, node, state)
    if isinstance(callee, Unknown):
        if name in EXPECTING:
            for value in arguments.values():
                expected_to_fail(interp, value)
        if (
            target.cls.may_change_itself
            or name in _CONVERTING
            or target.cls.method(name) is not None
        ):
            interp.forget_object(target, state)
        return unknown_call(interp, arguments, state)
    return dispatch(interp, callee, arguments, node, state)


#: Methods of torch modules that give parameters and buffers another dtype or device.
_CONVERTING = frozenset(
    (
        *("to", "type", "float", "double", "half", "bfloat16", "cuda", "cpu", "to_empty", "apply"),
        *("_apply", "xpu", "npu", "load_state_dict", "__setstate__"),
    )
)


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
            kept = target.arguments.changed(state.as_changed)
            complete = Partial(target.callee, kept).complete(arguments)
            return dispatch(interp, target.callee, complete, node, state)
        case Code(kind="class", target=Class() as cls):
            if cls.is_odd:
                unknown_call(interp, arguments, state)
                return UNKNOWN
            made = Instance(cls)
            construct(interp, made, arguments, state, node)
            return Code("instance", made)
        case Code(kind="instance", target=Instance() as target):
            for name in ("__call__", "forward"):
                if target.cls.method(name) is not None:
                    return _instance_method(interp, callee, target, name, arguments, node, state)
            return unknown_call(interp, arguments, state)
        case Code(kind="forward of", target=path):
            return _external(interp, f"{path}.forward", arguments, node, state)
        case Code(kind="torch module"):
            source = arguments.positional[0].value if arguments.positional else None
            source = interp.tensor_of(source, state) if source is not None else None
            result = torch_modules.apply(callee, source)
            name = str(callee.target[0]).rpartition(".")[2]
            if result is None:
                return unknown_call(interp, arguments, state)
            return interp.torch_result(result, source, node, name, state)
        case Code(
            kind="nothing", bound=Code(kind="instance", target=Instance() as target) as bound
        ):
            if (
                callee.target == "__call__"
                and target.cls.is_torch_module
                and target.cls.method("forward") is not None
            ):
                return _instance_method(interp, bound, target, "forward", arguments, node, state)
            if target.cls.may_change_itself:
                interp.forget_object(target, state)
            return unknown_call(interp, arguments, state)
        case _:
            state.change_unknown()
            return unknown_call(interp, arguments, state)


def _one_of(ways: Sequence[Callable[[State], Value]], state: State) -> list[Value]:
    """Do one of several things, it is not known which: what each would give, and the state behind any of them."""
    if len(ways) == 1:
        return [ways[0](state)]
    results: list[Value] = []
    after: State | None = None
    for way in ways:
        branch = state.copy()
        results.append(branch.resolve(way(branch)))
        after = join(after, branch)
    if after is not None:
        state.become(after)
    return results


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
    found_by: list[list[judge.Found]] = []

    def way(callee: Value, state: State) -> Value:
        before = interp.run.found
        interp.run.found = []
        try:
            return dispatch(interp, callee, arguments, node, state)
        finally:
            found_by.append(interp.run.found)
            interp.run.found = before

    results = _one_of([partial(way, callee) for callee in callees], state)
    common = (
        set.intersection(*({f.key for f in found} for found in found_by)) if found_by else set()
    )
    interp.run.found.extend(f for f in (found_by[0] if found_by else []) if f.key in common)
    return any_of(results)


def _external(
    interp: Interpreter, path: str, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    if path in interp.replaced or path.rpartition(".")[2] in interp.module.changes.patched:
        return unknown_call(interp, arguments, state)
    if path.startswith("kdacheck."):
        made = contracted.make(path, arguments)
        if made is not None:
            return made
    chosen = own.choose(path, interp.versions, interp.run.project)
    if chosen is not None:
        # Kernels write operands, states and rings, but never offsets or slot lists: contents stay known.
        return judge.judge(interp, path, *chosen, arguments, node, state)
    if path in _TRANSPARENT:
        return arguments.positional[0].value if arguments.positional else UNKNOWN
    if path in _APPLYING and arguments.positional:
        keywords = {
            k: a
            for k, a in arguments.keywords.items()
            if k
            not in (
                "use_reentrant",
                "preserve_rng_state",
                "context_fn",
                "determinism_check",
                "debug",
            )
        }
        rest = Arguments(
            arguments.positional[1:],
            keywords,
            {},
            arguments.open_positional,
            arguments.open_keywords,
        )
        return dispatch(interp, arguments.positional[0].value, rest, node, state)
    if path in ("typing.cast", "typing_extensions.cast") and len(arguments.positional) == 2:
        kind, given = arguments.positional
        if isinstance(given.value, Unknown) and isinstance(kind.node, cst.BaseExpression):
            return interp.from_annotation(kind.node, opaque(), state)
        return given.value
    if path.rpartition(".")[2] == "get_kernel" and arguments.positional:
        named = arguments.positional[0].value
        if isinstance(named, Literal) and isinstance(named.value, str):
            target = contracts.registry().get(named.value)
            backend = [a.value for a in (*arguments.positional[1:], *arguments.keywords.values())]
            helion = any(isinstance(b, External) and b.path.endswith(".HELION") for b in backend)
            if target is not None and helion:
                return External(target)
        return opaque(True)
    if f"{path}.forward" in contracts.paths():
        return Code("forward of", path)
    followed = interp.of_project(path)
    if followed is not None and not isinstance(followed, Literal):
        return dispatch(interp, followed, arguments, node, state)
    if path.rpartition(".")[2] in EXPECTING:
        for value in arguments.values():
            expected_to_fail(interp, value)
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
        values = [_as_tensor(interp, v, state) for v in values]
    elif path.startswith("torch."):
        values = [_tensor_argument(interp, path, v, i, state) for i, v in enumerate(values)]
    result = torch.call_function(path, values, _torch_keywords(interp, arguments, state))
    if "out" in arguments.keywords or path.rpartition(".")[2].endswith("_"):
        state.forget_contents()
    if "out" in arguments.keywords and _may_resize(arguments.keywords["out"].value, result):
        state.forget_tensors()
    if path.rpartition(".")[2] in torch.INPLACE_SHAPE_METHODS:
        state.forget_tensors()
        return opaque()
    if result is None:
        if path.startswith("torch."):
            return opaque()
        return unknown_call(interp, arguments, state)
    source = next((v for v in values if isinstance(v, TensorFacts)), None)
    return interp.torch_result(result, source, node, path.rpartition(".")[2], state, values[1:])


def _may_resize(out: Value, result: Value | None) -> bool:
    """Whether a tensor given as `out=` may get another shape, as one of the wrong shape does."""
    if not isinstance(out, TensorFacts) or out.shape is None:
        return False
    shape = result.shape if isinstance(result, TensorFacts) else None
    return shape is None or len(shape) != len(out.shape) or not all(map(equal, shape, out.shape))


def _as_tensor(interp: Interpreter, value: Value, state: State) -> Value:
    """An unknown object taken as a tensor; alternatives that all are tensors as one."""
    if isinstance(value, AnyOf):
        facts = [interp.tensor_of(v, state) for v in value.values]
        known = [f for f in facts if f is not None]
        return any_of(known) if len(known) == len(facts) else value
    return interp.tensor_of(value, state) or value


def _tensor_argument(
    interp: Interpreter, path: str, value: Value, index: int, state: State
) -> Value:
    """The first argument of a torch function, taken as a tensor where nothing else is known of it."""
    if index == 0 and isinstance(value, Unknown) and value.handle and path not in _SIZED:
        return _as_tensor(interp, value, state)
    if (
        index == 0
        and isinstance(value, Items)
        and path.rpartition(".")[2] in ("cat", "stack", "concat")
    ):
        return Items(tuple(interp.tensor_of(v, state) or v for v in value.items), value.kind)
    return value


_SIZED = frozenset(
    f"torch.{name}"
    for name in [
        "zeros",
        "ones",
        "empty",
        "rand",
        "randn",
        "full",
        "randint",
        "arange",
        "linspace",
        "eye",
        "tensor",
        "as_tensor",
        "device",
    ]
)


def _super(interp: Interpreter, args: Sequence[cst.Arg], state: State) -> Value:
    """`super()`, or `super(cls, self)` which may name another class than the one it stands in."""
    frame = interp.frame
    if frame.owner is None or frame.self_value is None:
        return UNKNOWN
    if not args:
        return Code("super", frame.owner, frame.self_value)
    values = [state.resolve(interp.evaluate(arg.value, state)) for arg in args]
    match values:
        case [Code(kind="class", target=Class() as cls), bound] if bound == frame.self_value:
            return Code("super", cls, bound)
    interp.let_change(frame.self_value, state)
    return UNKNOWN
