"""Values of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from kdacheck.contracts.tags import BATCH_CUT
from kdacheck.facts import Dim, Integer, Literal, Number, TensorFacts, Unknown
from kdacheck.facts.dims import add, at_least, floor_divide, multiply, serial, symbol
from kdacheck.source import annotations, limits, narrowing
from kdacheck.source import torch_semantics as torch
from kdacheck.source.integers import as_dim, from_dim
from kdacheck.source.module import dotted
from kdacheck.source.objects import Function, function, is_none
from kdacheck.source.state import (
    State,
    alternatives,
    any_of,
    element_of,
    forgotten,
    opaque,
    repeated,
)
from kdacheck.source.values import (
    NONE,
    NUMBER,
    SOMETHING,
    UNKNOWN,
    AnyOf,
    External,
    Items,
    Repeated,
    ShapeOf,
    Span,
    Table,
    Value,
    identity_of,
)

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

_ARITHMETIC = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
    cst.BitAndAssign: "&",
    cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
    cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>",
}

#: Integers and strings above this size are not computed: nothing we reason about is that large.
_LARGE = 2**62


def evaluate(interp: Interpreter, node: cst.BaseExpression, state: State) -> Value:
    """The value of an expression in a state; what it does to names is done to the state."""
    limits.spend(1)
    handler = _HANDLERS.get(type(node))
    value = handler(interp, node, state) if handler is not None else UNKNOWN
    return bounded(value, state) if isinstance(value, (Items, Table)) else value


def bounded(value: Items | Table, state: State) -> Value:
    """A value, less what is in it where that is too much to go through again and again."""
    if value.parts <= limits.MAX_PARTS:
        return value
    less = forgotten(value)
    state.loosen((value,), shown=less)
    return less


_CONSTANTS: dict[str, Value] = {
    "None": NONE,
    "True": Literal(True),
    "False": Literal(False),
    "Ellipsis": Literal(...),
}


def _name(interp: Interpreter, node: cst.Name, state: State) -> Value:
    constant = _CONSTANTS.get(node.value)
    if constant is not None:
        return constant
    value = interp.lookup(node.value, state)
    if isinstance(value, External):
        followed = interp.of_project(value.path)
        return followed if isinstance(followed, Literal) else value
    return value


def _integer(interp: Interpreter, node: cst.Integer, state: State) -> Value:
    # `evaluated_value` compiles the text; this is the same for a fraction of the time.
    try:
        value = int(node.value, 0)
    except ValueError:
        return SOMETHING
    return Literal(value) if value < _LARGE else SOMETHING


def _float(interp: Interpreter, node: cst.Float, state: State) -> Value:
    try:
        return Literal(float(node.value))
    except ValueError:
        return SOMETHING


def _string(
    interp: Interpreter, node: cst.SimpleString | cst.ConcatenatedString, state: State
) -> Value:
    if isinstance(node, cst.SimpleString):
        text = node.value
        quoted = text[0] in "\"'" and text[:3] not in ('"""', "'''") and "\\" not in text
        if quoted:
            return Literal(text[1:-1])
    try:
        value = node.evaluated_value
    except (SyntaxError, ValueError, RecursionError):
        return SOMETHING
    return Literal(value) if isinstance(value, (str, bytes)) else SOMETHING


def _formatted(interp: Interpreter, node: cst.FormattedString, state: State) -> Value:
    parts = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            parts.append(part.value)
        elif isinstance(part, cst.FormattedStringExpression):
            value = state.resolve(interp.evaluate(part.expression, state))
            if isinstance(value, Literal) and not part.format_spec and not part.conversion:
                parts.append(str(value.value))
            else:
                return SOMETHING
    text = "".join(parts)
    return Literal(text) if len(text) <= limits.MAX_PARTS else SOMETHING


def _ellipsis(interp: Interpreter, node: cst.Ellipsis, state: State) -> Value:
    return Literal(...)


