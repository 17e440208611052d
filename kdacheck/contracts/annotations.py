"""Read jaxtyping annotations from their text, without importing jaxtyping or torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kdacheck.facts.dims import Dim, add, floor_divide, multiply

_FLOATS = frozenset(
    (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    )
)
_INTS = frozenset(("int8", "int16", "int32", "int64"))
_UINTS = frozenset(("uint8", "uint16", "uint32", "uint64"))
_COMPLEX = frozenset(("complex64", "complex128"))

#: jaxtyping's names of dtype families; None admits every dtype.
DTYPES: Mapping[str, frozenset[str] | None] = {
    "Shaped": None,
    "Float": _FLOATS,
    "Int": _INTS,
    "UInt": _UINTS,
    "Integer": _INTS | _UINTS,
    "Complex": _COMPLEX,
    "Inexact": _FLOATS | _COMPLEX,
    "Real": _FLOATS | _INTS | _UINTS,
    "Num": _FLOATS | _INTS | _UINTS | _COMPLEX,
    "Bool": frozenset(("bool",)),
    "Float16": frozenset(("float16",)),
    "BFloat16": frozenset(("bfloat16",)),
    "Float32": frozenset(("float32",)),
    "Float64": frozenset(("float64",)),
    "Int8": frozenset(("int8",)),
    "Int16": frozenset(("int16",)),
    "Int32": frozenset(("int32",)),
    "Int64": frozenset(("int64",)),
    "UInt8": frozenset(("uint8",)),
}


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of one tensor annotation, as written; `variadic` is the index of `...`/`*name`, or None."""

    names: tuple[str, ...]
    variadic: int | None = None

    @property
    def rank(self) -> int | None:
        return None if self.variadic is not None else len(self.names)

    def __str__(self) -> str:
        return "[" + ", ".join(self.names) + "]"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One alternative of an annotation: a tensor of some dtypes and axes (None: unsaid)."""

    dtypes: frozenset[str] | None
    axes: Axes | None


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a parameter may be. `known` is False for annotations that say nothing about tensors."""

    tensors: tuple[TensorSpec, ...] = ()
    optional: bool = False
    others: tuple[str, ...] = ()

    @property
    def dtypes(self) -> frozenset[str] | None:
        """The dtypes that some alternative admits, None where every dtype is."""
        result: frozenset[str] = frozenset()
        for spec in self.tensors:
            if spec.dtypes is None:
                return None
            result |= spec.dtypes
        return result if self.tensors else None

    @property
    def ranks(self) -> frozenset[int] | None:
        """The ranks that some alternative admits, None where any is."""
        ranks = {spec.axes.rank if spec.axes else None for spec in self.tensors}
        return None if None in ranks or not ranks else frozenset(r for r in ranks if r is not None)


_AXIS = re.compile(r"([#*_?]*)(?:\w+=)?(.*)")


def parse_axes(text: str) -> Axes:
    """`"B T HV*K"` or `"... H K"` as axes; those that may be broadcast or are not checked as `_` or `...`."""
    names, variadic = [], None
    for index, name in enumerate(text.split()):
        found = _AXIS.fullmatch(name)
        modifiers, rest = found.groups() if found is not None else ("", name)
        if name == "..." or "*" in modifiers:
            variadic = index
            names.append(f"*{rest}" if modifiers == "*" else "...")
        else:
            names.append("_" if modifiers else rest)
    return Axes(tuple(names), variadic)


@lru_cache(maxsize=4096)
def parse(text: str) -> Annotation:
    """An annotation from its source text; what is not understood becomes an entry of `others`."""
    try:
        return _parse_node(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError):
        return Annotation(others=(text,))


def _join(parts: list[Annotation]) -> Annotation:
    return Annotation(
        tensors=tuple(spec for part in parts for spec in part.tensors),
        optional=any(part.optional for part in parts),
        others=tuple(name for part in parts for name in part.others),
    )


def _last_name(node: ast.expr) -> str:
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def _foreign(array: ast.expr) -> Iterator[str]:
    """The array types of other libraries that an annotation names."""
    for node in ast.walk(array):
        if isinstance(node, (ast.Name, ast.Attribute)) and _last_name(node) in ("Array", "ndarray"):
            yield _last_name(node)


def _parse_node(node: ast.expr) -> Annotation:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Annotation(optional=True)
        if isinstance(node.value, str):
            return parse(node.value)
        return Annotation(others=(repr(node.value),))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _join([_parse_node(node.left), _parse_node(node.right)])
    if isinstance(node, ast.Subscript):
        head = _last_name(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Optional":
            return _join([_parse_node(items[0]), Annotation(optional=True)])
        if head == "Union":
            return _join([_parse_node(item) for item in items])
        if head == "Annotated":
            return _parse_node(items[0])
        if head in DTYPES and len(items) == 2:
            array, shape = items
            if isinstance(shape, ast.Constant) and isinstance(shape.value, str):
                spec = TensorSpec(DTYPES[head], parse_axes(shape.value))
                foreign = tuple(ast.unparse(node) for _ in _foreign(array))
                only = isinstance(array, (ast.Name, ast.Attribute))
                return Annotation(() if foreign and only else (spec,), others=foreign[:1])
        return Annotation(others=(ast.unparse(node),))
    if _last_name(node) in ("Tensor", "Parameter", "LongTensor", "FloatTensor", "IntTensor"):
        return Annotation(tensors=(TensorSpec(None, None),))
    return Annotation(others=(ast.unparse(node),))


@lru_cache(maxsize=4096)
def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip("{}"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError):
        return None


def evaluate(text: str, bound: Mapping[str, Dim]) -> Dim | None:
    """The size an axis expression (`"HV*K"`, `"N+1"`, `"1"`) stands for, None where a name is not bound."""
    node = _expression(text)
    return None if node is None else _evaluate(node, bound)


def _evaluate(node: ast.expr, bound: Mapping[str, Dim]) -> Dim | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, bound), _evaluate(node.right, bound)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return multiply(left, right)
        if isinstance(node.op, ast.Add):
            return add(left, right)
        if isinstance(node.op, ast.Sub):
            return add(left, multiply(right, -1))
        if isinstance(node.op, ast.FloorDiv):
            return floor_divide(left, right)
    return None
