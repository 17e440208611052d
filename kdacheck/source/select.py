"""Which files and functions matter: a byte search, then one look with the standard `ast`.

Parsing with LibCST costs more than ten times as much as with `ast`, so it is only done for files in which a name that
an import binds to a contracted callee is really used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kdacheck import contracts
from kdacheck.contracts.model import telling_name
from kdacheck.places import BUNDLED

#: Every contracted name contains one of these; a plain search for a few short strings is far faster than a pattern.
STEMS = (
    b"kda",
    b"delta_rule",
    b"_gla",
    b"_gdn",
    b"replayssm",
    b"conv1d",
    b"ShortConvolution",
    b"_cumsum",
    b"token_shift",
    b"packed_decode",
)


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[bytes]:
    found = sorted(contracts.names())
    return re.compile(rb"\b(?:" + b"|".join(name.encode() for name in found) + rb")\b")


def may_matter(data: bytes) -> bool:
    """Whether a file mentions a contracted callee at all, or may put a contract on a function of its own."""
    if any(stem in data for stem in STEMS) and _pattern().search(data) is not None:
        return True
    return _ITSELF in data and _IMPORTS_ITSELF.search(data) is not None


#: A contract is made, and the bundled kernels are reached, by importing kdacheck.
_ITSELF = b"kdacheck"
_IMPORTS_ITSELF = re.compile(rb"\b(?:import|from)[ \t]+kdacheck\b")
OWN_MODULES = frozenset(("kdacheck", "kdacheck.clauses", BUNDLED))


@lru_cache(maxsize=1)
def _prefixes() -> frozenset[str]:
    """Every package and module on the way to a contracted callee."""
    result = set()
    for path in contracts.paths():
        parts = path.split(".")
        result.update(".".join(parts[:end]) for end in range(1, len(parts)))
    return frozenset(result)


# What was taken is not given back: the time stays linear, whatever stands in the file.
_FROM = re.compile(
    rb"(?:^|[;:])[ \t]*+from\b[ \t\\\r\n]*+(\.*+)[ \t\\\r\n]*+((?:(?!import\b)[\w.]++)?+)[ \t\\\r\n]*+import\b",
    re.MULTILINE,
)
_IMPORT = re.compile(rb"(?:^|[;:])[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)


def may_import(data: bytes, module_name: str, exports: frozenset[str] = frozenset()) -> bool:
    """Whether some import of a file can reach a contracted callee: asked of the text, since `ast` costs far more.

    exports: import paths of functions and classes of the project that reach one.
    """
    prefixes = _prefixes() | OWN_MODULES
    if exports:
        modules = _modules(exports)
        prefixes = prefixes | modules | {base.rpartition(".")[0] for base in modules}
    for dots, base in _FROM.findall(data):
        if absolute(base.decode("ascii", "replace") or None, len(dots), module_name) in prefixes:
            return True
    for names in _IMPORT.findall(data):
        for name in names.split(b","):
            if name.split()[:1] and name.split()[0].decode("ascii", "replace") in prefixes:
                return True
    return b"get_kernel" in data


_NAMES = re.compile(rb"\s*(?:\(([^)]*)\)|([^\n;#]*))")


@lru_cache(maxsize=8)
def _modules(exports: frozenset[str]) -> frozenset[str]:
    """The modules that hand on what `exports` names."""
    return frozenset(path.rpartition(".")[0] for path in exports)


def imports_from(data: bytes, module_name: str, exports: frozenset[str]) -> bool:
    """Whether a file imports one of the functions and classes of the project that reach a contracted callee.

    Names are sought in the bytes before anything else: most files mention none.
    """
    names: dict[str, set[bytes]] = {}
    for path in exports:
        base, _, name = path.rpartition(".")
        if base != module_name and name.encode() in data:
            names.setdefault(base, set()).add(name.encode())
            above, _, leaf = base.rpartition(".")
            names.setdefault(above, set()).add(leaf.encode())
    if not names:
        return False
    for match in _FROM.finditer(data):
        dots, base = match.groups()
        wanted = names.get(
            absolute(base.decode("ascii", "replace") or None, len(dots), module_name)
        )
        listed = _NAMES.match(data, match.end()) if wanted else None
        if wanted and listed is not None:
            text = listed[1] or listed[2] or b""
            if wanted & set(re.findall(rb"\w+", text)):
                return True
    return any(
        part.split()[:1] and part.split()[0].decode("ascii", "replace") in names
        for listing in _IMPORT.findall(data)
        for part in listing.split(b",")
    )


def absolute(module: str | None, level: int, inside: str) -> str:
    """The dotted path of `from ..module import`, seen from the module named `inside`."""
    if not level:
        return module or ""
    base = inside.split(".")
    base = base[: len(base) - level]
    return ".".join([*base, *(module.split(".") if module else [])])


@dataclass(frozen=True)
class Changes:
    """What the functions of a file change outside themselves, so that it has no one value.

    rebound: number of a definition -> names of enclosing scopes that it declares its own to assign.
    in_place: number of a definition -> names whose objects it changes in place.
    touched: number of a definition -> names of enclosing scopes whose objects it changes in place.
    assigned: attribute -> numbers of the definitions that assign it on any object; `*` stands for every attribute.
    own: attribute -> numbers of the methods that assign it on the object they were called on.
    held: attributes whose objects some definition changes in place, or hands on to whoever may change them.
    patched: attributes that some definition assigns on something imported.
    escaped: names of enclosing scopes that some function hands on, so that what it changes may be theirs.
    writes: some function writes into what may be a tensor that it was not given as its own.
    reshapes: some definition gives a tensor another shape in place, and with it every name of that tensor.
    everything: nothing is known, and anything may change anywhere.
    """

    rebound: Mapping[int, frozenset[str]] = field(default_factory=dict)
    in_place: Mapping[int, frozenset[str]] = field(default_factory=dict)
    touched: Mapping[int, frozenset[str]] = field(default_factory=dict)
    assigned: Mapping[str, frozenset[int]] = field(default_factory=dict)
    own: Mapping[str, frozenset[int]] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    patched: frozenset[str] = frozenset()
    escaped: frozenset[str] = frozenset()
    writes: bool = False
    reshapes: bool = False
    everything: bool = False

    @cached_property
    def names_rebound(self) -> frozenset[str]:
        return frozenset[str]().union(*self.rebound.values())

    @cached_property
    def names_touched(self) -> frozenset[str]:
        return frozenset[str]().union(*self.touched.values())

    def assigners(self, attribute: str) -> frozenset[int]:
        nobody = frozenset[int]()
        return self.assigned.get(attribute, nobody) | self.assigned.get("*", nobody)


@dataclass(frozen=True, slots=True)
class Extent:
    """The lines of a statement, counted from 0: from `begin` to before `end`, decorators included."""

    begin: int
    end: int
    is_definition: bool


@dataclass
class Outline:
    """What `ast` tells of a file.

    relevant: numbers of the definitions (functions and classes, in the order they are written) from which a
    contracted callee may be reached; the module itself is number 0.
    handed_on: kernels and wrappers of kernels that the file imports by name.
    extents: those of the statements of its top level.
    """

    relevant: frozenset[int] = frozenset()
    changes: Changes = field(default_factory=Changes)
    handed_on: frozenset[str] = frozenset()
    extents: Sequence[Extent] = ()


@dataclass
class _Definition:
    number: int
    name: str
    owner: int
    is_class: bool
    used: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    receiver: str = ""
    held: set[str] = field(default_factory=set)
    assigned_on: set[tuple[str, str]] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    augmented: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    taken: list[tuple[ast.expr, ast.expr]] = field(default_factory=list)
    escaped: set[str] = field(default_factory=set)
    writes: bool = False
    reshapes: bool = False

    def note_changes(self, node: ast.AST) -> None:
        """Take note of what a node binds, or changes in place."""
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.bound.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.declared.update(names)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.augmented.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                self.counted.add(name)
            case (
                ast.Assign(targets=[target], value=source)
                | ast.NamedExpr(target=target, value=source)
            ):
                self.taken.append((target, source))
            case (
                ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source)
            ):
                self.taken.append((target, source))
            case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()):
                is_own = isinstance(owner, ast.Name) and owner.id == self.receiver
                (self.own if is_own else self.attributes).add(attr)
                self.assigned_on.add((_root(owner), attr))
                if attr == "data" and isinstance(owner, ast.Attribute):
                    self.attributes.add(owner.attr)
                self.reshapes = self.reshapes or (attr == "data" and isinstance(owner, ast.Name))
                self._changes_object(owner)
            case ast.Subscript(value=owner, slice=index, ctx=ast.Store() | ast.Del()):
                self._changes_object(owner)
                by_name = isinstance(index, ast.Constant) and isinstance(index.value, str)
                self.writes = self.writes or not by_name
            case ast.keyword(arg="out"):
                self.writes = True
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in CHANGING or (
                method.endswith("_") and not method.startswith("_")
            ):
                self._changes_object(owner)
                self.writes = self.writes or method.endswith("_")
                self.reshapes = self.reshapes or method in RESHAPING
                if method in RESHAPING and isinstance(owner, ast.Attribute):
                    self.attributes.add(owner.attr)
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[_, name, *_]):
                constant = name.value if isinstance(name, ast.Constant) else None
                self.reshapes = self.reshapes or constant == "data"
                self.attributes.add(constant if isinstance(constant, str) else "*")
                if isinstance(constant, str):
                    self.assigned_on.add((_root(node.args[0]), constant))
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                self.held.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                self.imported.update(alias.asname or alias.name.split(".")[0] for alias in aliases)
            case ast.Call(func=ast.Name(id="vars"), args=[_]) | ast.Attribute(attr="__dict__"):
                self.attributes.add("*")
            case _:
                pass

    def changed_by_part(self) -> None:
        """Take note of the objects of which some part that has a name is changed in place."""
        known = -1
        while known < len(self.changed):
            known = len(self.changed)
            for target, source in self.taken:
                if self.changed.isdisjoint(_bound_in(target)):
                    continue
                self.changed.update(_taken_from(source))

    def _changes_object(self, node: ast.expr) -> None:
        while True:
            match node:
                case ast.Name(id=name):
                    self.changed.add(name)
                    return
                case ast.Attribute(value=node, attr=attr):
                    self.held.add(attr)
                case ast.Subscript(value=node):
                    pass
                case _:
                    return


#: Methods that change the shape or layout of a tensor in place.
RESHAPING = frozenset(
    (
        *(
            "resize_",
            "resize_as_",
            "unsqueeze_",
            "squeeze_",
            "transpose_",
            "swapaxes_",
            "swapdims_",
        ),
        *("t_", "as_strided_", "set_", "swap_"),
    )
)

#: Methods that change lists, dicts, sets and objects; tensors are changed by methods that end in `_`.
CHANGING = frozenset(
    (
        *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"),
        *("reverse", "setdefault", "sort", "update", "__setitem__", "__setattr__", "__delitem__"),
    )
)


def _read(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node of which it only reads something, and does not hand on the objects themselves."""
    match node:
        case ast.Subscript(value=value) | ast.Attribute(value=value) | ast.Starred(value=value):
            yield value
        case ast.Call(func=func, args=args, keywords=keywords):
            yield func
            own = _root(func) == "torch"  # torch changes no list and no dict
            yield from args if own else ()
            yield from (keyword.value for keyword in keywords if own or keyword.arg is None)
        case ast.Compare(left=left, comparators=comparators):
            yield left
            yield from comparators
        case ast.BinOp(left=left, right=right):
            yield left
            yield right
        case ast.For(iter=source) | ast.comprehension(iter=source):
            yield source
        case ast.Dict(keys=keys, values=values):
            yield from (value for key, value in zip(keys, values, strict=True) if key is None)
        case _:
            pass