def _elements(
    interp: Interpreter, elements: Sequence[cst.BaseElement], state: State, kind: str
) -> Value:
    items: list[Value] = []
    unknown = False
    for element in elements:
        value = interp.evaluate(element.value, state)
        if isinstance(element, cst.StarredElement):
            spread = interp.iterate(value, state)
            if isinstance(spread, Items):
                items.extend(spread.items)
            else:
                unknown = True
        else:
            items.append(value)
    if unknown or len(items) > 4096:
        state.loosen(items)
        return Repeated(UNKNOWN, kind)
    return Items(tuple(items), kind)


def _tuple(interp: Interpreter, node: cst.Tuple, state: State) -> Value:
    return _elements(interp, node.elements, state, "tuple")


def _list(interp: Interpreter, node: cst.List, state: State) -> Value:
    return _elements(interp, node.elements, state, "list")


def _set(interp: Interpreter, node: cst.Set, state: State) -> Value:
    found = _elements(interp, node.elements, state, "set")
    return as_set(found.items) if isinstance(found, Items) else found


def as_set(items: Sequence[Value]) -> Value:
    """A set has no order, and equal members are one."""
    if len(items) <= 1:
        return Items(tuple(items), "set")
    return repeated(items, "set")


def _dict(interp: Interpreter, node: cst.Dict, state: State) -> Value:
    table = Table()
    for element in node.elements:
        value = interp.evaluate(element.value, state)
        if isinstance(element, cst.StarredDictElement):
            table = merge_tables(table, value, state)
        else:
            assert isinstance(element, cst.DictElement)
            key = interp.evaluate(element.key, state)
            table = store(table, key, value, state)
    return table


def merge_tables(table: Table, more: Value, state: State) -> Table:
    """`{**table, **more}`."""
    merged = _merged(table, more)
    state.loosen((table, more), shown=merged)
    return merged


def _merged(table: Table, more: Value) -> Table:
    if isinstance(more, AnyOf):
        tables = [_merged(table, v) for v in more.values]
        merged = any_of(tables)
        return merged if isinstance(merged, Table) else Table({}, True)
    if not isinstance(more, Table):
        return Table({}, True)  # any key may have another value now
    if more.open:
        return Table(more.entries, True, more.maybe)
    maybe = {k: v for k, v in table.maybe.items() if k not in more.entries}
    entries = {**table.entries, **more.entries}
    for key, value in more.maybe.items():
        if key in entries:
            entries[key] = any_of((entries[key], value))
        else:
            maybe[key] = any_of((maybe[key], value)) if key in maybe else value
    return Table(entries, table.open or more.open, maybe)


def store(table: Table, key: Value, value: Value, state: State) -> Table:
    """The dict after `table[key] = value`."""
    if isinstance(key, Literal) and isinstance(key.value, (str, int, bool, float, type(None))):
        maybe = {k: v for k, v in table.maybe.items() if k != key.value}
        return Table({**table.entries, key.value: value}, table.open, maybe)
    state.loosen((value,))
    return Table(
        {k: any_of((v, value)) for k, v in table.entries.items()},
        True,
        {k: any_of((v, value)) for k, v in table.maybe.items()},
    )


def _attribute(interp: Interpreter, node: cst.Attribute, state: State) -> Value:
    value = interp.evaluate(node.value, state)
    return interp.attribute(value, node.attr.value, node, state)


def _subscript(interp: Interpreter, node: cst.Subscript, state: State) -> Value:
    value = state.resolve(interp.evaluate(node.value, state))
    alias = annotations.alias(interp, value, node, state)
    if alias is not None:
        return alias
    index = index_of(interp, node.slice, state)
    return subscript(interp, value, index, node, state)


