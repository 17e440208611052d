"""What a condition proves about the paths behind it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck import contracts
from kdacheck.facts import Dim, Integer, Literal, Poly, Symbol, Unknown
from kdacheck.facts.dims import add, at_least, bounds, multiply, of_symbol, possible_values
from kdacheck.source import guards
from kdacheck.source.integers import as_dim, from_dim
from kdacheck.source.module import dotted
from kdacheck.source.objects import Instance, is_none
from kdacheck.source.state import State, alternatives, any_of, join
from kdacheck.source.values import AnyOf, Code, DType, External, Items, ShapeOf, Table, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_OPERATORS = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is not",
    cst.In: "in",
    cst.NotIn: "not in",
}


def operator_of(node: cst.BaseCompOp) -> str:
    return _OPERATORS.get(type(node), "?")


def is_code_path(path: str) -> bool:
    """Whether an import path certainly leads to a module, a function or a class: anything else may be None."""
    if path.startswith(_SETTINGS):
        return False
    return "." not in path or path in contracts.paths() or path.startswith(("torch.", "builtins."))


#: What torch was built with and is told to do: `torch.version.hip` is None, or a text.
_SETTINGS = (
    *("torch.version.", "torch.backends.", "torch.distributed.group.", "torch._dynamo.config."),
    *("torch._inductor.config.", "torch.distributed.GroupMember."),
)


def truth(value: Value) -> bool | None:
    """Whether a value is true as a condition; None where that depends."""
    match value:
        case Literal(v):
            return (
                bool(v)
                if isinstance(v, (bool, int, float, str, bytes, tuple, type(None), type(...)))
                else None
            )
        case Integer(dim):
            low, high = bounds(dim)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return True
            return None
        case Items(items):
            return bool(items)
        case Table(entries, opened, maybe):
            return True if entries else None if opened or maybe else False
        case Code(kind="instance", target=Instance() as target):
            return None if target.may_be_false else True
        case Code():
            return True
        case External(path):
            return True if is_code_path(path) else None
        case AnyOf(values):
            answers = {truth(v) for v in values}
            return answers.pop() if len(answers) == 1 else None
        case _:
            return None


def place_of(interpreter: Interpreter, node: cst.CSTNode, state: State) -> Hashable | None:
    """The key under which the state holds what an expression names, where narrowing it makes sense."""
    match node:
        case cst.Name(value):
            return value
        case cst.NamedExpr(target=cst.Name(value)):
            return value
        case cst.Attribute(value, attr):
            base = interpreter.evaluate(value, state)
            if isinstance(base, Code) and base.kind == "instance":
                return (base.target.uid, attr.value)
            if isinstance(base, Unknown) and base.handle:
                return (base.handle, attr.value)
            return None
        case _:
            return None


def split(
    interpreter: Interpreter, node: cst.BaseExpression, state: State
) -> tuple[State | None, State | None]:
    """The states in which a condition holds and in which it fails; None for a path that cannot be."""
    match node:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            yes, no = split(interpreter, inner, state)
            return no, yes
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            yes, no = split(interpreter, left, state)
            part(yes, no)
            if isinstance(operator, cst.And):
                if yes is None:
                    return None, no
                yes2, no2 = split(interpreter, right, yes)
                return yes2, join(no, no2)
            if no is None:
                return yes, None
            yes2, no2 = split(interpreter, right, no)
            return join(yes, yes2), no2
        case cst.Comparison(left=left, comparisons=comparisons):
            return _split_comparison(interpreter, left, comparisons, state)
        case cst.Call(func=func, args=[arg, kind]) if dotted(func) in _TESTING_TYPES:
            found = split_type(interpreter, arg.value, kind.value, state)
            if found is not None:
                return found
            if dotted(func) != "isinstance":
                return _split_truth(interpreter, node, state)
            args = (arg, kind)
            interpreter.evaluate(node, state)
            yes, no = state.copy(), state.copy()
            key = place_of(interpreter, args[0].value, state)
            if key is not None and _excludes_none(interpreter, args[1].value, state):
                value = interpreter.read_place(key, args[0].value, yes)
                kept = [v for v in alternatives(value) if not is_none(v)]
                if not kept:
                    return None, no
                interpreter.write_place(key, _sure(any_of(kept), yes), yes)
            return yes, no
        case cst.Call(func=cst.Attribute(owner, cst.Name("is_contiguous")), args=[]):
            key = place_of(interpreter, owner, state)
            value = interpreter.evaluate(owner, state)
            found = guards.split_layout(interpreter, key, value, state) if key else None
            return found or _split_truth(interpreter, node, state)
        case cst.Call(func=cst.Name("bool"), args=[arg]):
            return split(interpreter, arg.value, state)
        case cst.Call(func=cst.Name("all"), args=[arg]) if _generator(arg.value):
            return _split_quantified(interpreter, arg.value, state, every=True)
        case cst.Call(func=cst.Name("any"), args=[arg]) if _generator(arg.value):
            return _split_quantified(interpreter, arg.value, state, every=False)
        case _:
            return _split_truth(interpreter, node, state)


#: `is_bearable` is beartype's `isinstance`.
_TESTING_TYPES = frozenset(
    ("isinstance", "is_bearable", "door.is_bearable", "beartype.door.is_bearable")
)


def split_type(
    interpreter: Interpreter, node: cst.BaseExpression, kind: cst.BaseExpression, state: State
) -> tuple[State | None, State | None] | None:
    """The states in which a tensor is of a jaxtyping type, and in which it is not; None for other types."""
    key = place_of(interpreter, node, state)
    if key is None:
        return None
    value = interpreter.evaluate(node, state)
    return guards.split_type(interpreter, key, value, kind, state)


def part(yes: State | None, no: State | None) -> None:
    """Two ways that may both be taken: neither of them is sure to be taken at once."""
    if yes is not None and no is not None:
        yes.certain = no.certain = False


def _excludes_none(interpreter: Interpreter, node: cst.BaseExpression, state: State) -> bool:
    """Whether None is certainly no instance of a class or of one of several."""
    kinds = interpreter.evaluate(node, state)
    return all(
        (isinstance(kind, Code) and kind.kind == "class")
        or (
            isinstance(kind, External)
            and kind.path.rpartition(".")[2] not in ("object", "NoneType", "Any", "Hashable")
        )
        for kind in (kinds.items if isinstance(kinds, Items) else (kinds,))
    )


def _generator(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.GeneratorExp, cst.ListComp)) and node.for_in.inner_for_in is None


def _split_quantified(
    interpreter: Interpreter, node: cst.BaseExpression, state: State, *, every: bool
) -> tuple[State | None, State | None]:
    """`all(t.shape[0] == 1 for t in (q, k))`: the condition holds for each of a known tuple."""
    assert isinstance(node, (cst.GeneratorExp, cst.ListComp))
    iterable = interpreter.evaluate(node.for_in.iter, state)
    if not isinstance(iterable, Items) or node.for_in.ifs or len(iterable.items) > 16:
        return state.copy(), state.copy()
    agreed: State | None = state.copy()
    for item in iterable.items:
        if agreed is None:
            break
        inner = agreed.copy()
        interpreter.assign(node.for_in.target, item, inner)
        yes, no = split(interpreter, node.elt, inner)
        following = yes if every else no
        if following is None:
            agreed = None
        else:
            following.names = dict(agreed.names)
            agreed = following
    return (agreed, state.copy()) if every else (state.copy(), agreed)


def _split_truth(
    interpreter: Interpreter, node: cst.BaseExpression, state: State
) -> tuple[State | None, State | None]:
    value = interpreter.evaluate(node, state)
    answer = truth(state.resolve(value))
    if answer is not None:
        return (state, None) if answer else (None, state)
    yes, no = state.copy(), state.copy()
    key = place_of(interpreter, node, state)
    if isinstance(value, Integer):
        return _refine(yes, value.dim, "!=", 0), _refine(no, value.dim, "==", 0)
    if key is not None:
        kept = [v for v in alternatives(value) if truth(v) is not False]
        left = [v for v in alternatives(value) if truth(v) is not True]
        if kept:
            interpreter.write_place(key, _sure(any_of(kept), yes), yes)
        if left:
            interpreter.write_place(key, any_of(left), no)
    return yes, no


def _sure(value: Value, state: State) -> Value:
    if isinstance(value, Unknown) and not value.not_none:
        if value.handle:
            state.sure |= {value.handle}
        return Unknown(True, value.handle)
    return value


def _split_comparison(
    interpreter: Interpreter,
    left: cst.BaseExpression,
    comparisons: object,
    state: State,
) -> tuple[State | None, State | None]:
    assert isinstance(comparisons, (list, tuple))
    yes: State | None = state
    no: State | None = None
    for comparison in comparisons:
        if yes is None:
            break
        right = comparison.comparator
        holds, fails = _split_one(interpreter, left, operator_of(comparison.operator), right, yes)
        no = join(no, fails)
        yes, left = holds, right
    return yes, no


def _split_one(
    interpreter: Interpreter,
    left: cst.BaseExpression,
    operator: str,
    right: cst.BaseExpression,
    state: State,
) -> tuple[State | None, State | None]:
    a = state.resolve(interpreter.evaluate(left, state))
    b = state.resolve(interpreter.evaluate(right, state))
    if operator in ("is", "is not", "==", "!=") and (is_none(b) or is_none(a)):
        node, value = (left, a) if is_none(b) else (right, b)
        yes, no = _split_none(interpreter, node, value, state)
        return (yes, no) if operator in ("is", "==") else (no, yes)
    if operator in ("==", "is", "in", "!=", "is not", "not in"):
        found = _split_dtype(interpreter, left, right, a, b, state)
        if found is not None:
            return found if operator in ("==", "is", "in") else (found[1], found[0])
    if operator in ("in", "not in"):
        interpreter.iterate(b, state)
    if operator in ("in", "not in") and isinstance(b, (Items, Table)):
        yes, no = _split_in(interpreter, left, a, b, state)
        return (yes, no) if operator == "in" else (no, yes)
    x, y = as_dim(a), as_dim(b)
    ranked = _split_rank(interpreter, left, operator, right, state)
    if ranked is not None and not (isinstance(x, int) and isinstance(y, int)):
        return ranked
    if operator in _NEGATED and x is not None and y is not None:
        return _refine(state.copy(), x, operator, y), _refine(
            state.copy(), x, _NEGATED[operator], y
        )
    for one, other in ((a, b), (b, a)) if operator in ("==", "!=") else ():
        if isinstance(one, ShapeOf) and isinstance(other, Items) and other.kind == "tuple":
            yes = _of_shape(interpreter, one.handle, other.items, state.copy())
            return (yes, state.copy()) if operator == "==" else (state.copy(), yes)
    if operator in ("==", "!=") and isinstance(a, Items) and isinstance(b, Items):
        yes = _all_equal(state.copy(), a.items, b.items)
        return (yes, state.copy()) if operator == "==" else (state.copy(), yes)
    if (
        isinstance(a, Literal)
        and isinstance(b, Literal)
        and operator in ("==", "!=", "is", "is not")
    ):
        same = a == b if operator in ("is", "is not") else a.value == b.value
        holds = same if operator in ("==", "is") else not same
        return (state, None) if holds else (None, state)
    if isinstance(a, AnyOf) and isinstance(b, Literal) and operator in ("==", "!="):
        key = place_of(interpreter, left, state)
        if key is not None and all(isinstance(v, Literal) for v in a.values):
            same_values = [v for v in a.values if isinstance(v, Literal) and v.value == b.value]
            others = [v for v in a.values if isinstance(v, Literal) and v.value != b.value]
            yes, no = state.copy(), state.copy()
            yes_or_none = yes if same_values else None
            no_or_none = no if others else None
            if same_values:
                interpreter.write_place(key, any_of(same_values), yes)
            if others:
                interpreter.write_place(key, any_of(others), no)
            return (yes_or_none, no_or_none) if operator == "==" else (no_or_none, yes_or_none)
    return state.copy(), state.copy()


def _all_equal(
    state: State | None, left: tuple[Value, ...], right: tuple[Value, ...]
) -> State | None:
    """The state in which two sequences are equal, None where they cannot be."""
    if len(left) != len(right):
        return None
    for one, two in zip(left, right, strict=True):
        p, q = as_dim(one), as_dim(two)
        if state is not None and p is not None and q is not None:
            state = _refine(state, p, "==", q)
    return state


def _of_shape(
    interpreter: Interpreter, handle: int, sizes: tuple[Value, ...], state: State
) -> State | None:
    """The state in which an object of unknown rank has this shape, None where it cannot have it."""
    count = len(sizes)
    if state.ranks.setdefault(handle, count) != count:
        return None
    own = tuple(from_dim(interpreter.size(handle, axis, count)) for axis in range(count))
    return _all_equal(state, own, sizes)


def _split_dtype(
    interpreter: Interpreter,
    left: cst.BaseExpression,
    right: cst.BaseExpression,
    a: Value,
    b: Value,
    state: State,
) -> tuple[State | None, State | None] | None:
    """`x.dtype == torch.float32`, from either side; None for what compares no dtype of a tensor with known ones."""
    for node, kinds in ((left, b), (right, a)):
        if not isinstance(node, cst.Attribute) or node.attr.value != "dtype":
            continue
        key = place_of(interpreter, node.value, state)
        if key is not None and isinstance(kinds, (DType, Items)):
            value = interpreter.evaluate(node.value, state)
            return guards.split_dtype(interpreter, key, value, kinds, state)
    return None


def _split_none(
    interpreter: Interpreter, node: cst.BaseExpression, value: Value, state: State
) -> tuple[State | None, State | None]:
    nones = [v for v in alternatives(value) if is_none(v)]
    maybe = [
        v
        for v in alternatives(value)
        if (isinstance(v, Unknown) and not v.not_none)
        or (isinstance(v, External) and not is_code_path(v.path))
    ]
    others = [v for v in alternatives(value) if not is_none(v)]
    if not nones and not maybe:
        return None, state
    if not others:
        return state, None
    yes, no = state.copy(), state.copy()
    key = place_of(interpreter, node, state)
    if key is not None:
        interpreter.write_place(key, Literal(None), yes)
        interpreter.write_place(key, any_of(_sure(v, no) for v in others), no)
    return yes, no


def _split_in(
    interpreter: Interpreter,
    node: cst.BaseExpression,
    value: Value,
    container: Items | Table,
    state: State,
) -> tuple[State | None, State | None]:
    if isinstance(container, Table):
        if isinstance(value, Literal):
            if value.value in container.entries:
                return state, None
            if not container.open and value.value not in container.maybe:
                return None, state
        return state.copy(), state.copy()
    dim = as_dim(value)
    members = [as_dim(item) for item in container.items]
    if dim is not None and all(isinstance(m, int) for m in members):
        choices = frozenset(m for m in members if isinstance(m, int))
        yes: State | None = state.copy()
        if isinstance(dim, int):
            return (state, None) if dim in choices else (None, state)
        sym = _only_symbol(dim)
        if sym is not None:
            known = possible_values(dim)
            kept = choices if known is None else choices & known
            if not kept:
                return None, state
            assert yes is not None
            value_now: Dim = (
                next(iter(kept)) if len(kept) == 1 else of_symbol(replace(sym, choices=kept))
            )
            yes.refined[sym] = value_now
        return yes, state.copy()
    return state.copy(), state.copy()


def _split_rank(
    interpreter: Interpreter,
    left: cst.BaseExpression,
    operator: str,
    right: cst.BaseExpression,
    state: State,
) -> tuple[State | None, State | None] | None:
    """`x.ndim == 4`, `len(x.shape) == 4`: the rank of an object of unknown rank."""
    if operator not in ("==", "!="):
        return None
    for node, other in ((left, right), (right, left)):
        handle = interpreter.rank_handle(node, state)
        rank = interpreter.evaluate(other, state)
        if handle and isinstance(rank, Literal) and type(rank.value) is int:
            yes, no = state.copy(), state.copy()
            yes.ranks[handle] = rank.value
            return (yes, no) if operator == "==" else (no, yes)
    return None


def _only_symbol(dim: Dim) -> Symbol | None:
    if isinstance(dim, Poly) and len(dim.terms) == 1:
        mono, coef = dim.terms[0]
        if coef == 1 and len(mono) == 1:
            return mono[0]
    return None


def _refine(state: State, x: Dim, operator: str, y: Dim) -> State | None:
    """The state with `x operator y` put in, None where that is impossible."""
    gap = state.resolve_dim(add(x, multiply(y, -1)))
    low, high = bounds(gap)
    values = possible_values(gap)
    if not _possible(operator, low, high, values):
        return None
    for one, op, other in ((x, operator, y), (y, _mirror(operator), x)):
        one, other = state.resolve_dim(one), state.resolve_dim(other)
        if isinstance(one, int) or not isinstance(other, int):
            continue
        sym, offset = _shifted(one)
        if sym is not None:
            _refine_symbol(state, sym, op, other - offset)
        elif op == "==" and isinstance(one, Poly) and len(one.terms) == 1 and other == 1:
            factors, times = one.terms[0]
            if times == 1 and all(at_least(of_symbol(factor), 0) for factor in factors):
                for factor in factors:  # a product of naturals is 1 only if all are
                    _refine_symbol(state, factor, "==", 1)
    if operator == "==" and isinstance(x, Poly) and isinstance(y, Poly):
        a, b = _only_symbol(state.resolve_dim(x)), state.resolve_dim(y)
        if a is not None and isinstance(b, Poly) and a not in {s for m, _ in b.terms for s in m}:
            state.refined[a] = b
    return state


def _mirror(operator: str) -> str:
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)


def _possible(
    operator: str, low: int | None, high: int | None, values: frozenset[int] | None
) -> bool:
    if values is not None:
        tests = {
            "==": lambda v: v == 0,
            "!=": lambda v: v != 0,
            "<": lambda v: v < 0,
            "<=": lambda v: v <= 0,
            ">": lambda v: v > 0,
            ">=": lambda v: v >= 0,
        }
        return any(tests[operator](v) for v in values)
    match operator:
        case "==":
            return (low is None or low <= 0) and (high is None or high >= 0)
        case "<":
            return low is None or low < 0
        case "<=":
            return low is None or low <= 0
        case ">":
            return high is None or high > 0
        case ">=":
            return high is None or high >= 0
        case _:
            return not (low == high == 0)


def _shifted(dim: Poly) -> tuple[Symbol | None, int]:
    """`symbol + constant` taken apart."""
    sym, offset = None, 0
    for mono, coef in dim.terms:
        if not mono:
            offset = coef
        elif len(mono) == 1 and coef == 1 and sym is None:
            sym = mono[0]
        else:
            return None, 0
    return sym, offset


def _refine_symbol(state: State, sym: Symbol, operator: str, limit: int) -> None:
    if sym.choices is not None:
        tests = {
            "==": lambda v: v == limit,
            "!=": lambda v: v != limit,
            "<": lambda v: v < limit,
            "<=": lambda v: v <= limit,
            ">": lambda v: v > limit,
            ">=": lambda v: v >= limit,
        }
        kept = frozenset(v for v in sym.choices if tests[operator](v))
        if kept:
            state.refined[sym] = (
                next(iter(kept)) if len(kept) == 1 else of_symbol(replace(sym, choices=kept))
            )
        return
    low, high = sym.low, sym.high
    match operator:
        case "==":
            state.refined[sym] = limit
            return
        case "<":
            high = limit - 1 if high is None else min(high, limit - 1)
        case "<=":
            high = limit if high is None else min(high, limit)
        case ">":
            low = limit + 1 if low is None else max(low, limit + 1)
        case ">=":
            low = limit if low is None else max(low, limit)
        case _:
            if low == limit:
                low = limit + 1
            elif high == limit:
                high = limit - 1
    if low is not None and low == high:
        state.refined[sym] = low
    else:
        state.refined[sym] = of_symbol(replace(sym, low=low, high=high))


__all__ = ["operator_of", "place_of", "split", "truth"]
