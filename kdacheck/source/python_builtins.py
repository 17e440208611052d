"""Python's own functions, and methods of its containers."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import add, at_least, bounds, equal, multiply, serial, symbol
from kdacheck.source.integers import as_dim, from_dim
from kdacheck.source.objects import Arguments, Partial
from kdacheck.source.state import State, any_of, opaque, repeated
from kdacheck.source.values import (
    NONE,
    NUMBER,
    SOMETHING,
    UNKNOWN,
    AnyOf,
    Code,
    Device,
    Items,
    Repeated,
    ShapeOf,
    Table,
    Value,
)

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: Names that mean Python's own function unless something else binds them.
NAMES = frozenset(name for name in dir(builtins) if not name.startswith("_"))


@dataclass(frozen=True, eq=False)
class Same:
    """An object as a key: equal to itself alone. It keeps the object, whose place another one might take."""

    of: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


Handler = Callable[["Interpreter", Arguments, cst.CSTNode, State], "Value | None"]

_FUNCTIONS: dict[str, Handler] = {}


def _register(*paths: str) -> Callable[[Handler], Handler]:
    def attach(handler: Handler) -> Handler:
        for path in paths:
            _FUNCTIONS[path] = handler
        return handler

    return attach


def function(
    interp: Interpreter, path: str, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value | None:
    """The value of a call of a standard function, None where it is not one we know."""
    handler = _FUNCTIONS.get(path)
    if path in ("builtins.eval", "builtins.exec"):
        for value in list(state.names.values()):
            interp.let_change(value, state)
    if path in ("builtins.any", "builtins.all"):
        interp.iterate(_first(arguments), state)
    if handler is None:
        return SOMETHING if path.startswith("builtins.") and path[9:] in _PURE else None
    if arguments.open_positional and path != "functools.partial":
        return None
    result = handler(interp, arguments, node, state)
    if result is not SOMETHING and not isinstance(result, (Literal, Integer)):
        state.loosen(arguments.every(), shown=result)
    return result


_PURE = frozenset(
    [
        "print",
        "repr",
        "str",
        "format",
        "hash",
        "id",
        "input",
        "ord",
        "chr",
        "hex",
        "oct",
        "bin",
        "callable",
        "hasattr",
        "type",
        "dir",
        "round",
        "divmod",
        "any",
        "all",
    ]
)


def _first(arguments: Arguments) -> Value:
    return arguments.positional[0].value if arguments.positional else UNKNOWN


@_register("builtins.len")
def _len(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    return _length(interp, _first(arguments), state)


def _length(interp: Interpreter, value: Value, state: State) -> Value:
    match value:
        case Items(items):
            return Literal(len(items))
        case Table(entries, False, maybe) if not maybe:
            return Literal(len(entries))
        case Literal(str() as text):
            return Literal(len(text))
        case TensorFacts():
            facts = interp.tensor_of(value, state)
            size = facts.dim(0) if facts is not None else None
            if size is None and value.handle:
                size = interp.size(value.handle, 0, state.ranks.get(value.handle))
            return from_dim(size) if size is not None else Integer(symbol("len"))
        case AnyOf(values):
            return any_of(_length(interp, v, state) for v in values)
        case Unknown(_, handle) if handle:
            return interp.length(handle, state)
        case _:
            return Integer(symbol("len"))


@_register("builtins.range")
def _range(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    dims = [as_dim(v) for v in arguments.values()]
    if dims and all(isinstance(d, int) for d in dims):
        try:
            numbers = range(*[d for d in dims if isinstance(d, int)])
        except (ValueError, TypeError):
            return SOMETHING
        if len(numbers) <= 4096:
            return Items(tuple(Literal(i) for i in numbers), "range")
    since = serial()
    low: int | None = 0
    if len(dims) >= 2:
        low = bounds(dims[0])[0] if dims[0] is not None else None
    if len(dims) == 3 and not (dims[2] is not None and at_least(dims[2], 1)):
        low = None
    return Repeated(Integer(symbol("i", low)), "range", since)


_KINDS = {
    **dict.fromkeys(("list", "sorted"), "list"),
    **dict.fromkeys(("set", "frozenset"), "set"),
    **dict.fromkeys(("iter", "reversed"), "generator"),
}


def _sequence(
    name: str, interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    from kdacheck.source.expressions import as_set

    kind = _KINDS.get(name, "tuple")
    if not arguments.positional:
        return Items((), kind)
    first = _first(arguments)
    if isinstance(first, ShapeOf) and name == "tuple":
        return first
    spread = interp.iterate(first, state)
    if isinstance(spread, Items):
        if name == "reversed":
            return Items(spread.items[::-1], kind)
        if name == "sorted":
            numbers = [
                v.value for v in spread.items if isinstance(v, Literal) and type(v.value) is int
            ]
            if len(numbers) == len(spread.items) and not arguments.keywords:
                return Items(tuple(map(Literal, sorted(numbers))), kind)
            return repeated(spread.items, kind) if spread.items else Items((), kind)
        return as_set(spread.items) if kind == "set" else Items(spread.items, kind)
    if isinstance(spread, Repeated):
        return Repeated(spread.element, kind, spread.since)
    return Repeated(UNKNOWN, kind)


for _name in ("tuple", "list", "set", "frozenset", "iter", "sorted", "reversed"):
    _FUNCTIONS[f"builtins.{_name}"] = partial(_sequence, _name)
_FUNCTIONS["torch.Size"] = partial(_sequence, "tuple")


@_register("builtins.dict", "collections.OrderedDict")
def _dict(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    from kdacheck.source.expressions import merge_tables, store

    table = Table()
    if arguments.positional:
        source = _first(arguments)
        if isinstance(source, (Table, AnyOf)):
            table = merge_tables(table, source, state)
        else:
            pairs = interp.iterate(source, state)
            if not isinstance(pairs, Items):
                return Table({}, True)
            for pair in pairs.items:
                if not (isinstance(pair, Items) and len(pair.items) == 2):
                    return Table({}, True)
                table = store(table, pair.items[0], pair.items[1], state)
    named = Table(
        arguments.keyword_values(),
        arguments.open_keywords,
        {k: a.value for k, a in arguments.maybe.items()},
    )
    return merge_tables(table, named, state)


@_register("builtins.zip")
def _zip(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    columns = [interp.iterate(v, state) for v in arguments.values()]
    if columns and all(isinstance(c, Items) for c in columns):
        rows = zip(*(c.items for c in columns if isinstance(c, Items)), strict=False)
        return Items(tuple(Items(tuple(row)) for row in rows), "generator")
    since = _since(columns)
    elements = [_cover(c) for c in columns]
    return Repeated(Items(tuple(elements)), "generator", since)


def _since(columns: Sequence[Value]) -> int:
    """The serial after which symbols in what covers the columns are other numbers in each row."""
    return min([serial(), *(c.since for c in columns if isinstance(c, Repeated))])


def _cover(column: Value) -> Value:
    if isinstance(column, Repeated):
        return column.element
    if isinstance(column, Items) and column.items:
        return any_of(column.items)
    return UNKNOWN


@_register("builtins.enumerate")
def _enumerate(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    column = interp.iterate(_first(arguments), state)
    given = [*arguments.positional[1:], *arguments.keywords.values()]
    start = given[0].value if given else Literal(0)
    if isinstance(column, Items) and isinstance(start, Literal) and type(start.value) is int:
        return Items(
            tuple(Items((Literal(start.value + i), v)) for i, v in enumerate(column.items)),
            "generator",
        )
    since = _since([column])
    first = as_dim(start)
    low = None if first is None else bounds(first)[0]
    return Repeated(Items((Integer(symbol("i", low)), _cover(column))), "generator", since)


@_register("builtins.map")
def _map(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    from kdacheck.source.calls import dispatch
    from kdacheck.source.objects import Argument

    if len(arguments.positional) < 2:
        return UNKNOWN
    callee = _first(arguments)
    columns = [interp.iterate(a.value, state) for a in arguments.positional[1:]]
    if all(isinstance(c, Items) and len(c.items) <= 64 for c in columns):
        rows = zip(*(c.items for c in columns if isinstance(c, Items)), strict=False)
        return Items(
            tuple(
                dispatch(interp, callee, Arguments([Argument(v) for v in row]), node, state)
                for row in rows
            ),
            "generator",
        )
    since = _since(columns)
    covers = [Argument(_cover(c)) for c in columns]
    return Repeated(dispatch(interp, callee, Arguments(covers), node, state), "generator", since)


@_register("builtins.sum", "math.fsum")
def _sum(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    column = interp.iterate(_first(arguments), state)
    if len(arguments.positional) > 1 or arguments.keywords:
        return UNKNOWN
    if isinstance(column, Items):
        total: Dim = 0
        for item in column.items:
            dim = as_dim(interp.as_integer(item))
            if dim is None:
                return SOMETHING
            total = add(total, dim)
        return _number_of(interp, total, column.items)
    return UNKNOWN


def _number_of(interp: Interpreter, number: Dim, values: Sequence[Value]) -> Value:
    """What comes of values that give this number if they are ints, as those of which nothing is known may not be."""
    if all(as_dim(value) is not None for value in values):
        return from_dim(number)
    return interp.known_number(number)


@_register("math.prod", "numpy.prod")
def _prod(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    column = interp.iterate(_first(arguments), state)
    if len(arguments.positional) > 1 or arguments.keywords:
        return UNKNOWN
    if isinstance(column, Items):
        total: Dim = 1
        for item in column.items:
            dim = as_dim(item)
            if dim is None:
                return SOMETHING
            total = multiply(total, dim)
        return from_dim(total)
    return UNKNOWN


@_register("itertools.accumulate")
def _accumulate(
    interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    column = interp.iterate(_first(arguments), state)
    if (
        not isinstance(column, Items)
        or len(arguments.positional) > 1
        or "func" in arguments.keywords
    ):
        return Repeated(UNKNOWN, "generator")
    sums: list[Value] = []
    total: Dim = 0
    initial = arguments.keywords.get("initial")
    if initial is not None and not (
        isinstance(initial.value, Literal) and initial.value.value is None
    ):
        start = as_dim(initial.value)
        if start is None:
            return Repeated(UNKNOWN, "generator")
        total = start
        sums.append(from_dim(start))
    for item in column.items:
        dim = as_dim(interp.as_integer(item))
        if dim is None:
            return Repeated(UNKNOWN, "generator")
        total = add(total, dim)
        sums.append(_number_of(interp, total, column.items))
    return Items(tuple(sums), "generator")


@_register("itertools.chain")
def _chain(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    items: list[Value] = []
    for value in arguments.values():
        column = interp.iterate(value, state)
        if not isinstance(column, Items):
            return Repeated(UNKNOWN, "generator")
        items.extend(column.items)
    return Items(tuple(items), "generator")


def _extreme(
    is_max: bool, interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    values = arguments.values()
    if len(values) == 1:
        column = interp.iterate(values[0], state)
        if not isinstance(column, Items):
            return opaque()
        values = list(column.items)
    if arguments.keywords or not values:
        return opaque()
    if all(isinstance(v, Literal) and isinstance(v.value, (int, float)) for v in values):
        numbers = [v.value for v in values if isinstance(v, Literal)]
        return Literal(max(numbers) if is_max else min(numbers))
    dims = [as_dim(interp.as_integer(v)) for v in values]
    known = [d for d in dims if d is not None]
    if len(known) != len(dims):
        return opaque()
    if all(equal(known[0], d) for d in known[1:]):
        return _number_of(interp, known[0], values)
    lows, highs = [bounds(d)[0] for d in known], [bounds(d)[1] for d in known]
    if is_max:
        sure = [low for low in lows if low is not None]
        found = symbol("max", max(sure) if sure else None, _all_known(highs, max))
    else:
        sure = [high for high in highs if high is not None]
        found = symbol("min", _all_known(lows, min), min(sure) if sure else None)
    return _number_of(interp, found, values)


_FUNCTIONS["builtins.min"] = partial(_extreme, False)
_FUNCTIONS["builtins.max"] = partial(_extreme, True)


def _all_known(numbers: list[int | None], pick: Callable[[list[int]], int]) -> int | None:
    known = [n for n in numbers if n is not None]
    return pick(known) if len(known) == len(numbers) else None


@_register("builtins.int", "operator.index")
def _int(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    value = _first(arguments)
    match value:
        case Literal(v) if isinstance(v, (int, float, bool)):
            return Literal(int(v)) if not isinstance(v, float) or math.isfinite(v) else SOMETHING
        case Integer():
            return value
        case TensorFacts(values=(only,)):
            return Literal(only)
        case _:
            return Integer(symbol("n", None))


@_register("builtins.bool")
def _bool(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    from kdacheck.source.narrowing import truth

    decided = truth(_first(arguments))
    return SOMETHING if decided is None else Literal(decided)


@_register("builtins.float")
def _float(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    value = _first(arguments)
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(float(value.value))
    return NUMBER


@_register("builtins.abs")
def _abs(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    value = _first(arguments)
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(abs(value.value))
    return SOMETHING


def _math(compute: Callable[..., Any]) -> Handler:
    def handler(
        interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State
    ) -> Value:
        numbers = [v.value for v in arguments.values() if isinstance(v, Literal)]
        if len(numbers) == len(arguments.positional) and all(
            isinstance(n, (int, float)) for n in numbers
        ):
            try:
                return Literal(compute(*numbers))
            except (ArithmeticError, ValueError, TypeError):
                return UNKNOWN
        return Integer(symbol("n", None)) if compute in (math.ceil, math.floor) else NUMBER

    return handler


_FUNCTIONS["math.ceil"] = _math(math.ceil)
_FUNCTIONS["math.floor"] = _math(math.floor)
_FUNCTIONS["math.sqrt"] = _math(math.sqrt)
_FUNCTIONS["triton.cdiv"] = _math(lambda a, b: -(-a // b))


@_register("builtins.isinstance", "builtins.issubclass")
def _isinstance(
    interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State
) -> Value:
    return SOMETHING


@_register("builtins.getattr")
def _getattr(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    values = arguments.values()
    if len(values) >= 2 and isinstance(values[1], Literal) and isinstance(values[1].value, str):
        found = interp.attribute(values[0], values[1].value, node, state)
        return any_of((found, values[2])) if len(values) > 2 else found
    return UNKNOWN


@_register("builtins.setattr")
def _setattr(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    values = arguments.values()
    if len(values) == 3 and isinstance(values[1], Literal) and isinstance(values[1].value, str):
        interp.set_attribute(values[0], values[1].value, values[2], state)
    else:
        interp.let_change(_first(arguments), state)
    return NONE


@_register("builtins.vars")
def _vars(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    interp.let_change(_first(arguments), state)
    return SOMETHING


@_register("functools.partial")
def _partial(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    if not arguments.positional:
        return UNKNOWN
    rest = Arguments(
        arguments.positional[1:],
        dict(arguments.keywords),
        dict(arguments.maybe),
        arguments.open_positional,
        arguments.open_keywords,
    )
    return Code("partial", Partial(_first(arguments), rest))


@_register("pytest.param")
def _param(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    if "marks" in arguments.keywords:
        return Items((), "marked param")
    return Items(tuple(arguments.values()), "param")


@_register("torch.device")
def _device(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    value = _first(arguments)
    if isinstance(value, Literal) and isinstance(value.value, str):
        return Device(value.value.partition(":")[0])
    return value if isinstance(value, Device) else Device(None)


@_register("typing.cast")
def _cast(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    return arguments.positional[1].value if len(arguments.positional) > 1 else UNKNOWN


@_register("copy.copy")
def _copy(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    value = _first(arguments)
    if isinstance(value, Table):
        return Table(dict(value.entries), value.open, dict(value.maybe))
    return value if isinstance(value, (Literal, Integer)) else opaque()


@_register("copy.deepcopy")
def _deepcopy(interp: Interpreter, arguments: Arguments, node: cst.CSTNode, state: State) -> Value:
    return _copied(_first(arguments))


def _copied(value: Value) -> Value:
    match value:
        case Table(entries, opened, maybe):
            first = {k: _copied(v) for k, v in entries.items()}
            return Table(first, opened, {k: _copied(v) for k, v in maybe.items()})
        case TensorFacts():
            return replace(value)  # another tensor that is like it
        case Literal() | Integer():
            return value
        case _:
            return opaque()


def method(
    interp: Interpreter, receiver: Value, name: str, arguments: Arguments, state: State
) -> Value | None:
    """A method of a dict, list, tuple or str, None where it is not one we know."""
    if arguments.open_positional:
        return None
    match receiver:
        case Table():
            return _table_method(interp, receiver, name, arguments, state)
        case Items() | Repeated():
            return _list_method(interp, receiver, name, arguments, state)
        case Literal(str() as text):
            return _text_method(interp, text, name, arguments, state)
        case _:
            return None


def _table_method(
    interp: Interpreter, table: Table, name: str, arguments: Arguments, state: State
) -> Value | None:
    from kdacheck.source.expressions import merge_tables, store

    values = arguments.values()
    key = values[0] if values else UNKNOWN
    default = values[1] if len(values) > 1 else NONE
    known = isinstance(key, Literal) and key.value.__hash__ is not None
    match name:
        case "get" | "pop" | "setdefault":
            held = (*table.entries.values(), *table.maybe.values())
            found: Value = any_of((UNKNOWN, default, *held))
            if isinstance(key, Literal) and known:
                if key.value in table.entries:
                    found = table.entries[key.value]
                elif key.value in table.maybe:
                    found = any_of((table.maybe[key.value], default))
                elif table.open:
                    found = (
                        interp.memo(("get", Same(table), key.value), state)
                        if name == "get"
                        else opaque()
                    )
                else:
                    found = default
            if name == "pop":
                if isinstance(key, Literal) and known:
                    state.rename(
                        table,
                        Table(
                            {k: v for k, v in table.entries.items() if k != key.value},
                            table.open,
                            {k: v for k, v in table.maybe.items() if k != key.value},
                        ),
                    )
                else:
                    state.rename(table, Table({}, True, {**table.maybe, **table.entries}))
            if name == "setdefault":
                state.rename(table, store(table, key, found, state))
            return found
        case "update":
            changed = table
            if values:
                changed = merge_tables(changed, values[0], state)
            named = Table(
                arguments.keyword_values(),
                arguments.open_keywords,
                {k: a.value for k, a in arguments.maybe.items()},
            )
            state.rename(table, merge_tables(changed, named, state))
            return NONE
        case "copy":
            return Table(dict(table.entries), table.open, dict(table.maybe))
        case "keys" | "values" | "items" if not table.open and not table.maybe:
            if name == "keys":
                return Items(tuple(Literal(k) for k in table.entries), "generator")
            if name == "values":
                return Items(tuple(table.entries.values()), "generator")
            pairs = (Items((Literal(k), v)) for k, v in table.entries.items())
            return Items(tuple(pairs), "generator")
        case "keys" | "values" | "items":
            state.loosen((table,))
            return Repeated(UNKNOWN, "list")
        case "clear":
            state.rename(table, Table())
            return NONE
        case _:
            return None


def _list_method(
    interp: Interpreter, value: Items | Repeated, name: str, arguments: Arguments, state: State
) -> Value | None:
    items = value.items if isinstance(value, Items) else None
    more = arguments.values()
    match name:
        case "append" if items is not None and len(more) == 1:
            state.rename(value, Items((*items, more[0]), value.kind))
            return NONE
        case "extend" if items is not None and len(more) == 1:
            spread = interp.iterate(more[0], state)
            changed: Value = Repeated(UNKNOWN, "list")
            if isinstance(spread, Items):
                changed = Items(items + spread.items, value.kind)
            state.rename(value, changed)
            state.loosen(more, shown=changed)
            return NONE
        case "append" | "extend" | "insert" | "remove" | "clear" | "sort" | "reverse":
            state.rename(value, Repeated(UNKNOWN, "list"))
            state.loosen(more)
            return NONE
        case "pop":
            state.rename(value, Repeated(UNKNOWN, "list"))
            return UNKNOWN
        case "numel" if items is not None:
            return _prod_items(items)
        case "copy":
            if isinstance(value, Items):
                return Items(value.items, value.kind)
            return Repeated(value.element, value.kind, value.since)
        case "index" | "count":
            return Integer(symbol("n"))
        case _:
            return None


def _prod_items(items: tuple[Value, ...]) -> Value:
    total: Dim = 1
    for item in items:
        dim = as_dim(item)
        if dim is None:
            return SOMETHING
        total = multiply(total, dim)
    return from_dim(total)


def _text_method(
    interp: Interpreter, text: str, name: str, arguments: Arguments, state: State
) -> Value:
    values = [v.value for v in arguments.values() if isinstance(v, Literal)]
    if len(values) != len(arguments.positional) or arguments.keywords:
        return SOMETHING
    if name in ("lower", "upper", "strip") and not values:
        return Literal(getattr(text, name)())
    if name in ("startswith", "endswith") and len(values) == 1 and isinstance(values[0], str):
        return Literal(getattr(text, name)(values[0]))
    if (
        name == "split"
        and len(text) <= 256
        and (not values or (isinstance(values[0], str) and values[0]))
    ):
        return Items(tuple(map(Literal, text.split(*values[:1]))), "list")
    return SOMETHING


__all__ = ["NAMES", "function", "method"]
