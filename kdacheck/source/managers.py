"""Context managers: whether they catch what is raised under them, and what they hand out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.source.module import Definition, blocks, dotted, small_statements, suite
from kdacheck.source.objects import Instance
from kdacheck.source.values import Code, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter

#: Parts of the names of managers from outside that catch exceptions; all others are taken to let them pass.
_CATCHING = ("suppress", "swallow", "ignor", "catch", "safe", "tolerat", "exitstack", "retry")


def swallows(interp: Interpreter, value: Value, name: str) -> bool:
    """Whether code under a context manager may be left by an exception, and the code behind it still run.

    name: the dotted name of the manager, or of the function that makes it.
    """
    last = name.rpartition(".")[2]
    if isinstance(value, Code) and isinstance(value.target, Instance):
        found = value.target.cls.method("__exit__")
        return found is None or _returns_something(found[1])
    makers = [d for d in interp.module.definitions if d.name == last and not d.is_class]
    if makers:
        return any(map(_catches, makers))
    return _sounds_catching(name)


def enters_itself(value: Value) -> bool:
    """Whether `with value as name` certainly gives the name to the manager itself."""
    if not (isinstance(value, Code) and isinstance(value.target, Instance)):
        return False
    found = value.target.cls.method("__enter__")
    if found is None:
        return False
    node = found[1].node
    assert isinstance(node, cst.FunctionDef)
    returns = [s for s in _statements(node.body) if isinstance(s, cst.Return)]
    receiver = node.params.params[0].name.value if node.params.params else ""
    return bool(returns) and all(
        isinstance(s.value, cst.Name) and s.value.value == receiver for s in returns
    )


def _returns_something(definition: Definition) -> bool:
    """Whether a function may return what counts as true."""
    return any(
        isinstance(statement, cst.Return)
        and statement.value is not None
        and dotted(statement.value) not in ("None", "False")
        for statement in _statements(definition.node.body)
    )


def _catches(definition: Definition) -> bool:
    """Whether what a function makes a context manager of, or gives back as one, may catch."""
    for statement in _statements(definition.node.body):
        match statement:
            case cst.Try(handlers=handlers) | cst.TryStar(handlers=handlers) if handlers:
                return True
            case cst.With(items=items) if any(_sounds_catching(dotted(i.item)) for i in items):
                return True
            case cst.Return(value=value) if value is not None and _sounds_catching(dotted(value)):
                return True
            case _:
                pass
    return False


def _sounds_catching(name: str) -> bool:
    return any(part in name.rpartition(".")[2].lower() for part in _CATCHING)


def _statements(body: cst.CSTNode) -> list[cst.CSTNode]:
    """The statements of a block and of the blocks in it."""
    found: list[cst.CSTNode] = []
    pending = [suite(body)]
    while pending:
        for statement in small_statements(pending.pop()):
            found.append(statement)
            pending.extend(blocks(statement))
    return found
