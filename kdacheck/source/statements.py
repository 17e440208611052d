"""What statements do to a state, and which paths leave a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from kdacheck.facts import Literal, TensorFacts, Unknown
from kdacheck.source import boundaries, contracted, guards, judge, managers, narrowing
from kdacheck.source.annotations import is_annotation
from kdacheck.source.expressions import (
    arithmetic,
    index_of,
    is_simple,
    merge_tables,
    only_reads,
    operator_text,
    read_from,
    store,
    viewed,
)
from kdacheck.source.frames import Loop
from kdacheck.source.module import (
    EXPECTING,
    Suite,
    assigned_targets,
    blocks,
    dotted,
    harmless,
    leaves,
    looped_names,
    small_statements,
    suite,
    walrus_names,
)
from kdacheck.source.objects import Function, Instance, function, is_none
from kdacheck.source.select import absolute
from kdacheck.source.state import (
    State,
    alternatives,
    any_of,
    element_of,
    forgotten,
    join,
    new_handle,
    objects_in,
    opaque,
    repeated,
    unsure,
)
from kdacheck.source.values import (
    UNKNOWN,
    AnyOf,
    Code,
    External,
    Items,
    Repeated,
    ShapeOf,
    Table,
    Value,
)

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: A loop over a known sequence is run item by item up to this length.
MAX_UNROLLED = 16

#: Calls that never return.
_LEAVING = frozenset(
    (
        "pytest.skip",
        "pytest.fail",
        "pytest.xfail",
        "pytest.exit",
        "sys.exit",
        "os._exit",
        "os.abort",
        "builtins.exit",
        "builtins.quit",
    )
)

_PATCHING = frozenset(("patch", "object", "dict", "multiple"))


def run_suite(interp: Interpreter, statements: Suite, state: State | None) -> State | None:
    """The state after a block, None where no path reaches its end."""
    blocks = interp.frame.blocks
    blocks.append(id(statements))
    for statement in statements:
        if state is None:
            break
        state = run(interp, statement, state)
    blocks.pop()
    return state


def run(interp: Interpreter, statement: cst.CSTNode, state: State) -> State | None:
    interp.spend()
    if isinstance(statement, cst.SimpleStatementLine):
        result: State | None = state
        for small in statement.body:
            if result is None:
                return None
            result = _HANDLERS.get(type(small), _nothing)(interp, small, result)
        return result
    return _HANDLERS.get(type(statement), _nothing)(interp, statement, state)


def _nothing(interp: Interpreter, node: Any, state: State) -> State:
    return state


def _expression(interp: Interpreter, node: cst.Expr, state: State) -> State | None:
    interp.evaluate(node.value, state)
    if isinstance(node.value, cst.Call) and is_simple(node.value.func):
        callee = interp.evaluate(node.value.func, state)
        path = callee.path if isinstance(callee, External) else ""
        if path in _LEAVING:
            return None
        if path in guards.ASSERTING and node.value.args:
            return narrowing.split(interp, node.value.args[0].value, state)[0]
        if path in guards.ASSERTING_TYPES and len(node.value.args) >= 2:
            tested, kind = node.value.args[:2]
            found = narrowing.split_type(interp, tested.value, kind.value, state)
            return found[0] if found is not None else state
        if dotted(node.value.func).endswith((".skipTest", ".fail")) and isinstance(
            node.value.func, cst.Attribute
        ):
            return None
    return state


def _assign(interp: Interpreter, node: cst.Assign, state: State) -> State:
    value = state.settle(interp.evaluate(node.value, state))
    is_lazy = isinstance(value, (Items, Repeated)) and value.kind == "generator"
    if is_lazy and any(not isinstance(t.target, (cst.Tuple, cst.List)) for t in node.targets):
        # It runs where it is read, and what it reads may have changed by then.
        state.loosen((value,))
        value = Repeated(UNKNOWN, "generator")
    if interp.frame.parameters:
        boundaries.note_overwriting(interp, node, state)
    for target in node.targets:
        assign(interp, target.target, value, state)
    return state


def _annotated(interp: Interpreter, node: cst.AnnAssign, state: State) -> State:
    if node.value is not None:
        value = state.resolve(interp.evaluate(node.value, state))
        if isinstance(value, Unknown):
            value = interp.from_annotation(node.annotation.annotation, value, state)
        assign(interp, node.target, value, state)
    return state


def _augmented(interp: Interpreter, node: cst.AugAssign, state: State) -> State:
    left = state.settle(interp.evaluate(node.target, state))
    right = state.resolve(interp.evaluate(node.value, state))
    if not is_simple(node.value) and only_reads(node.target):
        left = state.settle(interp.evaluate(node.target, state))
    if isinstance(left, Table) and isinstance(node.operator, cst.BitOrAssign):
        state.rename(left, merge_tables(left, right, state))
        return state
    ways = alternatives(left)
    if isinstance(left, AnyOf):
        for one in ways:
            if isinstance(one, Table) or (isinstance(one, Items) and one.kind == "list"):
                state.rename(one, forgotten(one))
    if any(isinstance(way, (TensorFacts, Unknown)) for way in ways):
        # In place: shape and layout stay, contents change, in every view of the memory.
        state.forget_contents()
    if any(isinstance(way, Unknown) for way in ways):
        state.loosen((right,))
        state.change_unknown()
    if isinstance(left, TensorFacts):
        return state
    if any(isinstance(way, TensorFacts) for way in ways):
        if not all(isinstance(way, TensorFacts) for way in ways):
            assign(interp, node.target, opaque(), state)
        return state
    if isinstance(left, Items) and left.kind == "list":
        more = interp.iterate(right, state)
        value: Value = Repeated(UNKNOWN, "list")
        if isinstance(more, Items):
            value = Items(left.items + more.items, "list")
        state.rename(left, value)
        state.loosen((right,), shown=value)
        return state
    if isinstance(left, Unknown):
        interp.let_change(left, state)
        if isinstance(node.target, (cst.Name, cst.Attribute)):
            assign(interp, node.target, opaque(left.not_none), state)
        return state
    value = arithmetic(interp, operator_text(node.operator), left, right, node.target, state)
    assign(interp, node.target, value, state)
    return state


def assign(interp: Interpreter, target: cst.CSTNode, value: Value, state: State) -> None:
    match target:
        case cst.Name(name):
            state.names[name] = value
            state.hold(value)
            if name in interp.frame.declared:
                state.loosen((value,))
            if interp.run.conventions.suffix_shapes:
                _believe_name(interp, target, value, state)
        case cst.Tuple(elements) | cst.List(elements):
            _unpack(interp, list(elements), value, state)
        case cst.Attribute(owner, attr):
            base = interp.evaluate(owner, state)
            interp.set_attribute(base, attr.value, value, state)
        case cst.Subscript():
            _assign_item(interp, target, value, state)
        case cst.StarredElement(inner):
            assign(interp, inner, Repeated(UNKNOWN, "list"), state)
        case _:
            pass


def _believe_name(interp: Interpreter, target: cst.Name, value: Value, state: State) -> None:
    """Give a tensor of which nothing is known the axes that its name says it has."""
    claimed = interp.claimed(target)
    if claimed is None or not isinstance(value, (Unknown, TensorFacts)):
        return
    if isinstance(value, Unknown) or value.shape is None:
        axes, made = claimed
        found = interp.with_axes(axes, None, new_handle(), made, state, interp.frame.dims)
        if isinstance(value, TensorFacts):
            found = replace(found, dtypes=value.dtypes, device=value.device)
        state.names[target.value] = found


def _unpack(
    interp: Interpreter, elements: list[cst.BaseElement], value: Value, state: State
) -> None:
    count = len(elements)
    starred = [i for i, e in enumerate(elements) if isinstance(e, cst.StarredElement)]
    if isinstance(value, ShapeOf) and not starred:
        state.ranks[value.handle] = count
    spread = interp.iterate(value, state, count if not starred else None)
    if isinstance(spread, Items):
        items = spread.items
        if not starred and len(items) == count:
            for element, item in zip(elements, items, strict=True):
                assign(interp, element.value, item, state)
            return
        if len(starred) == 1 and len(items) >= count - 1:
            at, after = starred[0], count - starred[0] - 1
            middle = items[at : len(items) - after]
            parts = [*items[:at], Items(middle, "list"), *items[len(items) - after :]]
            for element, item in zip(elements, parts, strict=True):
                assign(interp, element.value, item, state)
            return
    state.loosen((value,))
    for element in elements:
        if isinstance(element, cst.StarredElement):
            assign(interp, element.value, Repeated(UNKNOWN, "list"), state)
        elif isinstance(spread, Repeated):
            assign(interp, element.value, element_of(spread), state)
        else:
            assign(interp, element.value, opaque(), state)


def _assign_item(interp: Interpreter, target: cst.Subscript, value: Value, state: State) -> None:
    judge.judge_scatter(interp, target, value, state)
    owner = state.settle(interp.evaluate(target.value, state))
    at = index_of(interp, target.slice, state)
    if only_reads(target.value):
        # what was called for the index may have changed it
        owner = state.settle(interp.evaluate(target.value, state))
    match owner:
        case Table():
            state.rename(owner, store(owner, at, value, state))
        case Items(items, kind):
            if (
                isinstance(at, Literal)
                and type(at.value) is int
                and -len(items) <= at.value < len(items)
            ):
                changed = list(items)
                changed[at.value] = value
                state.rename(owner, Items(tuple(changed), kind))
            else:
                state.rename(owner, Repeated(UNKNOWN, kind))
                state.loosen((value,))
        case TensorFacts() | Unknown():
            state.forget_contents()
            if isinstance(owner, Unknown):
                state.loosen((value,))
                state.change_unknown()
            if isinstance(owner, TensorFacts) and owner.tags:
                state.rename(owner, replace(owner, values=None, tags=frozenset()))
            if isinstance(owner, Unknown) and owner.handle:
                state.forget_attributes(owner.handle)
        case Code(kind="instance", target=Instance() as instance):
            interp.forget_object(instance, state)
        case AnyOf(values):
            for one in values:
                state.rename(one, forgotten(one))
            state.forget_contents()
            state.loosen((value,))
            state.change_unknown()
        case _:
            state.rename(owner, UNKNOWN)
            state.forget_contents()
            state.loosen((value,))


def _delete(interp: Interpreter, node: cst.Del, state: State) -> State:
    _delete_target(interp, node.target, state)
    return state


def _delete_target(interp: Interpreter, target: cst.BaseExpression, state: State) -> None:
    match target:
        case cst.Name(name):
            state.names.pop(name, None)
        case cst.Tuple(elements) | cst.List(elements):
            for element in elements:
                _delete_target(interp, element.value, state)
        case cst.Attribute(value):
            interp.let_change(interp.evaluate(value, state), state)
        case cst.Subscript(value, index):
            index_of(interp, index, state)
            for owner in alternatives(interp.evaluate(value, state)):
                if isinstance(owner, Table):
                    state.rename(owner, Table({}, True, {**owner.maybe, **owner.entries}))
                elif isinstance(owner, (Items, Repeated)):
                    state.rename(owner, Repeated(UNKNOWN, "list"))
                else:
                    interp.let_change(owner, state)
        case _:
            pass


def _return(interp: Interpreter, node: cst.Return, state: State) -> None:
    value = Literal(None) if node.value is None else interp.evaluate(node.value, state)
    interp.frame.returns.append((state.resolve(value), state))


def _raise(interp: Interpreter, node: cst.Raise, state: State) -> None:
    return None


def _assert(interp: Interpreter, node: cst.Assert, state: State) -> State | None:
    return narrowing.split(interp, node.test, state)[0]


def _if(interp: Interpreter, node: cst.If, state: State) -> State | None:
    certain = state.certain
    yes, no = narrowing.split(interp, node.test, state)
    if yes is not None and yes is no:
        no = yes.copy()
    narrowing.part(yes, no)
    both = yes is not None and no is not None
    after = None
    absent = _taken_for_none(interp, node.test, state, yes, no)
    if yes is not None:
        interp.frame.tests.append(node.test)
        with interp.quiet() if absent is yes else nullcontext():
            after = run_suite(interp, suite(node.body), yes)
        interp.frame.tests.pop()
    if no is not None:
        with interp.quiet() if absent is no else nullcontext():
            match node.orelse:
                case cst.If():
                    no = run(interp, node.orelse, no)
                case cst.Else():
                    no = run_suite(interp, suite(node.orelse.body), no)
                case _:
                    pass
    result = join(after, no)
    if both and result is not None:
        result.certain = _is_certain_again(interp, node, certain)
    return result


def _taken_for_none(
    interp: Interpreter,
    test: cst.BaseExpression,
    before: State,
    yes: State | None,
    no: State | None,
) -> State | None:
    """The branch in which an unknown argument is None that the caller passed instead of another (`g=None, g_sum=g`).

    Nobody knows that it is, and then the other is not meant to be missing.
    """
    if not interp.frame.instead or not isinstance(test, cst.Comparison):
        return None
    name = test.left.value if isinstance(test.left, cst.Name) else ""
    if id(before.names.get(name)) not in interp.frame.instead:
        return None
    return next((s for s in (yes, no) if s is not None and is_none(s.names[name])), None)


def _is_certain_again(interp: Interpreter, node: cst.CSTNode, certain: bool) -> bool:
    """Whether the first round of a loop gets behind a statement as surely as it got to it."""
    return certain and bool(interp.run.first_rounds) and not any(map(leaves, blocks(node)))


def _for(interp: Interpreter, node: cst.For, state: State) -> State | None:
    iterable = interp.iterate(state.resolve(interp.evaluate(node.iter, state)), state)
    mark, lists = len(state.log), read_from(interp, node.iter, state)
    table = viewed(interp, node.iter, state)
    rows = repeated(iterable.items, "tuple") if isinstance(iterable, Items) else iterable

    def enter(current: State) -> State:
        element: Value = opaque()
        if isinstance(rows, Repeated) and not current.has_changed(lists | table, mark):
            element = element_of(rows)
        assign(interp, node.target, element, current)
        return current

    if isinstance(iterable, Items) and len(iterable.items) <= MAX_UNROLLED and not interp.spent:
        current: State | None = state
        broken: State | None = None
        for number, item in enumerate(iterable.items):
            if current is None or current.has_changed(lists, mark):
                break
            if current.has_changed(table, mark):
                item = _in_view(interp, node.iter, table, number, current)
            # rounds before this one may have changed what it is about
            item = current.as_changed_since(item, mark)
            assign(interp, node.target, item, current)
            with interp.loop() as loop:
                current = run_suite(interp, suite(node.body), current)
            current = join(current, _all(loop.continues))
            broken = join(broken, _all(loop.breaks))
        if current is None or not current.has_changed(lists, mark):
            return join(broken, _orelse(interp, node.orelse, current))
        after = _repeat(interp, node, current, enter=enter, leave=lambda s: s, more=True)
        return join(broken, after)
    return _repeat(interp, node, state, enter=enter, leave=lambda s: s)


def _in_view(
    interp: Interpreter, node: cst.BaseExpression, table: frozenset[int], number: int, state: State
) -> Value:
    """What the view of a dict shows at a place now that the dict was changed."""
    values = interp.evaluate(node, state) if viewed(interp, node, state) == table else UNKNOWN
    if isinstance(values, Items) and number < len(values.items):
        return values.items[number]
    return opaque()


def _while(interp: Interpreter, node: cst.While, state: State) -> State | None:
    return _repeat(
        interp,
        node,
        state,
        enter=lambda s: narrowing.split(interp, node.test, s)[0],
        leave=lambda s: narrowing.split(interp, node.test, s)[1],
    )


def _repeat(
    interp: Interpreter,
    node: cst.For | cst.While,
    state: State,
    enter: Callable[[State], State | None],
    leave: Callable[[State], State | None],
    more: bool = False,
) -> State | None:
    """A loop of unknown length: one pass as the first iteration, then passes from what any iteration may see.

    more: the loop went some rounds already, and there may be none left.
    """
    names = _assigned_names(interp, suite(node.body))
    run, certain = interp.run, state.certain
    first = enter(state.copy())
    if not run.first_rounds:
        run.put_off = False
    if first is not None:
        first.certain = not run.first_rounds and not more
    run.first_rounds += 1
    with interp.loop() as loop:
        after = run_suite(interp, suite(node.body), first) if first is not None else None
    run.first_rounds -= 1
    after = join(after, _all(loop.continues))
    exits = _all(loop.breaks)
    head = join(state.copy(), after.copy() if after is not None else None)
    assert head is not None
    if after is not None:
        _havoc(head, _moved(head, state, names), names, state)
        exits = join(exits, _settle(interp, node, head, names, enter))
    if run.put_off and not run.first_rounds and not run.silence:
        run.put_off = False
        _any_round(interp, node, head, enter)
    result = join(exits, _orelse(interp, node.orelse, leave(head)))
    if result is not None:
        result.certain = _is_certain_again(interp, node, certain)
    return result


def _any_round(
    interp: Interpreter,
    node: cst.For | cst.While,
    head: State,
    enter: Callable[[State], State | None],
) -> None:
    """Report what holds in whichever round of a loop gets there."""
    with interp.loop():
        again = enter(head.copy())
        if again is not None:
            run_suite(interp, suite(node.body), again)


#: Passes after which whatever a loop assigns is forgotten.
MAX_PASSES = 4


def _settle(
    interp: Interpreter,
    node: cst.For | cst.While,
    head: State,
    names: set[str],
    enter: Callable[[State], State | None],
) -> State | None:
    """Widen `head` until a pass through the loop adds nothing to it; the states that break out of the loop."""
    broken: State | None = None
    if interp.spent:
        keys = {name for name in head.names if name in names or isinstance(name, tuple)}
        _havoc(head, keys, names, head)
        _havoc(
            head, {k for k, v in head.names.items() if isinstance(v, (Table, Items))}, names, head
        )
        return head.copy()
    for number in range(MAX_PASSES):
        with interp.quiet(), interp.loop() as loop:
            again = enter(head.copy())
            after = run_suite(interp, suite(node.body), again) if again is not None else None
        after = join(after, _all(loop.continues))
        broken = _all(loop.breaks)
        moved = _moved(after, head, names) if after is not None else set()
        if after is not None:
            _meet(head, after, moved)
        if not moved:
            break
        if number == MAX_PASSES - 1:
            moved |= {name for name in names if name in head.names}
            if broken is not None:
                _havoc(broken, moved & broken.names.keys(), names, head)
        _havoc(head, moved, names, after or head)
    return broken


def _meet(head: State, after: State, moved: set[Hashable]) -> None:
    """Let lists and dicts of which no more is known after a pass be the objects of that pass as well."""
    met: dict[tuple[int, int], Value] = {}
    for key, value in head.names.items():
        other = after.names.get(key)
        if (
            other is None
            or other is value
            or key in moved
            or objects_in(other) <= objects_in(value)
        ):
            continue
        pair = id(value), id(other)
        if pair not in met:
            unknown = next((v for v in alternatives(value) if isinstance(v, Unknown)), None)
            both = value, other
            met[pair] = any_of(both) if unknown is None else unsure(both, unknown)
        head.names[key] = met[pair]


def _moved(after: State, head: State, names: set[str]) -> set[Hashable]:
    """The names and attributes whose value after a pass is not covered by the one before it."""
    found: set[Hashable] = set()
    for key, value in after.names.items():
        known = head.names.get(key)
        if known is value or (known is not None and _covers(known, value)):
            continue
        if known is not None or (isinstance(key, tuple) and isinstance(key[0], tuple)):
            found.add(key)
    return found


def _covers(known: Value, value: Value) -> bool:
    for one in alternatives(known):
        if isinstance(one, Unknown):
            return not one.not_none or (isinstance(value, Unknown) and value.not_none)
    return known == value


def _assigned_names(interp: Interpreter, statements: Suite) -> set[str]:
    known = interp.assigned.get(id(statements))
    if known is None:
        known = {t.value for t in assigned_targets(statements) if isinstance(t, cst.Name)}
        if interp.module.has_walrus:
            known.update(walrus_names(statements))
        interp.assigned[id(statements)] = known
    return known


def _havoc(head: State, keys: Iterable[Hashable], names: set[str], other: State) -> None:
    """Forget what a loop changes, as seen by another state; what it only changes in place stays the object it is."""
    for key in keys:
        value = head.names.get(key)
        if (
            isinstance(key, str)
            and key not in names
            and isinstance(value, (Table, Items, Repeated))
        ):
            head.names[key] = forgotten(value)
        else:
            held = [v for v in (value, other.names.get(key)) if v is not None]
            head.names[key] = unsure(held, opaque())


def _orelse(interp: Interpreter, orelse: cst.Else | None, state: State | None) -> State | None:
    if orelse is None or state is None:
        return state
    return run_suite(interp, suite(orelse.body), state)


def _all(states: Iterable[State]) -> State | None:
    result: State | None = None
    for state in states:
        result = join(result, state)
    return result


def _break(interp: Interpreter, node: cst.Break, state: State) -> None:
    interp.leave_loop("breaks", state)


def _continue(interp: Interpreter, node: cst.Continue, state: State) -> None:
    interp.leave_loop("continues", state)


def _try(interp: Interpreter, node: cst.Try | cst.TryStar, state: State) -> State | None:
    before, mark = state.copy(), len(state.log)
    left = _Left.of(interp)
    body_state = state.copy()
    body_state.certain = False
    body_state.muted += _expects_a_failure(interp, node)
    after = run_suite(interp, suite(node.body), body_state)
    if after is not None:
        after.muted = before.muted
    thrown = _thrown(interp, suite(node.body), before, after, mark, _imports_only(node))
    if after is not None and node.orelse is not None:
        after = run_suite(interp, suite(node.orelse.body), after)
    result, uncaught = after, thrown
    for handler in node.handlers:
        inner, mark = thrown.copy(), len(state.log)
        if handler.name is not None:
            assign(interp, handler.name.name, opaque(True), inner)
        start = inner.copy()
        ended = run_suite(interp, suite(handler.body), inner)
        if node.finalbody is not None:
            again = _thrown(interp, suite(handler.body), start, ended, mark)
            uncaught = join(uncaught, again)
        result = join(result, ended)
    if node.finalbody is not None:
        assert uncaught is not None
        result = _finally(interp, suite(node.finalbody.body), result, uncaught, left)
    if result is not None:
        result.certain = _is_certain_again(interp, node, before.certain)
    return result


def _thrown(
    interp: Interpreter,
    body: Suite,
    before: State,
    after: State | None,
    mark: int,
    imports_only: bool = False,
) -> State:
    """The state anywhere inside a block, from where an exception may come: that before it, less what it changes.

    mark: the length of the log before the block.
    """
    thrown = before.copy()
    thrown.suffer(before.log[mark:])
    often = _assigned_often(interp, body)
    for name in _assigned_names(interp, body):
        if name in before.names or imports_only:
            first = thrown.names.pop(name, None)
            if first is not None:
                thrown.loosen((first,))
                last = None if after is None or name in often else after.names.get(name)
                thrown.names[name] = opaque() if last is None else any_of((first, last))
        else:
            thrown.names[name] = opaque()
    for key in [k for k in thrown.names if isinstance(k, tuple)]:
        if after is None or after.names.get(key) is not thrown.names[key]:
            thrown.loosen((thrown.names[key],))
            thrown.names[key] = opaque()
    thrown.certain = False
    return thrown


class _Left:
    """The ways that left a function or loop from now on."""

    def __init__(self, returns: list[tuple[Value, State]], loop: Loop) -> None:
        self.returns, self.loop = returns, loop
        self.counts = len(returns), len(loop.breaks), len(loop.continues)

    @classmethod
    def of(cls, interp: Interpreter) -> _Left:
        """Those that will leave what is interpreted now."""
        return cls(interp.frame.returns, interp.frame.loops[-1] if interp.frame.loops else Loop())

    def take(self) -> tuple[list[tuple[Value, State]], list[State], list[State]]:
        """Take them back."""
        found: list[list[Any]] = []
        for ways, count in zip(
            (self.returns, self.loop.breaks, self.loop.continues), self.counts, strict=True
        ):
            found.append(ways[count:])
            del ways[count:]
        return found[0], found[1], found[2]

    def put(
        self, returned: list[tuple[Value, State]], broken: list[State], continued: list[State]
    ) -> None:
        """Let them go on."""
        self.returns.extend(returned)
        self.loop.breaks.extend(broken)
        self.loop.continues.extend(continued)


def _finally(
    interp: Interpreter, body: Suite, ended: State | None, uncaught: State, left: _Left
) -> State | None:
    """Run a `finally` block on every way that leads to it. It may change what is returned, and go elsewhere itself.

    ended: where the block before it is left at its end, None where it never is.
    """
    returned, broken, continued = left.take()
    entry = join(ended, uncaught)
    for state in (*(state for _, state in returned), *broken, *continued):
        entry = join(entry, state)
    assert entry is not None
    run_suite(interp, body, entry.copy())
    left.take()
    with interp.quiet():
        for value, state in returned:
            mark = len(state.log)
            after = run_suite(interp, body, state.copy())
            if after is not None:
                left.returns.append((after.as_changed_since(value, mark), after))
        for states, ways in ((broken, left.loop.breaks), (continued, left.loop.continues)):
            for state in states:
                after = run_suite(interp, body, state.copy())
                if after is not None:
                    ways.append(after)
        if leaves(body):
            run_suite(interp, body, uncaught.copy())
        return run_suite(interp, body, ended) if ended is not None else None


def _expects_a_failure(interp: Interpreter, node: cst.Try | cst.TryStar) -> bool:
    """Whether a test catches what a call raises, without looking at it further."""
    definition = interp.frame.definition
    if definition is None or not definition.name.startswith("test"):
        return False
    return any(
        isinstance(small, (cst.Pass, cst.Return, cst.Continue, cst.Assert))
        for handler in node.handlers
        for small in small_statements(suite(handler.body))
    )


def _assigned_often(interp: Interpreter, statements: Suite) -> set[str]:
    """Names that may have more than one value in the course of a block."""
    counts = Counter(t.value for t in assigned_targets(statements) if isinstance(t, cst.Name))
    found = looped_names(statements) | {name for name, count in counts.items() if count > 1}
    return found | set(walrus_names(statements)) if interp.module.has_walrus else found


def _imports_only(node: cst.Try | cst.TryStar) -> bool:
    return all(
        isinstance(small, (cst.Import, cst.ImportFrom))
        for small in small_statements(suite(node.body))
    )


def _with(interp: Interpreter, node: cst.With, state: State) -> State | None:
    muted, swallows = 0, False
    entered: list[tuple[str, Value]] = []
    for item in node.items:
        name = dotted(item.item)
        value = interp.evaluate(item.item, state)
        last = name.rpartition(".")[2]
        if last in EXPECTING or _names_a_failure(item.item):
            muted = 1
        if "patch" in name.split(".") and last in _PATCHING:
            muted = 1
        swallows = swallows or managers.swallows(interp, value, name)
        entered.append((name, value))
        if isinstance(value, Code):
            interp.let_change(value, state)
        if item.asname is not None:
            given = value if managers.enters_itself(value) else opaque()
            assign(interp, item.asname.name, given, state)
    left = _Left.of(interp)
    if not muted and not swallows:
        return _leave(interp, entered, run_suite(interp, suite(node.body), state), left)
    before, mark = state.copy(), len(state.log)
    state.muted += muted
    state.certain = False
    after = run_suite(interp, suite(node.body), state)
    # What is raised is caught: the code behind goes on from anywhere inside.
    result = join(_thrown(interp, suite(node.body), before, after, mark), after)
    assert result is not None
    result.muted = before.muted
    result.certain = _is_certain_again(interp, node, before.certain)
    return _leave(interp, entered, result, left)


def _leave(
    interp: Interpreter, entered: Sequence[tuple[str, Value]], ended: State | None, left: _Left
) -> State | None:
    """What is behind a `with` block, however it is left: its managers may have changed what they hold."""
    returned, broken, continued = left.take()
    after = [*(state for _, state in returned), *broken, *continued]
    for state in after if ended is None else (ended, *after):
        mark = len(state.log)
        for name, value in entered:
            if isinstance(value, Code):
                interp.let_change(value, state)
            if not name.startswith("torch."):
                state.change_unknown()
        if len(state.log) > mark:
            returned = [
                (state.as_changed_since(value, mark) if other is state else value, other)
                for value, other in returned
            ]
    left.put(returned, broken, continued)
    return ended


def _names_a_failure(node: cst.BaseExpression) -> bool:
    """`with expectation:`, the expectation being a parameter of the test."""
    return isinstance(node, cst.Name) and any(
        part in node.value.lower() for part in ("expect", "raise", "error", "fail")
    )


def _match(interp: Interpreter, node: cst.Match, state: State) -> State | None:
    # a pattern may give a name to whatever is in it
    state.loosen((interp.evaluate(node.subject, state),))
    result: State | None = None
    unmatched = state.copy()
    for case in node.cases:
        inner: State | None = unmatched.copy()
        inner.certain = False
        _bind_pattern(interp, case.pattern, inner)
        if case.guard is not None:
            # what the guard binds and changes stays, held or not
            inner, refused = narrowing.split(interp, case.guard, inner)
            after = join(unmatched, refused)
            assert after is not None
            unmatched = after
        if inner is not None:
            result = join(result, run_suite(interp, suite(case.body), inner))
    result = join(result, unmatched)
    if result is not None:
        result.certain = _is_certain_again(interp, node, state.certain)
    return result


def _bind_pattern(interp: Interpreter, pattern: cst.CSTNode, state: State) -> None:
    stack: list[cst.CSTNode] = [pattern]
    while stack:
        node = stack.pop()
        match node:
            case cst.MatchAs(name=cst.Name(name)) | cst.MatchStar(name=cst.Name(name)):
                state.names[name] = opaque()
            case cst.MatchMapping(rest=cst.Name(name)):
                state.names[name] = opaque(True)
            case _:
                pass
        stack.extend(node.children)


def _import(interp: Interpreter, node: cst.Import, state: State) -> State:
    for alias in node.names:
        path = dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            state.names[alias.asname.name.value] = External(path)
        else:
            first = path.split(".")[0]
            state.names[first] = External(first)
    return state


def _import_from(interp: Interpreter, node: cst.ImportFrom, state: State) -> State:
    base = absolute(
        dotted(node.module) if node.module is not None else None,
        len(node.relative),
        interp.package_of_imports,
    )
    if isinstance(node.names, cst.ImportStar):
        interp.star_imports.append(base)
        for name, value in state.names.items():
            if isinstance(name, str) and not isinstance(value, (Code, External)):
                state.names[name] = opaque()
        return state
    for alias in node.names:
        name = alias.name.value if isinstance(alias.name, cst.Name) else dotted(alias.name)
        target = name
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            target = alias.asname.name.value
        state.names[target] = External(f"{base}.{name}" if base else name)
    return state


def _define(interp: Interpreter, node: cst.FunctionDef, state: State) -> State:
    definition = interp.module.by_node.get(node)
    made = function(
        Function(
            interp.module,
            node.params,
            node.body,
            node.name.value,
            state.names,
            interp.frame_number,
            definition,
            interp.defaults_of(node.params, state),
        )
    )
    stated = None
    if definition is not None:
        interp.defaults[definition] = dict(made.target.defaults)
        if node.decorators:
            stated = contracted.of_definition(interp, node, definition, state)
        if stated is not None:
            made.target.stated = interp.stated[definition] = stated
    interp.frame.made.append(made.target)
    interp.defined(made, state)
    known = stated is not None or all(harmless(dotted(d.decorator)) for d in node.decorators)
    state.names[node.name.value] = made if known else UNKNOWN
    return state


def _define_class(interp: Interpreter, node: cst.ClassDef, state: State) -> State:
    state.names[node.name.value] = interp.make_class(node, state)
    return state


def _type_alias(interp: Interpreter, node: cst.TypeAlias, state: State) -> State:
    value = interp.evaluate(node.value, state)
    state.names[node.name.value] = value if is_annotation(value) else UNKNOWN
    return state


def _global(interp: Interpreter, node: cst.Global | cst.Nonlocal, state: State) -> State:
    for item in node.names:
        interp.frame.declared.add(item.name.value)
        state.names[item.name.value] = opaque()
    return state


_HANDLERS: dict[type, Callable[[Any, Any, State], State | None]] = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Del: _delete,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.FunctionDef: _define,
    cst.ClassDef: _define_class,
    cst.TypeAlias: _type_alias,
    cst.Global: _global,
    cst.Nonlocal: _global,
}