def index_of(interp: Interpreter, elements: Sequence[cst.SubscriptElement], state: State) -> Value:
    parts: list[Value] = []
    for element in elements:
        match element.slice:
            case cst.Index(value=inner, star=star):
                part = state.resolve(interp.evaluate(inner, state))
                if star:
                    spread = interp.iterate(part, state)
                    if not isinstance(spread, Items):
                        return UNKNOWN
                    parts.extend(spread.items)
                else:
                    parts.append(part)
            case cst.Slice(lower=lower, upper=upper, step=step):
                bounds = [
                    NONE
                    if bound is None
                    else interp.as_integer(state.resolve(interp.evaluate(bound, state)))
                    for bound in (lower, upper, step)
                ]
                parts.append(Span(*bounds))
    if len(parts) == 1 and not elements[0].comma:
        return parts[0]
    if len(parts) == 1 and isinstance(elements[0].comma, cst.MaybeSentinel):
        return parts[0]
    return Items(tuple(parts))


def subscript(
    interp: Interpreter, value: Value, index: Value, node: cst.CSTNode, state: State
) -> Value:
    match value:
        case AnyOf(values):
            return any_of(
                subscript(interp, v, index, node, state) for v in values if not is_none(v)
            )
        case TensorFacts():
            return interp.torch_result(
                mark_batch_cut(value, index, torch.subscript(value, index)),
                value,
                node,
                "indexing",
                state,
            )
        case Items(items, kind):
            return any_of(_items_at(items, index, kind))
        case Repeated():
            if isinstance(index, Span):
                return value
            found = element_of(value)
            return any_of((UNKNOWN, found)) if isinstance(index, Unknown) else found
        case Table(entries, opened, maybe):
            if isinstance(index, Literal) and index.value.__hash__ is not None:
                if index.value in entries:
                    return entries[index.value]
                return maybe.get(index.value, UNKNOWN)
            held = (*entries.values(), *maybe.values())
            return any_of(held if held and not opened and not maybe else (UNKNOWN, *held))
        case ShapeOf(handle):
            return _axis(interp, handle, index, state)
        case Unknown(_, handle) if handle and looks_like_tensor_index(index):
            facts = interp.tensor_of(value, state)
            if facts is not None:
                return subscript(interp, facts, index, node, state)
            return UNKNOWN
        case Unknown(_, handle) if handle and isinstance(index, Literal):
            if isinstance(index.value, (str, int)):
                return interp.memo((handle, ("item", index.value)), state)
            return UNKNOWN
        case _:
            return UNKNOWN


def mark_batch_cut(facts: TensorFacts, index: Value, result: Value | None) -> Value | None:
    """Mark `x[:n]` of a batch of one: it cuts no token, whatever `n` is."""
    first = index.items[0] if isinstance(index, Items) and index.items else index
    if not (isinstance(result, TensorFacts) and isinstance(first, Span) and facts.dim(0) == 1):
        return result
    stop = first.stop
    cuts = isinstance(stop, Integer) or (isinstance(stop, Literal) and type(stop.value) is int)
    if (
        not cuts
        or not is_none(first.step)
        or not (is_none(first.start) or first.start == Literal(0))
    ):
        return result
    if isinstance(stop, Literal) and stop.value <= 1:
        return result
    return replace(result, tags=result.tags | {BATCH_CUT})


def looks_like_tensor_index(index: Value) -> bool:
    """An index that no list or dict takes."""
    if isinstance(index, Items):
        return any(isinstance(part, Span) or is_none(part) for part in index.items) or any(
            isinstance(part, Literal) and part.value is ... for part in index.items
        )
    if isinstance(index, Span):
        return True
    return isinstance(index, Literal) and (index.value is None or index.value is ...)


def _items_at(items: tuple[Value, ...], index: Value, kind: str) -> tuple[Value, ...]:
    """What may be at an index."""
    match index:
        case Literal(i) if type(i) is int:
            return (items[i] if -len(items) <= i < len(items) else UNKNOWN,)
        case Integer():
            return items
        case Span(start, stop, step):
            parts: list[Any] = [
                p.value if isinstance(p, Literal) else ... for p in (start, stop, step)
            ]
            if any(p is ... or not (p is None or type(p) is int) for p in parts):
                return (repeated(items, kind) if items else UNKNOWN,)
            try:
                return (Items(items[slice(*parts)], kind),)
            except ValueError:
                return (UNKNOWN,)
        case _:
            # It may be a slice.
            return (UNKNOWN, *items)


