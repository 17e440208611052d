"""Annotations as text for the reader of contracts, the names in them replaced by what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from kdacheck.facts import Literal
from kdacheck.source import limits
from kdacheck.source.state import State
from kdacheck.source.values import UNKNOWN, Code, External, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: The kind of a `Code` that is an annotation; its target is the text.
ANNOTATION = "annotation"

#: Where the names come from that the reader knows by their last part.
_KNOWN = ("jaxtyping.", "torch.", "typing.", "typing_extensions.", "beartype.typing.", "builtins.")
_FORMS = frozenset(("Annotated", "Optional", "Union"))
_EMPTY = cst.Module([])


def text_of(interp: Interpreter, node: cst.BaseExpression, state: State) -> str | None:
    """An annotation as text, None for what cannot be one."""
    match node:
        case cst.Name() | cst.Attribute():
            return _meaning(interp, node, state)
        case cst.SimpleString() | cst.ConcatenatedString():
            try:
                text = node.evaluated_value
            except (SyntaxError, ValueError):
                return None
            if not isinstance(text, str):
                return None
            try:
                limits.check_nesting(text)
                inner = cst.parse_expression(text.strip())
            except (cst.ParserSyntaxError, limits.ExceededError):
                return text
            return text_of(interp, inner, state)
        case cst.Subscript():
            head = text_of(interp, node.value, state) or ""
            parts = [_part(interp, head, element, state) for element in node.slice]
            return f"{head}[{', '.join(parts)}]"
        case cst.BinaryOperation(operator=cst.BitOr()):
            sides = [text_of(interp, side, state) for side in (node.left, node.right)]
            return " | ".join(side or "?" for side in sides)
        case _:
            return None


def _meaning(interp: Interpreter, node: cst.Name | cst.Attribute, state: State) -> str:
    written = _EMPTY.code_for_node(node)
    if written == "None":
        return written
    value = interp.evaluate(node, state)
    if isinstance(value, External):
        if value.path.startswith(_KNOWN):
            return value.path.rpartition(".")[2]
        value = interp.of_project(value.path) or value
    return value.target if is_annotation(value) else written


def _part(interp: Interpreter, head: str, element: cst.SubscriptElement, state: State) -> str:
    if not isinstance(element.slice, cst.Index):
        return "?"
    node = element.slice.value
    if head.rpartition(".")[2] in ("Literal", "Callable"):
        return _EMPTY.code_for_node(node)
    if not isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        text = text_of(interp, node, state)
        named = interp.evaluate(node, state)
        if isinstance(named, Literal) and isinstance(named.value, str):
            return repr(named.value)
        return text if text is not None else _EMPTY.code_for_node(node)
    # the axes of a tensor, or a type written ahead of its definition
    if head.rpartition(".")[2] in _FORMS:
        return text_of(interp, node, state) or "?"
    return _EMPTY.code_for_node(node)


def alias(interp: Interpreter, value: Value, node: cst.Subscript, state: State) -> Value | None:
    """`Float[Tensor, "B T"]` or `Optional[...]` of one, for whoever gives it a name; None for other subscripts."""
    if not isinstance(value, External):
        return None
    form, name = value.path.rpartition(".")[::2]
    typing = form in ("typing", "typing_extensions", "beartype.typing") and name in _FORMS
    if form != "jaxtyping" and not typing:
        return None
    text = text_of(interp, node, state)
    return Code(ANNOTATION, text) if text is not None else None


def union(interp: Interpreter, node: cst.BinaryOperation, state: State) -> Value:
    """`A | B` where one of the two is an annotation."""
    text = text_of(interp, node, state)
    return Code(ANNOTATION, text) if text is not None else UNKNOWN


def is_annotation(value: Value) -> TypeGuard[Code]:
    return isinstance(value, Code) and value.kind == ANNOTATION
