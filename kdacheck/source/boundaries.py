"""Where sequence boundaries go: which calls of a function get them, and which tensors are packed by them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.contracts import Contract
from kdacheck.contracts.clauses import Boundaries, VFirst
from kdacheck.contracts.outputs import Output, result_of
from kdacheck.contracts.tags import BY_CALL, K_FIRST, PACKED, PERHAPS_UNPACKED, UNPACKED, V_FIRST
from kdacheck.facts import Literal, TensorFacts, Unknown
from kdacheck.facts.tensors import ASPECTS
from kdacheck.source.module import Definition, assigned_targets, blocks, names_in, suite
from kdacheck.source.objects import Argument, is_none
from kdacheck.source.origins import Made
from kdacheck.source.state import State, alternatives, new_handle, opaque
from kdacheck.source.values import NONE, Items, Value

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter
    from kdacheck.source.judge import Scene


@dataclass(frozen=True)
class Works:
    """What a call works on, and where it stands.

    operands: the values it is given. sources: what those are made of in the call itself, as `x` in `conv(proj(x))`.
    block: its activation and the blocks around it in that; two calls with the same go together.
    """

    operands: tuple[Value, ...]
    sources: tuple[Value, ...]
    block: tuple[int, ...]


@dataclass(frozen=True)
class Wired:
    """A call that was given the boundaries. name: the variable that held them, "" for any other expression."""

    contract: Contract
    boundaries: Value
    name: str
    works: Works


@dataclass(frozen=True)
class Bare:
    """A call that was given no boundaries. names: the variables as they were there."""

    scene: Scene
    works: Works
    names: Mapping[Hashable, Value]


@dataclass(frozen=True)
class Gathered:
    """A callee that was given a state as it lies in its pool, and the order in which it reads states."""

    path: str
    contract: Contract
    version: str
    order: str


@dataclass
class Wiring:
    """What the calls of one function have been given so far, by number: boundaries, or none where some belong."""

    calls: dict[int, Wired] = field(default_factory=dict)
    bare: dict[int, Bare] = field(default_factory=dict)
    #: `pool[slots]` as written -> who got it.
    gathered: dict[str, Gathered] = field(default_factory=dict)


def wired_by(
    interp: Interpreter, contract: Contract, given: Mapping[str, Argument], state: State
) -> Wired | None:
    """A call as one that is given boundaries, None where it is not."""
    law = contract.first(Boundaries)
    passed = given.get(law.by) if law is not None else None
    if law is None or passed is None or is_none(passed.value):
        return None
    name = passed.node.value if isinstance(passed.node, cst.Name) else ""
    return Wired(contract, passed.value, name, _works(interp, law, given, state))


def wire(
    interp: Interpreter,
    contract: Contract,
    given: Mapping[str, Argument],
    state: State,
    wired: Wired | None,
    scene: Scene | None,
) -> frozenset[str]:
    """Note a call that takes boundaries; the tags for what it returns.

    wired: the call where it gets some. scene: how it was judged, None where nothing is to be said of it.
    """
    wiring, law = interp.run.wiring, contract.first(Boundaries)
    if wired is not None:
        number = len(wiring.calls) + 1
        wiring.calls[number] = wired
        return frozenset((f"{PACKED}{number}",))
    if scene is None or law is None or _gets_others(law, given):
        return frozenset()
    works = _works(interp, law, given, state)
    if not works.operands:
        return frozenset()
    number = len(wiring.bare) + 1
    wiring.bare[number] = Bare(scene, works, dict(state.names))
    return frozenset((f"{UNPACKED}{number}", f"{PERHAPS_UNPACKED}{number}"))


def _works(
    interp: Interpreter, law: Boundaries, given: Mapping[str, Argument], state: State
) -> Works:
    operands = [given[name] for name in law.operands if name in given]
    inner = [arg.value for o in operands if isinstance(o.node, cst.Call) for arg in o.node.args]
    names = [node.value for node in inner if isinstance(node, cst.Name)]
    return Works(
        tuple(operand.value for operand in operands),
        tuple(state.names[name] for name in names if name in state.names),
        (interp.frame.number, *interp.frame.blocks),
    )


def _gets_others(law: Boundaries, given: Mapping[str, Argument]) -> bool:
    """Whether a call is told the boundaries in another way than by offsets."""
    return any(way in given and not is_none(given[way].value) for way in law.instead)


def _are_alike(one: Contract, a: Works, other: Contract, b: Works) -> bool:
    """Whether two calls of one callee, side by side, are given what is made of the same tensors."""
    return (
        one is other
        and a.block == b.block
        and bool(a.sources)
        and len(a.sources) == len(b.sources)
        and all(map(_is_same, a.sources, b.sources))
    )


def left_out(interp: Interpreter, wired: Wired) -> list[Bare]:
    """The earlier calls that should have been given the boundaries that a call gets.

    Either an operand comes from such a call, certainly or in a block that gives the boundaries to another call; or one
    leads to the other, both work on the same tensors, and the boundaries were at hand; or they stand side by side and work
    on what is made of the same tensors.
    """
    operands = wired.works.operands
    certain = {tag for value in operands for tag in _certain_tags(value)}
    possible = {
        tag
        for value in operands
        for one in alternatives(value)
        if isinstance(one, TensorFacts)
        for tag in one.tags
    }
    wiring = interp.run.wiring
    found: list[Bare] = []
    for number, bare in wiring.bare.items():
        works = bare.works
        beside = any(
            other.works.block == works.block and _is_same(other.boundaries, wired.boundaries)
            for other in wiring.calls.values()
        )
        before = works.block == wired.works.block[: len(works.block)]
        same = before and all(any(_is_same(v, o) for o in operands) for v in works.operands)
        if (
            f"{UNPACKED}{number}" in certain
            or (beside and f"{PERHAPS_UNPACKED}{number}" in possible)
            or (same and _is_at_hand(wired, State(dict(bare.names))))
            or _are_alike(bare.scene.contract, works, wired.contract, wired.works)
        ):
            found.append(bare)
    return found


def _certain_tags(value: Value) -> frozenset[str]:
    """The tags that every alternative of a value has."""
    tags = [one.tags if isinstance(one, TensorFacts) else None for one in alternatives(value)]
    known = [t for t in tags if t is not None]
    return frozenset.intersection(*known) if known and len(known) == len(tags) else frozenset()


def dropped_by(
    interp: Interpreter,
    contract: Contract,
    given: Mapping[str, Argument],
    complete: bool,
    state: State,
) -> Wired | None:
    """The earlier call whose boundaries a call without any should have been given, None where it needs none.

    Either an operand was made by that call, or both work on the same tensors and the boundaries are at hand, or they
    stand side by side and work on what is made of the same tensors.
    """
    law = contract.first(Boundaries)
    if law is None or not complete:
        return None
    passed = given.get(law.by)
    if (passed is not None and not is_none(passed.value)) or _gets_others(law, given):
        return None
    works = _works(interp, law, given, state)
    operands = works.operands
    for number, wired in interp.run.wiring.calls.items():
        tag = f"{PACKED}{number}"
        made = any(
            isinstance(one, TensorFacts) and tag in one.tags
            for v in operands
            for one in alternatives(v)
        )
        if made and not _is_known_none(wired, state):
            return wired
        same = all(any(_is_same(v, other) for other in wired.works.operands) for v in operands)
        if operands and same and _is_at_hand(wired, state):
            return wired
        alike = _are_alike(contract, works, wired.contract, wired.works)
        if alike and not _is_known_none(wired, state):
            return wired
    return None


def swallowed_by(interp: Interpreter, passed: Argument | None) -> str:
    """The function whose `**kwargs` end before they reach a callee that reads the boundaries from its own, else ""."""
    if passed is None or not is_none(passed.value) or len(interp.run.frames) < 2:
        return ""
    reader, caller = interp.run.frames[-1].definition, interp.run.frames[-2].definition
    if reader is None or caller is None:
        return ""
    match passed.node:
        case cst.Call(func=cst.Attribute(cst.Name(table), cst.Name("get" | "pop"))):
            pass
        case _:
            return ""
    if table != _star_keywords(reader):
        return ""
    name = _star_keywords(caller)
    used = {n for statement in suite(caller.node.body) for n in names_in(statement)}
    return caller.qualified if name and name not in used else ""


def unread_by(interp: Interpreter, law: Boundaries, given: Mapping[str, Argument]) -> str:
    """The function around a call without boundaries that takes them by the same name and does nothing with them, else "".

    The operands are its parameters, untouched. Methods of classes with bases are left out: they may have the parameter
    for the sake of others of their kind.
    """
    passed = given.get(law.by)
    definition = interp.frame.definition
    if (passed is not None and not is_none(passed.value)) or _gets_others(law, given):
        return ""
    if definition is None or not isinstance(definition.node, cst.FunctionDef):
        return ""
    owner = interp.class_of(definition.owner_class) if definition.owner_class is not None else None
    if definition.decorators or (definition.owner is not None and owner is None):
        return ""
    if owner is not None and (owner.bases or not all(map(_is_torch_module, owner.outside))):
        return ""
    params = definition.node.params
    named = {p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params)}
    changed = {
        t.value for t in assigned_targets(suite(definition.node.body)) if isinstance(t, cst.Name)
    }
    operands = [given[name].node for name in law.operands if name in given]
    if law.by not in named or not all(
        isinstance(node, cst.Name) and node.value in named - changed for node in operands
    ):
        return ""
    used = {n for statement in suite(definition.node.body) for n in _variables(statement)}
    return definition.qualified if law.by not in used and "locals" not in used else ""


def _is_torch_module(path: str) -> bool:
    return path in ("torch.nn.Module", "torch.nn.modules.module.Module", "object")


def _star_keywords(definition: Definition) -> str:
    node = definition.node
    param = node.params.star_kwarg if isinstance(node, cst.FunctionDef) else None
    return param.name.value if param is not None else ""


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values are certainly one object that may well be packed."""
    handles = [v.handle if isinstance(v, (Unknown, TensorFacts)) else 0 for v in (a, b)]
    return a is b or (handles[0] != 0 and handles[0] == handles[1])