def _axis(interp: Interpreter, handle: int, index: Value, state: State) -> Value:
    rank = state.ranks.get(handle)
    match index:
        case Literal(axis) if type(axis) is int:
            return from_dim(state.resolve_dim(interp.size(handle, axis, rank)))
        case Span(start, stop, Literal(None)):
            low = start.value if isinstance(start, Literal) else ...
            high = stop.value if isinstance(stop, Literal) else ...
            low = 0 if low is None else low
            if rank is not None and (high is None or type(high) is int) and type(low) is int:
                axes = range(rank)[low:high]
                return Items(tuple(from_dim(interp.size(handle, a, rank)) for a in axes))
            if type(low) is int and type(high) is int and low >= 0 and high >= 0:
                return Items(
                    tuple(from_dim(interp.size(handle, a, rank)) for a in range(low, high))
                )
            if type(low) is int and high is None and low < 0:
                return Items(tuple(from_dim(interp.size(handle, a, rank)) for a in range(low, 0)))
            return Repeated(SOMETHING)
        case Integer():
            return Integer(symbol("size"))
        case _:
            return SOMETHING


def _call(interp: Interpreter, node: cst.Call, state: State) -> Value:
    return interp.call(node, state)


def _conditional(interp: Interpreter, node: cst.IfExp, state: State) -> Value:
    mark = len(state.log)
    yes, no = narrowing.split(interp, node.test, state)
    narrowing.part(yes, no)
    values = []
    if yes is not None:
        values.append(yes.resolve(interp.evaluate(node.body, yes)))
    if no is not None:
        values.append(no.resolve(interp.evaluate(node.orelse, no)))
    state.suffer(state.log[mark:])
    return any_of(values)


def _boolean(interp: Interpreter, node: cst.BooleanOperation, state: State) -> Value:
    mark = len(state.log)
    value = _boolean_value(interp, node, state)
    state.suffer(state.log[mark:])
    return value


def _once(interp: Interpreter, node: cst.BaseExpression, state: State) -> Value:
    """The value of an operand that is evaluated again where the condition is split: what it does is done there."""
    if is_simple(node):
        return state.resolve(interp.evaluate(node, state))
    probe = state.copy()
    value = probe.resolve(interp.evaluate(node, probe))
    for key, found in probe.names.items():
        # What was learnt to be the same object on every look.
        if isinstance(key, tuple) and not isinstance(key[0], tuple):
            state.names.setdefault(key, found)
    return value


def is_simple(node: cst.CSTNode) -> bool:
    """Whether evaluating an expression does nothing but read."""
    match node:
        case cst.Name() | cst.Integer() | cst.Float() | cst.SimpleString():
            return True
        case cst.Attribute(value=inner):
            return is_simple(inner)
        case _:
            return False


def only_reads(node: cst.CSTNode) -> bool:
    """Whether an expression may be evaluated again: it names something, or what is in it."""
    match node:
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            return only_reads(inner) and is_simple(index)
        case cst.Attribute(value=inner):
            return only_reads(inner)
        case _:
            return is_simple(node)


#: Functions that read what they are given when what they give is read.
_LAZY = frozenset(("enumerate", "filter", "iter", "map", "reversed", "zip"))


def read_from(interp: Interpreter, node: cst.BaseExpression, state: State) -> frozenset[int]:
    """The lists and iterators that an iterable is, or is read from while it is gone through: `zip(xs, ys)`."""
    if isinstance(node, cst.Call) and dotted(node.func) in _LAZY:
        return frozenset[int]().union(*(read_from(interp, arg.value, state) for arg in node.args))
    values = alternatives(interp.evaluate(node, state)) if only_reads(node) else ()
    return frozenset[int]().union(*(identity_of(v) for v in values if not isinstance(v, Table)))