def _bound_in(target: ast.expr) -> Iterator[str]:
    return (
        node.id
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


#: Functions that hand on what is in their arguments, and methods that hand on what is in their object.
_PASSING = frozenset(("enumerate", "filter", "iter", "list", "reversed", "sorted", "tuple", "zip"))
_GIVING = frozenset(("get", "items", "pop", "setdefault", "values"))


def _taken_from(node: ast.expr) -> Iterator[str]:
    """The names of what holds the objects that an expression gives: `rows` of `rows[0]` and `zip(rows, xs)`."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            yield from _taken_from(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _GIVING:
            yield from _taken_from(inner)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _PASSING:
            for inner in args:
                yield from _taken_from(inner)
        case _:
            pass


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes starts from."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


#: Nodes that say nothing by themselves.
_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class _Outliner:
    """Collects, per definition, the names and attributes it uses outside nested definitions.

    seeds: names that lead to a contracted callee. handed_on: those of them that other files may import from here.
    makers: names that lead to what makes contracts.
    """

    def __init__(self, module_name: str, exports: frozenset[str] = frozenset()) -> None:
        self.module_name = module_name
        self.exports = exports
        self.definitions = [_Definition(0, "", -1, False)]
        self.seeds: set[str] = set()
        self.makers: set[str] = set()
        self.handed_on: set[str] = set()
        #: (definition, names in what is called as its decorator).
        self.decorated: list[tuple[int, set[str]]] = []
        #: (names assigned, names in the value that are not merely called), for every assignment that may keep a callee.
        self.kept: list[tuple[set[str], set[str]]] = []

    def visit(self, node: ast.AST, owner: int) -> None:
        stack: list[tuple[ast.AST, int]] = [(node, owner)]
        read: set[int] = set()
        while stack:
            current, place = stack.pop()
            if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                number = len(self.definitions)
                self.definitions.append(
                    _Definition(number, current.name, place, isinstance(current, ast.ClassDef))
                )
                children = [(child, number) for child in current.body]
                self.definitions[place].bound.add(current.name)
                if not isinstance(current, ast.ClassDef):
                    names = list(_parameters(current.args))
                    self.definitions[number].bound.update(names)
                    if names and self.definitions[place].is_class:
                        self.definitions[number].receiver = names[0]
                outer = [*current.decorator_list]
                if outer:
                    self.decorated.append((number, {n for d in outer for n in _called(d)}))
                if isinstance(current, ast.ClassDef):
                    outer += current.bases
                stack.extend((child, place) for child in outer)
                stack.extend(reversed(children))
                continue
            definition = self.definitions[place]
            used = definition.used
            if isinstance(current, ast.Name):
                used.add(current.id)
                if not isinstance(current.ctx, ast.Load):
                    definition.note_changes(current)
                elif id(current) not in read:
                    definition.escaped.add(current.id)
                continue
            if isinstance(current, ast.Constant):
                if isinstance(current.value, str) and current.value.startswith("attention."):
                    used.add(current.value)
                continue
            definition.note_changes(current)
            read.update(map(id, _read(current)))
            if isinstance(current, ast.Attribute):
                used.add(current.attr)
                if isinstance(current.ctx, ast.Load) and id(current) not in read:
                    definition.held.add(current.attr)
            elif isinstance(current, (ast.Import, ast.ImportFrom)):
                self._imports(current)
                continue
            if isinstance(current, (ast.Assign, ast.AnnAssign)) and current.value is not None:
                self._keep(current, place)
            inner = [c for c in ast.iter_child_nodes(current) if not isinstance(c, _SIGNS)]
            stack.extend((child, place) for child in reversed(inner))

    def _keep(self, node: ast.Assign | ast.AnnAssign, place: int) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {t.attr for t in targets if isinstance(t, ast.Attribute)}
        if place == 0 or self.definitions[place].is_class:
            names |= {t.id for t in targets if isinstance(t, ast.Name)}
        if names and node.value is not None:
            self.kept.append((names, set(_handed_on(node.value))))
        if isinstance(node.value, ast.Call) and place == 0 and self.makers & _called(node.value):
            self.makers |= names
            self.handed_on |= names

    def contracted(self) -> set[int]:
        """The functions that carry a contract of their own, by the names of their decorators."""
        makers = self.makers | self.seeds
        return {number for number, names in self.decorated if names & makers}

    def _imports(self, node: ast.Import | ast.ImportFrom) -> None:
        known, prefixes = contracts.paths(), _prefixes()
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = (alias.asname or alias.name).split(".")[0]
                if alias.name in prefixes or alias.name in _modules(self.exports):
                    self.seeds.add(name)
                if alias.name in OWN_MODULES:
                    (self.seeds if alias.name == BUNDLED else self.makers).add(name)
            return
        base = absolute(node.module, node.level, self.module_name)
        if base in OWN_MODULES:
            found = self.seeds if base == BUNDLED else self.makers
            found.update(alias.asname or alias.name for alias in node.names)
        for alias in node.names:
            path = f"{base}.{alias.name}"
            if alias.name == "*" and base in prefixes:
                self.seeds.update(telling_name(p) for p in known if p.rpartition(".")[0] == base)
            elif path in known or path in self.exports:
                self.seeds.add(alias.asname or alias.name)
                self.handed_on.add(alias.asname or alias.name)
            elif path in prefixes or path in _modules(self.exports):
                self.seeds.add(alias.asname or alias.name)


def _called(decorator: ast.expr) -> set[str]:
    """The names in what a decorator, or a call, is made by: `a.b` of `@a.b(...)`."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    found: set[str] = set()
    while isinstance(node, ast.Attribute):
        found.add(node.attr)
        node = node.value
    return found | {node.id} if isinstance(node, ast.Name) else found


def _handed_on(value: ast.expr) -> Iterator[str]:
    """The names in an expression whose objects it may hand on: not those that it only calls, but classes it calls."""
    stack: list[ast.AST] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            stack.extend(node.args)
            stack.extend(keyword.value for keyword in node.keywords)
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called[:1].isupper():
                yield called
            if isinstance(node.func, ast.Call):
                stack.append(node.func)
            continue
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        stack.extend(ast.iter_child_nodes(node))


def outline(tree: ast.Module, module_name: str, exports: frozenset[str] = frozenset()) -> Outline:
    """Which definitions of a file may reach a contracted callee.

    exports: import paths of functions and classes of the project that reach one.
    """
    outliner = _Outliner(module_name, exports)
    outliner.visit(tree, 0)
    seeds = outliner.seeds
    definitions = outliner.definitions
    if any(text in contracts.registry() for d in definitions for text in d.used):
        seeds = seeds | {"get_kernel"}
    reaching: set[int] = set()
    names = set(seeds)
    for number in outliner.contracted():
        around = list(_names_around(definitions, number))
        names.update(around)
        outliner.handed_on.update(around[-1:])
    while True:
        for kept, values in outliner.kept:
            if values & names:
                names |= kept
        grown = {d.number for d in definitions if d.number not in reaching and d.used & names}
        if not grown:
            break
        reaching |= grown
        for number in grown:
            names.update(_names_around(definitions, number))
    # A nested function is interpreted with what its maker left it.
    for d in reversed(definitions):
        if d.number in reaching and d.owner > 0 and not definitions[d.owner].is_class:
            reaching.add(d.owner)
    changes = _changes(definitions)
    extents = tuple(map(_extent, tree.body))
    return Outline(frozenset(reaching), changes, frozenset(outliner.handed_on), extents)


def _extent(node: ast.stmt) -> Extent:
    is_definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    above = node.decorator_list if is_definition else ()
    begin = min([node.lineno, *(decorator.lineno for decorator in above)])
    return Extent(begin - 1, node.end_lineno or node.lineno, is_definition)


def _names_around(definitions: Sequence[_Definition], number: int) -> Iterator[str]:
    """The names by which a definition is reached: its own, and those of what it stands in.

    A method's name reaches its class, and a constructor gives its class away.
    """
    d = definitions[number]
    while d.number > 0:
        if not (d.owner > 0 and definitions[d.owner].is_class and _is_common(d.name)):
            yield d.name
        d = definitions[d.owner]


def _is_common(name: str) -> bool:
    """Method names that too many classes have to say which one is meant."""
    return name.startswith("__") or name in ("forward", "backward", "apply", "call", "run", "setup")


def is_public(name: str) -> bool:
    """Whether a name is likely to be imported elsewhere: not a test, nor something everybody has."""
    return not name.startswith(("test_", "Test")) and name not in ("main", "forward", "run")


def exported(module_name: str, names: frozenset[str]) -> frozenset[str]:
    """The import paths of the names of a module: its own, and those of the packages above, which may hand them on."""
    parts = module_name.split(".")
    bases = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    found = frozenset(f"{base}.{name}" for base in bases if base for name in names)
    return found - contracts.paths().keys()


def _parameters(args: ast.arguments) -> Iterator[str]:
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            yield arg.arg


def _changes(definitions: Sequence[_Definition]) -> Changes:
    functions = [d for d in definitions if d.number and not d.is_class]
    for definition in functions:
        definition.changed_by_part()
    assigned: dict[str, set[int]] = {}
    own: dict[str, set[int]] = {}
    for definition in definitions:
        for name in definition.attributes:
            assigned.setdefault(name, set()).add(definition.number)
        for name in definition.own:
            own.setdefault(name, set()).add(definition.number)
    return Changes(
        rebound={d.number: frozenset(d.declared) for d in functions if d.declared},
        in_place={
            d.number: frozenset(changed)
            for d in functions
            if (changed := d.changed | d.augmented - d.counted)
        },
        touched={
            d.number: frozenset(d.changed - d.bound) for d in functions if d.changed - d.bound
        },
        assigned={name: frozenset(found) for name, found in assigned.items()},
        own={name: frozenset(found) for name, found in own.items()},
        held=frozenset[str]().union(*(d.held for d in definitions)),
        patched=_patched(definitions),
        escaped=frozenset[str]().union(*(d.escaped - d.bound for d in functions)),
        writes=any(d.number and (d.writes or d.augmented - d.counted) for d in definitions),
        reshapes=any(d.reshapes for d in definitions),
    )


def _patched(definitions: Sequence[_Definition]) -> frozenset[str]:
    imported = frozenset[str]().union(*(d.imported for d in definitions))
    return frozenset(
        attribute for d in definitions for name, attribute in d.assigned_on if name in imported
    )


def definitions_in_order(tree: ast.Module) -> Iterator[str]:
    """The names of all definitions, in the order of their numbers (for tests)."""
    outliner = _Outliner("")
    outliner.visit(tree, 0)
    return (d.name for d in outliner.definitions[1:])