def _is_known_none(wired: Wired, state: State) -> bool:
    now = state.names.get(wired.name) if wired.name else None
    return now is not None and is_none(state.resolve(now))


def _is_at_hand(wired: Wired, state: State) -> bool:
    """Whether the variable still holds the boundaries, and they are certainly not None."""
    now = state.names.get(wired.name) if wired.name else None
    if now is None or not _is_same(now, wired.boundaries):
        return False
    now = state.resolve(now)
    return isinstance(now, TensorFacts) or (isinstance(now, Unknown) and now.not_none)


def packed_tags(
    tags: frozenset[str], operation: str, source: TensorFacts, arguments: Sequence[Value]
) -> frozenset[str]:
    """The tags of a result with those of packing: kept where the operation leaves batch and token axes alone."""
    others = frozenset(tag for tag in tags if not tag.startswith(BY_CALL))
    if operation not in _KEEPING and not (operation == "rearrange" and _keeps_rows(arguments)):
        return others
    return others | {tag for tag in source.tags if tag.startswith(BY_CALL)}


def _keeps_rows(arguments: Sequence[Value]) -> bool:
    """Whether an einops pattern begins with the same batch and tokens, or the same ellipsis, on both sides."""
    pattern = arguments[0].value if arguments and isinstance(arguments[0], Literal) else ""
    left, _, right = str(pattern).partition("->")
    before, after = left.split(), right.split()
    rows = 1 if before[:1] == ["..."] else 2
    return (
        len(before) >= rows and before[:rows] == after[:rows] and "(" not in "".join(before[:rows])
    )