def viewed(interp: Interpreter, node: cst.BaseExpression, state: State) -> frozenset[int]:
    """The dict whose values an iterable shows as they are: that of `table.items()`."""
    match node:
        case cst.Call(func=cst.Attribute(owner, cst.Name("items" | "values")), args=[]) if (
            only_reads(owner)
        ):
            return identity_of(interp.evaluate(owner, state))
        case _:
            return frozenset()


def _boolean_value(interp: Interpreter, node: cst.BooleanOperation, state: State) -> Value:
    left = _once(interp, node.left, state)
    is_and = isinstance(node.operator, cst.And)
    decided = narrowing.truth(left)
    if decided is not None and decided is not is_and:
        return left
    yes, no = narrowing.split(interp, node.left, state)
    narrowing.part(yes, no)
    follow = yes if is_and else no
    if follow is None:
        return left
    right = follow.resolve(interp.evaluate(node.right, follow))
    if decided is not None:
        return right
    if is_and:
        kept = [v for v in alternatives(left) if narrowing.truth(v) is not True]
    else:
        kept = [
            Unknown(True, v.handle) if isinstance(v, Unknown) else v
            for v in alternatives(left)
            if narrowing.truth(v) is not False
        ]
    return any_of((*kept, right))


def _comparison(interp: Interpreter, node: cst.Comparison, state: State) -> Value:
    mark = len(state.log)
    value = _comparison_value(interp, node, state)
    state.suffer(state.log[mark:])
    return value


def _comparison_value(interp: Interpreter, node: cst.Comparison, state: State) -> Value:
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        a = _once(interp, node.left, state)
        b = _once(interp, target.comparator, state)
        op = narrowing.operator_of(target.operator)
        facts = a if isinstance(a, TensorFacts) else b
        if isinstance(facts, TensorFacts) and op in ("==", "!=", "<", "<=", ">", ">="):
            return interp.torch_result(torch.compare(op, a, b), facts, node, "comparison", state)
    yes, no = narrowing.split(interp, node, state)
    if yes is None:
        return Literal(False)
    if no is None:
        return Literal(True)
    return SOMETHING


def _unary(interp: Interpreter, node: cst.UnaryOperation, state: State) -> Value:
    if isinstance(node.operator, cst.Not):
        mark = len(state.log)
        yes, no = narrowing.split(interp, node, state)
        state.suffer(state.log[mark:])
        return Literal(False) if yes is None else Literal(True) if no is None else SOMETHING
    value = state.resolve(interp.evaluate(node.expression, state))
    op = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}[type(node.operator)]
    match value:
        case TensorFacts():
            return interp.torch_result(torch.unary(op, value), value, node, op, state)
        case Unknown(_, handle) if handle and op == "-":
            number = as_dim(interp.as_integer(value))
            return UNKNOWN if number is None else interp.known_number(multiply(number, -1))
        case Literal(v) if isinstance(v, (int, float)):
            return Literal(-v if op == "-" else ~v if op == "~" and isinstance(v, int) else v)
        case Integer(dim):
            return Integer(multiply(dim, -1)) if op == "-" else value if op == "+" else SOMETHING
        case AnyOf(values):
            return any_of(
                interp.torch_result(torch.unary(op, v), v, node, op, state)
                if isinstance(v, TensorFacts)
                else SOMETHING
                for v in values
            )
        case _:
            return UNKNOWN


def _binary(interp: Interpreter, node: cst.BinaryOperation, state: State) -> Value:
    left = state.resolve(interp.evaluate(node.left, state))
    right = state.resolve(interp.evaluate(node.right, state))
    if annotations.is_annotation(left) or annotations.is_annotation(right):
        return annotations.union(interp, node, state)
    return arithmetic(interp, _ARITHMETIC[type(node.operator)], left, right, node, state)


def operator_text(node: cst.CSTNode) -> str:
    return _ARITHMETIC.get(type(node), "?")


