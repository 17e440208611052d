"""What to write instead of a broken call: edits of the source, where the code around it tells what is meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal

import libcst as cst

from kdacheck.contracts.clauses import Boundaries, Packed
from kdacheck.facts import TensorFacts, equal
from kdacheck.finding import Edit, Fix, Position
from kdacheck.source.judge import Found, Scene
from kdacheck.source.module import Definition, Module
from kdacheck.source.origins import Made
from kdacheck.source.state import alternatives
from kdacheck.source.values import External, Unknown, Value

_EMPTY = cst.Module([])
_NEWLINE = re.compile(r"\r\n?|\n")

#: Roles of tensors that kernels write, and names of those whose role does not tell.
_WRITTEN_ROLES = frozenset(("state", "ring", "cursor"))
_WRITTEN = frozenset(("out", "output", "o"))

_EXPANDING = frozenset(("expand", "expand_as", "broadcast_to"))
_INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8"))
#: By how much a keyword is more like one parameter than like any other.
_CLEARLY = 0.1
_CASTS = {"int32": "int", "int64": "long"}


class NoFixError(Exception):
    """There is no edit that is certain to be meant."""


def propose(item: Found, scenes: Sequence[Scene], others: Sequence[Found]) -> Fix | None:
    """The fix of a violation, None where there is none.

    scenes: every judgement of the calls of the file. others: everything found.
    """
    make = _PROPOSALS.get(item.rule.code)
    if make is None or item.chain or item.scene is None or item.violation.likely:
        return None
    try:
        return make(_Case(item, item.scene, scenes, others))
    except NoFixError:
        return None


class _Source:
    """The text of a file by the nodes of its tree."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.text = module.text
        self.starts = [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where an expression begins and ends, its parentheses included."""
        (row, column), (end_row, end_column) = self.module.position(node)
        start = self.starts[row - 1] + column - 1
        end = self.starts[end_row - 1] + end_column - 1
        for paren in getattr(node, "lpar", ()):
            start -= len(_EMPTY.code_for_node(paren))
        for paren in getattr(node, "rpar", ()):
            end += len(_EMPTY.code_for_node(paren))
        if start < 0 or self.text[start:end] != _EMPTY.code_for_node(node):
            raise NoFixError
        return start, end

    def position(self, offset: int) -> Position:
        row = _last_at_most(self.starts, offset)
        return Position(row + 1, offset - self.starts[row] + 1)

    def edit(self, start: int, end: int, content: str) -> Edit:
        return Edit(content, self.position(start), self.position(end))

    def line_start(self, offset: int) -> int:
        return self.starts[_last_at_most(self.starts, offset)]

    def line_end(self, offset: int) -> int:
        """Where the line of a place ends, its line break left out."""
        found = _NEWLINE.search(self.text, offset)
        return found.start() if found is not None else len(self.text)


@lru_cache(maxsize=1)
def _source_of(module: Module) -> _Source:
    """The text of a file: made once for all its findings."""
    return _Source(module)


def _last_at_most(starts: Sequence[int], offset: int) -> int:
    from bisect import bisect_right

    return bisect_right(starts, offset) - 1


class _Case:
    """One violation with what a proposal asks about it."""

    def __init__(
        self, item: Found, scene: Scene, scenes: Sequence[Scene], others: Sequence[Found]
    ) -> None:
        if not isinstance(item.call, cst.Call) or scene.node is not item.call:
            raise NoFixError
        self.item = item
        self.scene = scene
        self.others = others
        self.call = item.call
        self.judgements = [other for other in scenes if other.node is item.call]
        self.scenes = scenes

    @cached_property
    def source(self) -> _Source:
        return _source_of(self.item.module)

    @property
    def parameter(self) -> str:
        if self.item.violation.parameter is None:
            raise NoFixError
        return self.item.violation.parameter

    def argument(self, name: str) -> cst.BaseExpression:
        """The expression that the call itself writes for a parameter."""
        passed = self.scene.given.get(name)
        for arg in self.call.args:
            if passed is not None and arg.value is passed.node and not arg.star:
                return arg.value
        raise NoFixError

    def facts(self, name: str) -> TensorFacts:
        found = self.scene.calls[0].tensor(name)
        if found is None:
            raise NoFixError
        return found

    def made(self, aspect: str) -> Made | None:
        """Where the argument at fault got an aspect, in this file."""
        found = self.facts(self.parameter).origins.get(aspect)
        if not isinstance(found, Made) or found.module is not self.item.module:
            return None
        return found

    def is_always_tensor(self, name: str) -> bool:
        """Whether no execution passes anything but a tensor, so that a method can be called on it."""
        return all(
            call.tensor(name) is not None for scene in self.judgements for call in scene.calls
        )

    def is_only_read(self, name: str) -> bool:
        return name not in _WRITTEN and all(
            name in scene.contract.roles and scene.contract.roles[name] not in _WRITTEN_ROLES
            for scene in self.judgements
        )

    @property
    def is_direct(self) -> bool:
        """Whether the call passes its arguments to the callee itself, and not to something that calls it."""
        if len({scene.path for scene in self.judgements}) != 1:
            return False
        nodes = [arg.value for arg in self.call.args if arg.keyword is None and not arg.star]
        names = [parameter.name for parameter in self.scene.contract.positional]
        return all(
            (passed := self.scene.given.get(name)) is not None and passed.node is node
            for name, node in zip(names, nodes, strict=False)
        )

    @property
    def torch(self) -> str | None:
        return "torch" if self.item.names.get("torch") == External("torch") else None

    def method(self, node: cst.BaseExpression, call: str) -> list[Edit]:
        """Edits that call a method on an expression."""
        start, end = self.source.span(node)
        if _is_primary(node):
            return [self.source.edit(end, end, f".{call}")]
        return [
            self.source.edit(start, start, "("),
            self.source.edit(end, end, f").{call}"),
        ]

    def written(self, node: cst.CSTNode) -> str:
        start, end = self.source.span(node)
        return self.source.text[start:end]


def _is_primary(node: cst.BaseExpression) -> bool:
    """Whether a method can be called on an expression as it is written."""
    if getattr(node, "lpar", ()):
        return True
    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))


def _is_plain(node: cst.BaseExpression) -> bool:
    """Whether an expression may be written twice: a name, or an attribute of one."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)


def _fix(applicability: Literal["safe", "unsafe"], message: str, edits: Iterable[Edit]) -> Fix:
    return Fix(applicability, message, tuple(edits))


def _dense_copy(case: _Case) -> Fix:
    name = case.parameter
    if case.item.violation.aspect != "layout" or not case.is_only_read(name):
        raise NoFixError
    made = case.made("layout")
    if made is not None and made.what in _EXPANDING and _has_wrong_rank(case):
        return _without_expand(case, made)
    if not case.is_always_tensor(name):
        raise NoFixError
    edits = case.method(case.argument(name), "contiguous()")
    return _fix("safe", f"Pass a dense copy of `{name}`", edits)


def _has_wrong_rank(case: _Case) -> bool:
    """Whether the expand that lost the layout gave a rank that is wrong as well: a copy of it would be no help."""
    return any(
        other.call is case.call
        and other.rule.code == "KDA102"
        and other.violation.parameter == case.parameter
        for other in case.others
    )


def _without_expand(case: _Case, made: Made) -> Fix:
    node = made.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        raise NoFixError
    _, kept = case.source.span(node.func.value)
    _, end = case.source.span(node)
    if getattr(node, "lpar", ()):
        raise NoFixError
    return _fix("unsafe", f"Drop `{made.what}`", [case.source.edit(kept, end, "")])


def _rank(case: _Case) -> Fix:
    name, facts = case.parameter, case.facts(case.parameter)
    if case.item.violation.aspect != "shape" or facts.rank is None:
        raise NoFixError
    made = case.made("shape")
    if made is not None and made.what in _EXPANDING:
        return _without_expand(case, made)
    if not case.is_only_read(name) or not case.is_always_tensor(name):
        raise NoFixError
    call = case.scene.calls[0]
    ranks = call.annotation(name).ranks or frozenset()
    if facts.rank >= 2 and 1 in ranks:
        edits = case.method(case.argument(name), "reshape(-1)")
        return _fix("unsafe", f"Flatten `{name}`", edits)
    if facts.rank == 1 and 2 in ranks:
        heads = _heads(case, name)
        form = "view" if facts.dense else "reshape"
        edits = case.method(case.argument(name), f"{form}({heads}, -1)")
        return _fix("unsafe", f"Give `{name}` an axis of heads", edits)
    raise NoFixError


def _heads(case: _Case, name: str) -> str:
    """The number of heads as it can be written at the call."""
    call = case.scene.calls[0]
    spec = next(s for s in call.annotation(name).tensors if s.axes and s.axes.rank == 2)
    assert spec.axes is not None
    axis = spec.axes.names[0]
    size = call.unified.size(axis)
    if isinstance(size, int):
        return str(size)
    for other, facts in call.tensors():
        specs = call.annotation(other).tensors
        if len(specs) != 1 or specs[0].axes is None or specs[0].axes.rank != facts.rank:
            continue
        try:
            node = case.argument(other)
        except NoFixError:
            continue
        if axis in specs[0].axes.names and _is_plain(node):
            return f"{case.written(node)}.shape[{specs[0].axes.names.index(axis)}]"
    raise NoFixError


def _dtype(case: _Case) -> Fix:
    name = case.parameter
    facts = case.facts(name)
    allowed = case.scene.calls[0].annotation(name).dtypes or frozenset()
    wanted = sorted(allowed & frozenset(_CASTS))
    if len(wanted) != 1 or not facts.dtypes or not facts.dtypes <= _INTEGERS:
        raise NoFixError
    (dtype,) = wanted
    node = case.argument(name)
    if case.torch:
        edit = _told_dtype(case, node, f"{case.torch}.{dtype}")
        if edit is not None:
            return _fix("safe", f"Let `cumsum` give {dtype}", [edit])
    if not case.is_always_tensor(name):
        raise NoFixError
    how = f"to({case.torch}.{dtype})" if case.torch else f"{_CASTS[dtype]}()"
    return _fix("safe", f"Pass `{name}` as {dtype}", case.method(node, how))


def _told_dtype(case: _Case, node: cst.BaseExpression, dtype: str) -> Edit | None:
    """The edit that states the dtype of the `cumsum` of an argument, where its result goes nowhere else."""
    here = _cumsum(node)
    value = None if here is not None else _value_for_kernels(case, node)
    there = None if value is None else _cumsum(value)
    cumsum = here or there
    if cumsum is None or not cumsum.args or any(arg.star for arg in cumsum.args):
        return None
    stated = next((a for a in cumsum.args if a.keyword and a.keyword.value == "dtype"), None)
    if stated is None:
        _, end = case.source.span(cumsum.args[-1].value)
        return case.source.edit(end, end, f", dtype={dtype}")
    return None if here is None else case.source.edit(*case.source.span(stated.value), dtype)


def _cumsum(node: cst.CSTNode) -> cst.Call | None:
    """The only `cumsum` in an expression."""
    found = [
        each
        for each in _nodes(node)
        if isinstance(each, cst.Call)
        and isinstance(each.func, cst.Attribute)
        and each.func.attr.value == "cumsum"
    ]
    return found[0] if len(found) == 1 else None


def _value_for_kernels(case: _Case, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What a name is assigned, where that happens once and the name is passed to kernels and used nowhere else."""
    around = _function_around(case.item.module, case.call)
    if around is None or not isinstance(node, cst.Name):
        return None
    passed = {
        id(argument.node)
        for scene in case.scenes
        for argument in scene.given.values()
        if isinstance(argument.node, cst.Name)
    }
    values: list[cst.BaseExpression] = []
    targets: set[int] = set()
    for statement in _nodes(around.node):
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Name) and target.value == node.value:
                values.append(statement.value)
                targets.add(id(target))
    uses = [n for n in _names(around.node) if n.value == node.value and id(n) not in targets]
    if len(values) != 1 or not all(id(use) in passed for use in uses):
        return None
    return values[0]


def _function_around(module: Module, node: cst.CSTNode) -> Definition | None:
    """The innermost function with a node in it."""
    found = None
    for definition in module.definitions:  # those inside come after those around
        if not definition.is_class and _contains(definition.node, node):
            found = definition
    return found


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(current.children)


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that are variables: neither attributes nor keywords of calls."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name):
            yield current
        leave = None
        if isinstance(current, cst.Attribute):
            leave = current.attr
        elif isinstance(current, cst.Arg):
            leave = current.keyword
        stack.extend(child for child in current.children if child is not leave)


def _contains(node: cst.CSTNode, other: cst.CSTNode) -> bool:
    return any(each is other for each in _nodes(node))


def _boundaries(case: _Case) -> Fix:
    name, wired = case.parameter, case.scene.wired
    if wired is None or not wired.name or not case.is_direct:
        raise NoFixError
    now = case.item.names.get(wired.name)
    if now is None or not _is_same(now, wired.boundaries):
        raise NoFixError
    law = case.scene.contract.first(Boundaries)
    if law is None or law.by != name:
        raise NoFixError
    message = f"Pass `{name}={wired.name}`"
    if name in case.scene.given:
        edit = case.source.edit(*case.source.span(case.argument(name)), wired.name)
        return _fix("safe", message, [edit])
    return _fix("safe", message, _one_more_keyword(case, f"{name}={wired.name}"))


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values are certainly one object."""
    if a is b:
        return True
    first, second = list(alternatives(a)), list(alternatives(b))
    return len(first) == len(second) and all(map(_is_one, first, second))


def _is_one(a: Value, b: Value) -> bool:
    if isinstance(a, TensorFacts) and isinstance(b, TensorFacts):
        same = a.handle == b.handle
        # an expression makes one tensor at a time
        return same and (a.handle != 0 or (a == b and bool(a.origins)))
    return isinstance(a, Unknown) and isinstance(b, Unknown) and a.handle == b.handle != 0


def _one_more_keyword(case: _Case, text: str) -> list[Edit]:
    """Edits that add a keyword: on a line of its own where the last argument has one."""
    if not case.call.args:
        raise NoFixError
    last = case.call.args[-1]
    source = case.source
    anchor = last.keyword if last.keyword is not None else last.value
    start, _ = source.span(anchor)
    _, end = source.span(last.value)
    before = source.text[source.line_start(start) : start]
    after = source.text[end : source.line_end(end)]
    rest = re.fullmatch(r"(\s*,)?[ \t]*(#.*)?", after)
    if before.strip() or last.star or rest is None:
        return [source.edit(end, end, f", {text}")]
    newline = _NEWLINE.search(source.text, end)
    if newline is None:
        raise NoFixError
    line = f"{newline.group()}{before}{text},"
    if rest[1]:
        return [source.edit(newline.start(), newline.start(), line)]
    if not rest[2]:
        return [source.edit(end, end, f",{line}")]
    return [
        source.edit(end, end, ","),
        source.edit(newline.start(), newline.start(), line),
    ]


def _keyword(case: _Case) -> Fix:
    keyword = case.item.violation.keyword
    if keyword is None:
        raise NoFixError
    names = [parameter.name for parameter in case.scene.contract.parameters]
    close = difflib.get_close_matches(keyword, names, 2, 0.75)
    likeness = [difflib.SequenceMatcher(None, name, keyword).ratio() for name in close]
    if not close or (len(close) == 2 and likeness[0] - likeness[1] < _CLEARLY):
        raise NoFixError
    if close[0] in case.scene.given or close[0] in case.scene.maybe:
        raise NoFixError
    for arg in case.call.args:
        if arg.keyword is not None and arg.keyword.value == keyword:
            edit = case.source.edit(*case.source.span(arg.keyword), close[0])
            return _fix("unsafe", f"Write `{close[0]}`", [edit])
    raise NoFixError


def _tokens(case: _Case) -> Fix:
    node = case.item.node
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        raise NoFixError
    cut = node.slice[0].slice
    if not isinstance(cut, cst.Slice):
        raise NoFixError
    start, _ = case.source.span(cut)
    return _fix("unsafe", "Cut the token axis", [case.source.edit(start, start, ":, ")])


def _flatten(case: _Case) -> Fix:
    """Flatten every packed operand that is not known to be flat: one that is stays as it is."""
    edits: list[Edit] = []
    call = case.scene.calls[0]
    done: dict[str, None] = {}
    einops = case.item.names.get("rearrange") == External("einops.rearrange")
    for packed in case.scene.contract.each(Packed):
        if case.parameter not in packed.operands:
            continue
        for name in packed.operands:
            facts = call.tensor(name)
            batch = facts.dim(0) if facts is not None else None
            if name not in case.scene.given or (batch is not None and equal(batch, 1)):
                continue
            sure = case.is_always_tensor(name) or case.scene.contract.by_name[name].required
            if not sure:
                raise NoFixError
            node = case.argument(name)
            done[name] = None
            start, end = case.source.span(node)
            if einops:
                edits.append(case.source.edit(start, start, "rearrange("))
                edits.append(case.source.edit(end, end, ', "b t ... -> 1 (b t) ...")'))
            elif _is_plain(node):
                text = case.written(node)
                edits += case.method(node, f"reshape(1, -1, *{text}.shape[2:])")
            else:
                edits += case.method(node, "flatten(0, 1).unsqueeze(0)")
    if case.parameter not in done:
        raise NoFixError
    listed = ", ".join(f"`{name}`" for name in done)
    return _fix("unsafe", f"Flatten the batch of {listed} into the token axis", edits)


_PROPOSALS: dict[str, Callable[[_Case], Fix]] = {
    "KDA001": _flatten,
    "KDA002": _tokens,
    "KDA003": _boundaries,
    "KDA101": _dense_copy,
    "KDA102": _rank,
    "KDA201": _dense_copy,
    "KDA304": _dtype,
    "KDA307": _dense_copy,
    "KDA405": _dense_copy,
    "KDA501": _keyword,
}