_KEEPING = frozenset(
    [
        "contiguous",
        "clone",
        "detach",
        "to",
        "float",
        "half",
        "bfloat16",
        "double",
        "cuda",
        "type",
        "requires_grad_",
        "silu",
        "sigmoid",
        "relu",
        "exp",
        "neg",
        "abs",
        "tanh",
        "normalize",
        "gelu",
        "softplus",
        "logsigmoid",
        "+",
        "-",
        "*",
        "/",
        "dropout",
        "data",
        "unflatten",
        "repeat_interleave",
        "split",
        "chunk",
        "unbind",
    ]
)


def returned(
    interp: Interpreter,
    contract: Contract,
    given: Mapping[str, Argument],
    node: cst.CSTNode,
    complete: bool,
    tags: frozenset[str],
) -> Value:
    """What a contracted call returns: shapes like those of its arguments, and what is known of states."""
    result = result_of(contract)
    if result is None or not complete:
        return opaque(result is not None and bool(result.outputs) and not result.alone)
    dropped = [out for out in result.outputs if out is not None and out.dropped]
    if any(_is_on(contract, given, out.flag) is None for out in dropped):
        return opaque(True)
    kept = [
        out
        for out in result.outputs
        if out is None or not out.dropped or _is_on(contract, given, out.flag)
    ]
    outputs = [_output(interp, contract, given, out, node, tags) for out in kept]
    if result.alone:
        return outputs[0] if outputs else NONE
    if len(outputs) == 1 < len(result.outputs):
        return outputs[0]
    return Items(tuple(outputs)) if result.outputs else NONE


def _is_on(contract: Contract, given: Mapping[str, Argument], flag: str) -> bool | None:
    """Whether a flag of the call is set; None where that cannot be told."""
    if flag not in contract.by_name:
        return None
    value = given[flag].value if flag in given else Literal(contract.by_name[flag].default)
    return bool(value.value) if isinstance(value, Literal) else None