def arithmetic(
    interp: Interpreter, op: str, left: Value, right: Value, node: cst.CSTNode, state: State
) -> Value:
    if isinstance(left, AnyOf) or isinstance(right, AnyOf):
        pairs = [(a, b) for a in alternatives(left) for b in alternatives(right)]
        if len(pairs) > 16:
            state.loosen((left, right))
            return UNKNOWN
        return any_of(
            arithmetic(interp, op, a, b, node, state)
            for a, b in pairs
            if not is_none(a) and not is_none(b)
        )
    if isinstance(left, TensorFacts) or isinstance(right, TensorFacts):
        primary = left if isinstance(left, TensorFacts) else right
        assert isinstance(primary, TensorFacts)
        return interp.torch_result(torch.binary(op, left, right), primary, node, op, state)
    sequence = _sequence_arithmetic(op, left, right)
    if sequence is not None:
        state.loosen((left, right), shown=sequence)
        return sequence
    if isinstance(left, Table) and op == "|":
        return merge_tables(left, right, state)
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _compute(op, left.value, right.value)
    if isinstance(left, Literal) and isinstance(left.value, str):
        return SOMETHING
    a, b = as_dim(left), as_dim(right)
    if op in ("/", "**", "*", "+", "-") and (_is_float(left) or _is_float(right) or op == "/"):
        one, other = (left, right) if a is not None or _is_float(left) else (right, left)
        if as_dim(one) is not None or _is_float(one):
            # An unknown partner may be a tensor, and the result with it.
            return NUMBER if as_dim(other) is not None or _is_float(other) else UNKNOWN
    if a is None and b is None:
        return UNKNOWN
    if a is not None and b is not None:
        return _whole(op, a, b)
    # One side is an int; the other may be one too, or a tensor. As an int the result is known all the same.
    one = a if a is not None else as_dim(interp.as_integer(left))
    other = b if b is not None else as_dim(interp.as_integer(right))
    number = None if one is None or other is None else as_dim(_whole(op, one, other))
    return UNKNOWN if number is None else interp.known_number(number)


def _is_float(value: Value) -> bool:
    return isinstance(value, Number) or (
        isinstance(value, Literal) and isinstance(value.value, float)
    )


def _whole(op: str, a: Dim, b: Dim) -> Value:
    match op:
        case "+":
            return from_dim(add(a, b))
        case "-":
            return from_dim(add(a, multiply(b, -1)))
        case "*":
            return from_dim(multiply(a, b))
        case "//":
            exact = floor_divide(a, b)
            natural = at_least(a, 0) and at_least(b, 0)
            return (
                from_dim(exact)
                if exact is not None
                else Integer(symbol("quotient", 0 if natural else None))
            )
        case "%":
            if isinstance(b, int) and b > 0:
                return Integer(symbol("remainder", 0, b - 1))
            return Integer(symbol("remainder", 0 if at_least(b, 0) else None))
        case "**" if isinstance(b, int) and 0 <= b <= 4:
            result: Dim = 1
            for _ in range(b):
                result = multiply(result, a)
            return from_dim(result)
        case "**" | "/":
            return NUMBER
        case "&" | "|" | "^" | "<<" | ">>":
            return Integer(symbol("number", 0 if at_least(a, 0) and at_least(b, 0) else None))
        case _:
            return SOMETHING


def _sequence_arithmetic(op: str, left: Value, right: Value) -> Value | None:
    if isinstance(left, Items) and isinstance(right, Items) and op == "+":
        return Items(left.items + right.items, left.kind)
    for sequence, other in ((left, right), (right, left)):
        if op == "*" and isinstance(sequence, Items):
            if isinstance(other, Literal) and type(other.value) is int:
                count = other.value
                if 0 <= count * len(sequence.items) <= 4096:
                    return Items(sequence.items * count, sequence.kind)
                return Items((), sequence.kind) if count < 0 else Repeated(SOMETHING, sequence.kind)
            if sequence.items:
                return repeated(sequence.items, sequence.kind)
    if isinstance(left, (Items, Repeated)) or isinstance(right, (Items, Repeated)):
        return Repeated(UNKNOWN)
    return None