def _output(
    interp: Interpreter,
    contract: Contract,
    given: Mapping[str, Argument],
    out: Output | None,
    node: cst.CSTNode,
    tags: frozenset[str],
) -> Value:
    is_there = True
    if out is not None and out.flag:
        is_there = _is_on(contract, given, out.flag)
    if out is None or is_there is False:
        return NONE
    if is_there is None:
        return opaque()
    if out.same:
        return given[out.same].value if out.same in given else opaque(True)
    made = Made(node, "this call", interp.module)
    origins: dict[str, Made] = dict.fromkeys(ASPECTS, made)
    if out.like:
        like = given[out.like].value if out.like in given else None
        facts = TensorFacts(origins=origins, handle=new_handle())
        if isinstance(like, TensorFacts) and like.shape is not None:
            dtypes = frozenset((out.dtype,)) if out.dtype else like.dtypes
            facts = TensorFacts(like.shape, dtypes=dtypes, device=like.device, origins=origins)
        return replace(facts, tags=tags)
    law = contract.first(VFirst)
    if law is None or not law.returns_state:
        return opaque()
    order = _order(law, given)
    if order is None:
        return opaque()
    return TensorFacts(tags=frozenset((order,)), origins=origins, handle=new_handle())


def _order(law: VFirst, given: Mapping[str, Argument]) -> str | None:
    """V-first or K-first, None where the flag is not known."""
    if law.flag is None:
        return V_FIRST
    if law.flag not in given:
        return K_FIRST
    flag = given[law.flag].value
    if not isinstance(flag, Literal):
        return None
    return V_FIRST if flag.value else K_FIRST


def note_overwriting(interp: Interpreter, node: cst.Assign, state: State) -> None:
    """Note offsets derived from a mask that take the place of those a caller passed.

    The assigned name is a parameter that is None by default and was not touched so far; the value is made from another
    parameter that the branch tests; and no test of the function looks at both.
    """
    frame = interp.frame
    for name in _assigned(node):
        first = frame.parameters.get(name)
        frame.overwritten.pop(name, None)
        if first is None or not frame.tests or state.names.get(name) is not first:
            continue
        tested = {n for test in frame.tests for n in names_in(test)}
        masks = [
            m for m in _passed(node.value) if m != name and m in frame.parameters and m in tested
        ]
        if masks and name not in tested and not _tests_both(interp, masks[0], name):
            frame.overwritten[name] = (masks[0], node)


def _assigned(node: cst.Assign) -> list[str]:
    found: list[str] = []
    for target in node.targets:
        parts = target.target.elements if isinstance(target.target, (cst.Tuple, cst.List)) else ()
        nodes = [part.value for part in parts] or [target.target]
        found += [n.value for n in nodes if isinstance(n, cst.Name)]
    return found


def _passed(node: cst.BaseExpression) -> list[str]:
    """The plain names a call is given."""
    if not isinstance(node, cst.Call):
        return []
    return [arg.value.value for arg in node.args if isinstance(arg.value, cst.Name)]


def _variables(node: cst.CSTNode) -> Iterator[str]:
    """The variables in a piece of code, less the names of attributes and keywords."""
    if isinstance(node, cst.Name):
        yield node.value
    named = node.keyword if isinstance(node, cst.Arg) else None
    named = node.attr if isinstance(node, cst.Attribute) else named
    for child in node.children:
        if child is not named:
            yield from _variables(child)


def _tests_both(interp: Interpreter, mask: str, name: str) -> bool:
    definition = interp.frame.definition
    if definition is None:
        return True
    stack: list[cst.CSTNode] = list(suite(definition.node.body))
    while stack:
        statement = stack.pop()
        if isinstance(statement, cst.SimpleStatementLine):
            stack.extend(statement.body)
        if isinstance(statement, (cst.If, cst.Assert)) and {mask, name} <= names_in(statement.test):
            return True
        for block in blocks(statement):
            stack.extend(block)
    return False


def note_gather(
    interp: Interpreter,
    path: str,
    contract: Contract,
    version: str,
    given: Mapping[str, Argument],
) -> None:
    """Note a state that a call is given as it lies in a pool: `initial_state=pool[slots]`."""
    law = contract.first(VFirst)
    order = _order(law, given) if law is not None else None
    for name in law.states if law is not None else ():
        node = given[name].node if name in given else None
        if order is not None and isinstance(node, cst.Subscript):
            written = _EMPTY.code_for_node(node)
            interp.run.wiring.gathered[written] = Gathered(path, contract, version, order)


def scattered(
    interp: Interpreter, target: cst.Subscript, value: Value
) -> tuple[Gathered, str] | None:
    """The callee and the order written, where a state goes back to its pool in another order than it was read."""
    if not isinstance(value, TensorFacts) or not interp.run.wiring.gathered:
        return None
    found = interp.run.wiring.gathered.get(_EMPTY.code_for_node(target))
    written = next((tag for tag in (K_FIRST, V_FIRST) if tag in value.tags), None)
    if found is None or written is None or written == found.order:
        return None
    return found, written


_EMPTY = cst.Module([])