def _compute(op: str, a: Any, b: Any) -> Value:
    if isinstance(a, str) or isinstance(b, str):
        if op == "+" and isinstance(a, str) and isinstance(b, str):
            return Literal(a + b) if len(a) + len(b) <= limits.MAX_PARTS else SOMETHING
        return SOMETHING
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return UNKNOWN
    if op == "**" and (abs(a) > 2**16 or abs(b) > 32):
        return SOMETHING
    if op == "<<" and (not isinstance(b, int) or b > 62 or b < 0):
        return SOMETHING
    operations: dict[str, Callable[[], Any]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: a // b,
        "%": lambda: a % b,
        "**": lambda: a**b,
        "&": lambda: a & b,  # type: ignore[operator]
        "|": lambda: a | b,  # type: ignore[operator]
        "^": lambda: a ^ b,  # type: ignore[operator]
        "<<": lambda: a << b,  # type: ignore[operator]
        ">>": lambda: a >> b,  # type: ignore[operator]
    }
    try:
        value = operations[op]()
    except (ArithmeticError, TypeError, ValueError, KeyError):
        return UNKNOWN
    if isinstance(value, complex) or (isinstance(value, int) and abs(value) >= _LARGE):
        return SOMETHING
    return Literal(value)


def _lambda(interp: Interpreter, node: cst.Lambda, state: State) -> Value:
    made = Function(
        interp.module,
        node.params,
        node.body,
        "<lambda>",
        state.names,
        interp.frame_number,
        defaults=interp.defaults_of(node.params, state),
    )
    interp.frame.made.append(made)
    return function(made)


def _walrus(interp: Interpreter, node: cst.NamedExpr, state: State) -> Value:
    value = state.settle(interp.evaluate(node.value, state))
    if isinstance(node.target, cst.Name):
        state.bind(node.target.value, value)
    return value


def _comprehension(
    interp: Interpreter, node: cst.GeneratorExp | cst.ListComp | cst.SetComp, state: State
) -> Value:
    kind = {cst.ListComp: "list", cst.SetComp: "set"}.get(type(node), "generator")
    mark, since = len(state.log), serial()
    results = _comprehend(
        interp, node.for_in, state, lambda inner: interp.evaluate(node.elt, inner)
    )
    state.suffer(state.log[mark:])
    if isinstance(results, list) and kind == "set":
        return as_set(results)
    if isinstance(results, list):
        return Items(tuple(results), kind)
    return Repeated(results, kind, since)


def _dict_comprehension(interp: Interpreter, node: cst.DictComp, state: State) -> Value:
    mark = len(state.log)
    pair = _comprehend(
        interp,
        node.for_in,
        state,
        lambda inner: Items((interp.evaluate(node.key, inner), interp.evaluate(node.value, inner))),
    )
    state.suffer(state.log[mark:])
    if not isinstance(pair, list):
        state.loosen((pair,))
        return Table({}, True)
    table = Table()
    for item in pair:
        assert isinstance(item, Items)
        table = store(table, item.items[0], item.items[1], state)
    return table


def _comprehend(
    interp: Interpreter,
    clause: cst.CompFor,
    state: State,
    element: Callable[[State], Value],
) -> list[Value] | Value:
    """The elements a comprehension makes, or one value that covers them all."""
    iterable = interp.iterate(state.resolve(interp.evaluate(clause.iter, state)), state)
    if isinstance(iterable, Items) and len(iterable.items) <= 64 and not interp.spent:
        results: list[Value] = []
        cover: Value | None = None
        begin = mark = len(state.log)
        lists = read_from(interp, clause.iter, state) | viewed(interp, clause.iter, state)
        for item in iterable.items:
            if state.has_changed(lists, begin):
                cover = UNKNOWN if cover is None else any_of((cover, UNKNOWN))
                break
            interp.spend()
            state.suffer(state.log[mark:])  # what the elements before this one have changed
            mark = len(state.log)
            inner = state.copy()
            interp.assign(clause.target, state.as_changed_since(item, begin), inner)
            certain, possible = True, True
            for condition in clause.ifs:
                yes, no = narrowing.split(interp, condition.test, inner)
                if yes is None:
                    possible = False
                    break
                certain, inner = certain and no is None, yes
                inner.certain = inner.certain and certain
            if not possible:
                continue
            if clause.inner_for_in is not None:
                more = _comprehend(interp, clause.inner_for_in, inner, element)
            else:
                more = [element(inner)]
            if not certain or not isinstance(more, list):
                values = more if isinstance(more, list) else [more]
                cover = any_of(([cover] if cover is not None else []) + values)
            else:
                results.extend(more)
        if cover is None and len(results) <= 4096:
            return results
        return any_of((*([cover] if cover is not None else []), *results))
    inner = state.copy()
    match iterable:
        case Repeated():
            item = element_of(iterable)
        case Items(items):
            item = any_of(items)
        case _:
            item = opaque()
    interp.assign(clause.target, item, inner)
    mark = len(state.log)
    with interp.quiet():
        _one_element(interp, clause, inner.copy(), element)
    inner.suffer(state.log[mark:])  # any element may come after others
    return _one_element(interp, clause, inner, element)


def _one_element(
    interp: Interpreter,
    clause: cst.CompFor,
    state: State,
    element: Callable[[State], Value],
) -> list[Value] | Value:
    """What one round of a comprehension makes, nothing where its conditions never hold."""
    for condition in clause.ifs:
        yes, no = narrowing.split(interp, condition.test, state)
        if yes is None:
            return []
        narrowing.part(yes, no)
        state = yes
    if clause.inner_for_in is not None:
        more = _comprehend(interp, clause.inner_for_in, state, element)
        return any_of(more) if isinstance(more, list) else more
    return element(state)


def _await(interp: Interpreter, node: cst.Await, state: State) -> Value:
    interp.evaluate(node.expression, state)
    return UNKNOWN


def _yield(interp: Interpreter, node: cst.Yield, state: State) -> Value:
    match node.value:
        case cst.From(item=inner):
            given = state.resolve(interp.evaluate(inner, state))
            match interp.iterate(given, state):
                case Items(items):
                    values = items
                case Repeated() as sequence:
                    values = (element_of(sequence),)
                case _:
                    values = (UNKNOWN,)
            for value in values:
                interp.yielded(value, state)
            interp.let_change(given, state)
        case None:
            interp.yielded(NONE, state)
        case inner:
            value = interp.evaluate(inner, state)
            interp.yielded(value, state)
            # Whoever receives it may change it before this goes on.
            interp.let_change(value, state)
    return UNKNOWN


_HANDLERS: dict[type, Callable[[Any, Any, State], Value]] = {
    cst.Name: _name,
    cst.Integer: _integer,
    cst.Float: _float,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _string,
    cst.FormattedString: _formatted,
    cst.Ellipsis: _ellipsis,
    cst.Tuple: _tuple,
    cst.List: _list,
    cst.Set: _set,
    cst.Dict: _dict,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.IfExp: _conditional,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.UnaryOperation: _unary,
    cst.BinaryOperation: _binary,
    cst.Lambda: _lambda,
    cst.NamedExpr: _walrus,
    cst.GeneratorExp: _comprehension,
    cst.ListComp: _comprehension,
    cst.SetComp: _comprehension,
    cst.DictComp: _dict_comprehension,
    cst.Await: _await,
    cst.Yield: _yield,
}

__all__ = [
    "arithmetic",
    "as_dim",
    "evaluate",
    "from_dim",
    "merge_tables",
    "operator_text",
    "store",
    "subscript",
]
