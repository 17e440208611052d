"""The abstract interpreter of one file: names, attributes, frames, and what it found."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import libcst as cst

from kdacheck.contracts import paths
from kdacheck.contracts.annotations import Axes, evaluate, parse
from kdacheck.facts import Dim, Integer, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import symbol
from kdacheck.facts.tensors import ASPECTS
from kdacheck.source import (
    annotations,
    boundaries,
    calls,
    claims,
    contracted,
    expressions,
    functions,
    limits,
    provenance,
    python_builtins,
    statements,
)
from kdacheck.source import torch_semantics as torch
from kdacheck.source.contracted import Stated
from kdacheck.source.frames import Frame, Loop
from kdacheck.source.module import Definition, Module, defaults_to_none, dotted, suite
from kdacheck.source.objects import Arguments, Class, Function, Instance, is_none
from kdacheck.source.origins import Made
from kdacheck.source.run import Run
from kdacheck.source.state import (
    State,
    any_of,
    new_handle,
    objects_in,
    opaque,
    reached,
    without_contents,
    without_objects,
    without_tensors,
)
from kdacheck.source.torch_registry import words
from kdacheck.source.values import (
    NUMBER,
    SOMETHING,
    UNKNOWN,
    AnyOf,
    Code,
    Device,
    DType,
    External,
    Identity,
    Items,
    Repeated,
    ShapeOf,
    Table,
    Value,
    identity_of,
)


class Interpreter:
    """Interprets the functions of a module that may reach a contracted callee, and judges the calls.

    Attributes are the state shared by all functions: sizes of unknown objects, global names, classes.
    """

    def __init__(
        self,
        module: Module,
        versions: Mapping[str, str],
        relevant: frozenset[int] = frozenset(),
        run: Run | None = None,
    ) -> None:
        self.module = module
        self.relevant = relevant
        self.versions = versions
        self.run = Run() if run is None else run
        self.run.interpreters[module] = self
        self.globals: dict[Hashable, Value] = {}
        #: Objects that unknown values of the module may be.
        self.loose: set[Hashable] = set()
        self.star_imports: list[str] = []
        self.assigned: dict[int, set[str]] = {}
        self._classes: dict[Definition, Class] = {}
        self._instances: dict[Definition, tuple[Instance, dict[Hashable, Value]]] = {}
        self.package_of_imports = module.name or "_"
        if module.filename.endswith("__init__.py"):
            self.package_of_imports = f"{module.name}.__init__"
        #: Dotted paths of things outside the file that it replaces: a kernel by a mock, say.
        self.replaced: set[str] = set()
        self.defaults: dict[Definition, dict[str, Value]] = {}
        self.stated: dict[Definition, Stated] = {}
        self.root: Definition | None = None
        #: Functions called where an exception is expected, and functions called elsewhere.
        self.called_to_fail: set[Definition] = set()
        self.called: set[Definition] = set()

    # Other modules of the project

    def home(self, module: Module) -> Interpreter:
        """The interpreter of the module that a function or class belongs to."""
        return self.run.interpreters.get(module, self)

    def of_project(self, path: str) -> Value | None:
        """What an import path leads to inside the project, None where that is not followed."""
        if path in paths() or f"{path}.forward" in paths():
            return None
        project = self.run.project
        place = project.place(path) if project is not None else None
        if project is None or place is None or not place.name or not project.may_follow(place):
            return None
        other = next((m for m in self.run.interpreters if m.filename == place.filename), None)
        if other is None:
            other = project.module(place)
            if other is None:
                return None
            interpreter = Interpreter(other, self.versions, frozenset(), self.run)
            frames, self.run.frames = self.run.frames, []
            try:
                with self.quiet():
                    interpreter.run_module()
            finally:
                self.run.frames = frames
        found = self.run.interpreters[other].globals.get(place.name)
        return found if isinstance(found, (Code, Literal, External)) else None

    # Frames, loops and limits

    @property
    def frame(self) -> Frame:
        return self.run.frames[-1]

    @property
    def frame_number(self) -> int:
        return self.run.frames[-1].number if self.run.frames else 0

    def new_frame(self, name: str, closure: Mapping[Hashable, Value]) -> Frame:
        self.run.serial += 1
        return Frame(self.run.serial, name, closure, self.module)

    def spend(self) -> None:
        self.run.steps += 1

    @property
    def spent(self) -> bool:
        return self.run.steps > self.run.limit

    @contextmanager
    def loop(self) -> Iterator[Loop]:
        loop = Loop()
        self.frame.loops.append(loop)
        try:
            yield loop
        finally:
            self.frame.loops.pop()

    def leave_loop(self, how: str, state: State) -> None:
        if self.frame.loops:
            getattr(self.frame.loops[-1], how).append(state)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Interpret without reporting."""
        self.run.silence += 1
        try:
            yield
        finally:
            self.run.silence -= 1

    def is_told(self, node: cst.CSTNode, state: State) -> bool:
        """Whether what is found in a call now is reported.

        What the first round of a loop may leave out, a later one may do with other values: it waits until it is known
        what holds in every round.
        """
        run = self.run
        if run.silence or state.muted:
            return False
        key = (node, *(call for call, _, _ in run.chain))
        if not run.first_rounds:
            return key not in run.told
        if state.certain:
            run.told.add(key)
        else:
            run.put_off = True
        return state.certain

    def defaults_of(self, params: cst.Parameters, state: State) -> dict[str, Value]:
        return functions.defaults_of(self, params, state)

    def let_change(self, value: Value, state: State) -> None:
        functions.let_change(self, value, state)

    def defined(self, made: Code, state: State) -> None:
        self.frame.defined.append((made, state))

    def yielded(self, value: Value, state: State) -> None:
        self.frame.yields.append(state.resolve(value))

    # Expressions

    def evaluate(self, node: cst.BaseExpression, state: State) -> Value:
        return expressions.evaluate(self, node, state)

    def call(self, node: cst.Call, state: State) -> Value:
        self.show_names(state)
        return calls.call(self, node, state)

    def show_names(self, state: State) -> None:
        """Let functions made in this frame see its names as they are now."""
        self.frame.names = state.names

    def assign(self, target: cst.CSTNode, value: Value, state: State) -> None:
        statements.assign(self, target, value, state)

    # Names and places

    def lookup(self, name: str, state: State) -> Value:
        found = state.names.get(name)
        if found is not None:
            if self._is_unsettled(name, found):
                state.loosen((found,))
                return UNKNOWN
            unsettled = self.module.unsettled(self.frame.definition) if self.run.frames else ()
            return without_objects(found) if _share(found, state.names, unsettled) else found
        if self.run.frames:
            found = self.frame.closure.get(name)
        if found is None:
            found = self._global_names().get(name)
        if found is not None and not _is_code(found):
            if self.module.writes_names:
                return UNKNOWN
            if self.module.changes.reshapes:
                found = without_tensors(found)
            if self.module.changes.writes and isinstance(found, TensorFacts):
                found = without_contents(found)
            found = self._less_changed(name, found)
        if found is not None:
            changes = self.module.changes
            if changes.everything or name in changes.names_touched:
                state.loosen((found,))
                return found if _is_code(found) else UNKNOWN
            return UNKNOWN if name in changes.names_rebound else state.as_changed(found)
        if found is None:
            found = self._from_star(name)
        if found is None:
            return External(f"builtins.{name}") if name in python_builtins.NAMES else UNKNOWN
        return found

    def _less_changed(self, name: str, found: Value) -> Value:
        """What a name from outside stands for, less what functions may have changed by this name or another."""
        changes = self.module.changes
        if not changes.in_place:
            return found
        if name in changes.escaped:
            return without_objects(found)
        changed = changes.names_touched | changes.escaped
        held = reached(found)
        if held and changed and not held.isdisjoint(self.loose):
            return without_objects(found)
        shown = (c.names[n] for c in self._classes.values() for n in changes.held if n in c.names)
        if held and any(not held.isdisjoint(reached(value)) for value in shown):
            return without_objects(found)
        around = (self._global_names(), self.frame.closure if self.run.frames else {})
        if held and any(_share(found, names, changed) for names in around):
            return without_objects(found)
        return found

    def _is_unsettled(self, name: str, found: Value) -> bool:
        """Whether functions inside the one that runs may have given one of its names another value."""
        if not self.run.frames or self.frame.is_lambda:
            return False
        definition = self.frame.definition
        if definition is None and self.module.writes_names and not _is_code(found):
            return True
        if name not in self.module.unsettled(definition):
            return False
        return not _is_code(found) or name in self.module.changes.names_rebound

    def _global_names(self) -> Mapping[Hashable, Value]:
        """The module's names, as they are now while it is still running."""
        for frame in self.run.frames:
            if frame.name == "<module>" and frame.module is self.module:
                return frame.names or self.globals
        return self.globals

    def _from_star(self, name: str) -> Value | None:
        for base in self.star_imports:
            if f"{base}.{name}" in paths() or contracted.is_clause(f"{base}.{name}"):
                return External(f"{base}.{name}")
        return None

    def read_place(self, key: Hashable, node: cst.BaseExpression, state: State) -> Value:
        return self.evaluate(node, state)

    def write_place(self, key: Hashable, value: Value, state: State) -> None:
        if isinstance(key, str) and key not in state.names:
            state.outer = {**state.outer, key: self.lookup(key, state)}
        state.names[key] = value

    def memo(self, key: Hashable, state: State) -> Value:
        """The same unknown for the same question, until something may have changed the answer."""
        found = state.names.get(key)
        if found is None:
            found = state.names[key] = opaque()
        return found

    # Sizes and integers

    def size(self, handle: int, axis: int, rank: int | None) -> Dim:
        if rank is not None:
            if axis < 0:
                axis += rank
            negative = axis - rank
            known = self.run.sizes.known(handle)
            if axis not in known and negative in known:
                return known[negative]
        return self.run.sizes.of(handle, axis, f"shape[{axis}]")

    def length(self, handle: int, state: State) -> Value:
        """`len(x)` of an unknown object, the same until something may have changed it."""
        rank = state.ranks.get(handle)
        if rank is not None:
            return expressions.from_dim(state.resolve_dim(self.size(handle, 0, rank)))
        key = (handle, "__len__")
        found = state.names.get(key)
        if found is None:
            found = Integer(self.run.sizes.length(handle, "shape[0]"))
            state.names[key] = found
        return state.resolve(found)

    def as_integer(self, value: Value) -> Value:
        """An unknown object used as an int: a symbol that stays the same for the same object."""
        if isinstance(value, Unknown):
            if value.handle:
                return Integer(self.run.sizes.number(value.handle, "n"))
            return Integer(symbol("n", low=None))
        return value

    def known_number(self, dim: Dim) -> Unknown:
        """An object that may not be an int, and is this one if it is."""
        value = opaque(not_none=True)
        self.run.sizes.set_number(value.handle, dim)
        return value

    def rank_handle(self, node: cst.BaseExpression, state: State) -> int:
        """The handle whose rank an expression is (`x.ndim`, `x.dim()`, `len(x.shape)`), else 0."""
        match node:
            case cst.Attribute(owner, cst.Name("ndim")):
                pass
            case cst.Call(func=cst.Attribute(owner, cst.Name("dim" | "ndimension")), args=[]):
                pass
            case cst.Call(
                func=cst.Name("len"), args=[cst.Arg(cst.Attribute(owner, cst.Name("shape")))]
            ):
                pass
            case _:
                return 0
        value = self.evaluate(owner, state)
        return value.handle if isinstance(value, (Unknown, TensorFacts)) else 0

    def tensor_of(self, value: Value, state: State) -> TensorFacts | None:
        """An unknown object taken as a tensor, with what was learnt of its sizes."""
        if isinstance(value, TensorFacts):
            if value.shape is None and value.handle:
                return self._with_sizes(value, value.handle, state)
            return value
        if isinstance(value, Unknown) and value.handle:
            return self._with_sizes(TensorFacts(handle=value.handle), value.handle, state)
        return None

    def _with_sizes(self, facts: TensorFacts, handle: int, state: State) -> TensorFacts:
        rank = state.ranks.get(handle)
        if rank is not None:
            shape = tuple(state.resolve_dim(self.size(handle, axis, rank)) for axis in range(rank))
            return replace(facts, shape=shape, partial={}, handle=handle)
        known = {a: state.resolve_dim(d) for a, d in self.run.sizes.known(handle).items() if a >= 0}
        return replace(facts, partial={**facts.partial, **known}, handle=handle)

    # Torch results and their origins

    def torch_result(
        self,
        result: Value | None,
        source: Value | None,
        node: cst.CSTNode,
        what: str,
        state: State,
        arguments: Sequence[Value] = (),
    ) -> Value:
        """A result of a transfer function, marked with where its facts were made and what its axes are.

        arguments: those after the tensor itself.
        """
        if result is None:
            return SOMETHING
        if isinstance(result, TensorFacts) and result.shape is not None:
            limits.spend(len(result.shape) ** 2 // 8)  # strides are products of all sizes behind
        if isinstance(result, TensorFacts) and isinstance(source, TensorFacts):
            tags = provenance.tags_after(what, source, result, arguments)
            tags = boundaries.packed_tags(tags, what, source, arguments)
            if tags != result.tags:
                result = replace(result, tags=tags)
        if self.module.casts_automatically and what in CASTING:
            result = _without_float_dtypes(result)
        return self._mark(result, source, Made(node, what, self.module))

    def _mark(self, result: Value, source: Value | None, made: Made) -> Value:
        match result:
            case TensorFacts():
                return self._mark_facts(result, source, made)
            case Items(items, kind):
                return Items(
                    tuple(self._mark(v, source, made) for v in items), kind, result.identity
                )
            case Repeated(element, kind, since):
                return Repeated(self._mark(element, source, made), kind, since, result.identity)
            case AnyOf(values):
                return AnyOf(tuple(self._mark(v, source, made) for v in values))
            case _:
                return result

    def _mark_facts(self, facts: TensorFacts, source: Value | None, made: Made) -> TensorFacts:
        base = source if isinstance(source, TensorFacts) else None
        if base is None:
            origins = dict.fromkeys(ASPECTS, made)
        else:
            same = {
                "shape": facts.shape == base.shape and facts.partial == base.partial,
                "layout": facts.dense == base.dense
                and (facts.dense is not None or base.dense is None),
                "dtype": facts.dtypes == base.dtypes,
                "device": facts.device == base.device,
                "values": facts.values == base.values and facts.tags == base.tags,
            }
            origins = {a: base.origins.get(a, made) if same[a] else made for a in ASPECTS}
        if facts.shape is None and not facts.handle:
            facts = replace(facts, handle=new_handle())
        return replace(facts, origins=origins)

    # Iteration

    def iterate(self, value: Value, state: State, count: int | None = None) -> Value:
        """The elements of a value: Items where all are known, Repeated where one stands for all."""
        match value:
            case Items(kind="generator") | Repeated(kind="generator"):
                state.rename(value, Repeated(UNKNOWN, "generator"))  # it is read once
                return value
            case Items() | Repeated():
                return value
            case Table(entries, False, maybe) if not maybe:
                return Items(tuple(Literal(key) for key in entries))
            case ShapeOf(handle):
                rank = state.ranks.get(handle) or count
                if rank is None:
                    return Repeated(SOMETHING)
                return Items(
                    tuple(
                        expressions.from_dim(state.resolve_dim(self.size(handle, axis, rank)))
                        for axis in range(rank)
                    )
                )
            case TensorFacts(shape=shape) if shape:
                if isinstance(shape[0], int) and shape[0] <= 64:
                    rows = [torch.subscript(value, Literal(i)) for i in range(shape[0])]
                    return Items(tuple(SOMETHING if row is None else row for row in rows))
                row = torch.subscript(value, Integer(symbol("i")))
                return Repeated(SOMETHING if row is None else row)
            case Literal(str() as text) if len(text) <= 16:
                return Items(tuple(map(Literal, text)))
            case AnyOf(values):
                spread = [self.iterate(v, state, count) for v in values if not is_none(v)]
                known = [s for s in spread if isinstance(s, Items)]
                if len(known) == len(spread) and len({len(s.items) for s in known}) == 1:
                    return Items(
                        tuple(
                            any_of(column) for column in zip(*(s.items for s in known), strict=True)
                        ),
                        "generator",
                        Identity(itertools.chain(*map(identity_of, known))),
                    )
                state.loosen((value,))
                return Repeated(UNKNOWN)
            case Code(kind="instance", target=Instance() as target) if target.cls.is_tuple:
                names = functions.record_fields(target.cls)
                return Items(tuple(state.names.get((target.uid, n), UNKNOWN) for n in names))
            case _:
                if not isinstance(value, Table):
                    state.loosen((value,))
                if count is not None:
                    return Items(tuple(opaque() for _ in range(count)))
                return Repeated(UNKNOWN)

    # Attributes

    def attribute(self, value: Value, name: str, node: cst.CSTNode, state: State) -> Value:
        value = state.resolve(value)
        match value:
            case AnyOf(values):
                return any_of(
                    self.attribute(v, name, node, state) for v in values if not is_none(v)
                )
            case TensorFacts():
                facts = self.tensor_of(value, state)
                assert facts is not None
                if name == "shape" and facts.shape is None and facts.handle:
                    return self._shape_of(facts)
                return self.torch_result(torch.attribute(facts, name), facts, node, name, state)
            case External(path):
                constant = torch.module_constant(f"{path}.{name}")
                return constant if constant is not None else External(f"{path}.{name}")
            case Code(kind="instance", target=Instance(cls=cls)):
                return self.home(cls.module)._instance_attribute(value, name, node, state)
            case Code(kind="class", target=Class() as cls, bound=inexact):
                if inexact and self._is_overridden(cls, name):
                    return UNKNOWN
                return self.home(cls.module)._class_attribute(cls, name, state)
            case Code(kind="super", target=Class() as cls, bound=instance):
                return self.home(cls.module)._super_attribute(cls, instance, name, state)
            case Unknown(_, handle) if handle:
                return self._unknown_attribute(value, name, node, state)
            case _:
                state.loosen((value,))  # a method of a list, say
                return UNKNOWN

    def _shape_of(self, facts: TensorFacts) -> Value:
        for axis, size in facts.partial.items():
            self.run.sizes.learn(facts.handle, axis, size)
        return ShapeOf(facts.handle)

    def _unknown_attribute(
        self, value: Unknown, name: str, node: cst.CSTNode, state: State
    ) -> Value:
        if name == "shape":
            rank = state.ranks.get(value.handle)
            if rank is not None:
                facts = self.tensor_of(value, state)
                assert facts is not None
                return Items(tuple(expressions.from_dim(size) for size in facts.shape or ()))
            return ShapeOf(value.handle)
        if name == "__dict__":
            state.forget_attributes(value.handle)
            state.forget_loose()
            return opaque(True)
        if name in ("T", "mT", "H", "data", "dtype", "device", "ndim"):
            facts = self.tensor_of(value, state)
            if facts is not None and (
                facts.shape is not None or name in ("data", "dtype", "device")
            ):
                found = torch.attribute(facts, name)
                if found is not None and not isinstance(found, (Unknown, DType, Device)):
                    return self.torch_result(found, facts, node, name, state)
        return self.memo((value.handle, name), state)

    def set_attribute(self, owner: Value, name: str, value: Value, state: State) -> None:
        match owner:
            case Code(kind="instance", target=Instance() as target):
                if name in target.cls.properties:
                    state.loosen((value,))
                    state.forget_instance(target.uid)
                    state.names.pop((target.uid, name), None)
                else:
                    state.bind((target.uid, name), value)
            case Unknown(_, handle):
                if name == "data":
                    state.forget_tensors()
                state.set_unknown(name, value)
                if handle:
                    state.bind((handle, name), value)
            case TensorFacts() if name == "data":
                state.forget_tensors()
            case External(path):
                self.replaced.add(f"{path}.{name}")
            case AnyOf(values):
                state.loosen((value,))
                for one in values:
                    self.set_attribute(one, name, UNKNOWN, state)
            case _:
                pass

    def _instance_attribute(self, value: Code, name: str, node: cst.CSTNode, state: State) -> Value:
        instance: Instance = value.target
        key = (instance.uid, name)
        found = state.names.get(key)
        if found is not None:
            return found
        if name in ("__dict__", "__setattr__"):
            self.forget_object(instance, state)
            return opaque(True)
        if not instance.exact and self._is_overridden(instance.cls, name):
            return self._computed(key, state)
        method = instance.cls.method(name)
        changes = self.module.changes
        if method is not None and (changes.assigners(name) or name in changes.own):
            return self._computed(key, state)
        if method is not None:
            owner, definition = method
            bound = Code("method", self.function_of(definition, owner), value)
            kinds = {d.rpartition(".")[2] for d in definition.decorators}
            if kinds & {"property", "cached_property"}:
                got = functions.run_function(self, bound.target, Arguments(), state, node, value)
                if "cached_property" in kinds:
                    state.bind(key, got)
                return got
            return bound
        inherited = self._class_attribute(instance.cls, name, state)
        if not isinstance(inherited, Unknown):
            return inherited
        return self._computed(key, state)

    def _computed(self, key: tuple[Hashable, str], state: State) -> Value:
        """An attribute that a method may give: any of those that the object has."""
        held = [v for k, v in state.names.items() if isinstance(k, tuple) and k[0] == key[0]]
        state.loosen(held)
        return self.memo(key, state)

    def _class_attribute(self, cls: Class, name: str, state: State) -> Value:
        for each in cls.lineage():
            if name in each.names:
                value = each.names[name]
                if self.is_written_elsewhere(each, name) or each.is_parameterized:
                    return UNKNOWN
                if name in self.module.changes.held and objects_in(value):
                    state.loosen((value,))
                    return UNKNOWN
                return state.as_changed(without_contents(value))
            if any(d.name == name for d in each.definition.children):
                break
        method = cls.method(name)
        if method is None:
            return UNKNOWN
        function = self.function_of(method[1], method[0])
        if "classmethod" in method[1].decorators:
            return Code("method", function, Code("class", cls))
        return Code("unbound", function)

    def _super_attribute(self, cls: Class, instance: Value, name: str, state: State) -> Value:
        """What comes behind a class: with `self` of a subclass, that may be a class it knows nothing of."""
        target = instance.target if isinstance(instance, Code) else None
        kin = {cls: None}
        if isinstance(target, Instance):
            kin = {target.cls: None} if cls in target.cls.lineage() else kin
            if not target.exact:
                kin.update(dict.fromkeys(self._classes.values()))
        orders = (each.lineage() for each in kin if cls in each.lineage())
        found = dict.fromkeys(
            next((b for b in order[order.index(cls) + 1 :] if name in b.definition.methods), None)
            for order in orders
        )
        return any_of(
            Code("nothing", name, instance)
            if base is None
            else Code("method", self.function_of(base.definition.methods[name], base), instance)
            for base in found
        )

    def is_written_elsewhere(self, cls: Class, name: str) -> bool:
        """Whether any code but the constructors of the class assigns an attribute of this name."""
        changes = self.module.changes
        if changes.everything:
            return True
        own = changes.own.get(name, frozenset())
        others = changes.assigners(name)
        if not own and not others:
            return False
        lineage = cls.lineage()
        methods = [c.definition.methods for c in lineage]
        constructors = {
            m[n].number for m in methods for n in ("__init__", "__post_init__") if n in m
        }
        kin = [c for c in self._classes.values() if c in lineage or cls in c.lineage()]
        related = {m.number for c in kin for m in c.definition.methods.values()}
        return bool((others | own & related) - constructors)

    def _is_overridden(self, cls: Class, name: str) -> bool:
        """Whether a subclass in the file gives the attribute another value."""
        return any(
            other is not cls and cls in other.lineage() and other.defines(name)
            for other in self._classes.values()
        )

    def called_unknown(self, name: str, state: State) -> None:
        """A method of something unknown is called: one of this name may be that of a loose object."""
        if state.loose and any(c.method(name) is not None for c in self._classes.values()):
            state.forget_loose({n for c in self._classes.values() for n in c.names})

    def forget_object(self, instance: Instance, state: State) -> None:
        """Forget the attributes of an object of the project, those its classes give it included."""
        state.forget_instance(instance.uid, {n for c in instance.cls.lineage() for n in c.names})

    # Classes and instances

    def function_of(self, definition: Definition, owner: Class | None = None) -> Function:
        assert isinstance(definition.node, cst.FunctionDef)
        if owner is not None and owner.module is not self.module:
            return self.home(owner.module).function_of(definition, owner)
        closure = owner.names if owner is not None and owner.definition.owner is not None else {}
        return Function(
            self.module,
            definition.node.params,
            definition.node.body,
            definition.name,
            closure,
            0,
            definition,
            self.defaults.get(definition, {}),
            self.stated.get(definition),
        )

    def make_class(self, node: cst.ClassDef, state: State) -> Code:
        definition = self.module.by_node[node]
        bases: list[Class] = []
        outside: list[str] = []
        for arg in node.bases:
            value = self.evaluate(arg.value, state)
            if isinstance(value, External):
                value = self.of_project(value.path) or value
            if isinstance(value, Code) and value.kind == "class":
                bases.append(value.target)
            else:
                outside.append(
                    value.path if isinstance(value, External) else dotted(arg.value) or "?"
                )
        inner = state.copy()
        inner.names = dict(state.names)
        cls = Class(definition, self.module, tuple(bases), tuple(outside))
        before = dict(inner.names)
        frame = self.new_frame(definition.name, self.frame.closure)
        self.run.frames.append(frame)
        try:
            statements.run_suite(self, suite(node.body), inner)
        finally:
            self.run.frames.pop()
        cls.names = {
            k: v
            for k, v in inner.names.items()
            if isinstance(k, str)
            and (k not in before or before[k] is not v)
            and not (isinstance(v, Code) and v.kind == "function")
            and k not in definition.methods
        }
        self._classes[definition] = cls
        return Code("class", cls)

    def class_of(self, definition: Definition) -> Class | None:
        return self._classes.get(definition)

    def receiver(self, definition: Definition) -> tuple[Value, dict[Hashable, Value]]:
        """An object as its class's constructor leaves it, for interpreting a method on its own.

        Attributes that other functions assign as well are left out: nothing certain is known of them.
        """
        found = self._instances.get(definition)
        if found is None:
            cls = self._classes.get(definition)
            kin = [c for c in self._classes.values() if cls is not None and cls in c.lineage()]
            if cls is None or any(c.is_odd for c in kin):
                return opaque(True), {}
            target = Instance(cls, exact=False)
            state = State(muted=1)
            # A stack of its own: the constructor may be the very function that is being interpreted.
            frames, self.run.frames = self.run.frames, [self.new_frame(definition.name, {})]
            self._instances[definition] = (target, {})
            try:
                with self.quiet():
                    functions.construct(self, target, None, state, definition.node)
            finally:
                self.run.frames = frames
            without = without_tensors if self.module.changes.reshapes else without_contents
            kept: dict[Hashable, Value] = {
                key: _movable(without(value)) if cls.is_torch_module else without(value)
                for key, value in state.names.items()
                if isinstance(key, tuple)
                and not self._may_differ(cls if key[0] == target.uid else None, str(key[1]), value)
            }
            found = self._instances[definition] = (target, kept)
        return Code("instance", found[0]), dict(found[1])

    def _may_differ(self, cls: Class | None, name: str, value: Value) -> bool:
        """Whether an attribute, of an object of the class or of any, may have another value when a method runs."""
        if cls is None:
            if self.module.changes.everything or any(
                number not in self.module.constructors
                for number in self.module.changes.assigners(name)
            ):
                return True
        elif self.is_written_elsewhere(cls, name) or self._is_overridden(cls, name):
            return True
        return name in self.module.changes.held and bool(objects_in(value))

    # Parameters

    def parameter_value(
        self,
        param: cst.Param,
        state: State,
        dims: dict[str, Dim],
    ) -> Value:
        """A parameter of which only what its function says of it is known."""
        return self.as_said(param, opaque(), state, dims)

    def as_said(
        self, param: cst.Param, unknown: Unknown, state: State, dims: dict[str, Dim]
    ) -> Value:
        """An unknown argument as its parameter's annotation, name and docstring say it is, where they count."""
        if defaults_to_none(param.default):
            return unknown
        value: Value = unknown
        if param.annotation is not None:
            value = self.from_annotation(param.annotation.annotation, unknown, state, dims, param)
        claimed = self.claimed(param)
        if claimed is None or not _is_open(value):
            return value
        handle = unknown.handle or new_handle()
        return self.with_axes(claimed[0], None, handle, claimed[1], state, dims)

    def claimed(self, node: cst.Param | cst.Name) -> tuple[Axes, Made] | None:
        """The axes that a name, or the docstring of the function of a parameter, claims where the project says so."""
        conventions = self.run.conventions
        name = node.value if isinstance(node, cst.Name) else node.name.value
        if conventions.suffix_shapes:
            axes = claims.of_name(name)
            if axes is not None:
                return axes, Made(node, "its name", self.module)
        if conventions.docstring_shapes and isinstance(node, cst.Param):
            definition = self.frame.definition
            axes = definition.said.get(name) if definition is not None else None
            if axes is not None:
                return axes, Made(node, "the docstring", self.module)
        return None

    def from_annotation(
        self,
        node: cst.BaseExpression,
        unknown: Unknown,
        state: State,
        dims: dict[str, Dim] | None = None,
        where: cst.CSTNode | None = None,
    ) -> Value:
        text = annotations.text_of(self, node, state)
        if text is None:
            return unknown
        handle = unknown.handle or new_handle()
        plain = text.rpartition(".")[2]
        if plain == "int":
            return Integer(self.run.sizes.number(handle, where_name(where) or "n"))
        if plain == "float":
            return NUMBER
        if plain in ("bool", "str"):
            return Unknown(True, handle)
        annotation = parse(text)
        specs = list(annotation.tensors)
        if annotation.others or annotation.optional or not specs:
            return unknown
        axes, dtypes = specs[0].axes, specs[0].dtypes
        if len(specs) > 1:
            return Unknown(True, handle)
        if axes is None:
            return TensorFacts(handle=handle)
        made = Made(where or node, f'the annotation "{" ".join(axes.names)}"', self.module)
        return self.with_axes(axes, dtypes, handle, made, state, dims if dims is not None else {})

    def with_axes(
        self,
        axes: Axes,
        dtypes: frozenset[str] | None,
        handle: int,
        made: Made,
        state: State,
        bound: dict[str, Dim],
    ) -> TensorFacts:
        """A tensor of which somebody wrote down the axes. `bound`: the sizes of the names used so far."""
        shape: tuple[Dim, ...] | None = None
        if axes.variadic is None:
            shape = tuple(self._annotated_size(name, bound) for name in axes.names)
            state.ranks[handle] = len(shape)
            for axis, size in enumerate(shape):
                self.run.sizes.learn(handle, axis, size)
        return TensorFacts(
            shape=shape,
            dtypes=dtypes if dtypes is not None and len(dtypes) <= 2 else None,
            tags=provenance.annotated(axes.names),
            origins=dict.fromkeys(ASPECTS, made),
            handle=handle,
        )

    def _annotated_size(self, name: str, bound: dict[str, Dim]) -> Dim:
        if name.lstrip("-").isdigit():
            return int(name)
        if name.isidentifier() and name != "_":
            if name not in bound:
                bound[name] = symbol(name)
            return bound[name]
        evaluated = evaluate(name, bound)
        return evaluated if evaluated is not None else symbol(name)

    # Running

    def run_module(self) -> None:
        frame = self.new_frame("<module>", {})
        self.run.frames.append(frame)
        state = State(self.globals, loose=self.loose)
        try:
            end = statements.run_suite(self, self.module.body, state)
        finally:
            self.run.frames.pop()
        if end is not None:
            self.globals = end.names


#: Operations whose floating results have another dtype under `torch.autocast`.
CASTING = frozenset(
    words(
        "@ matmul mm bmm addmm addbmm baddbmm addmv mv linear einsum scaled_dot_product_attention conv1d conv2d "
        "chain_matmul multi_dot bilinear Linear Conv1d exp log log10 log1p log2 expm1 pow ** rsqrt reciprocal softmax "
        "log_softmax softmin softplus layer_norm group_norm rms_norm norm normalize cumsum cumprod prod sum dist "
        "cdist renorm acos asin cosh sinh tan erfinv cosine_similarity logsumexp"
    )
)


def _without_float_dtypes(value: Value) -> Value:
    match value:
        case TensorFacts(dtypes=dtypes) if dtypes is not None:
            floats = any("float" in dtype for dtype in dtypes)
            return replace(value, dtypes=None) if floats else value
        case Items(items, kind):
            return Items(tuple(map(_without_float_dtypes, items)), kind, value.identity)
        case AnyOf(values):
            return any_of(map(_without_float_dtypes, values))
        case _:
            return value


def _movable(value: Value) -> Value:
    """An attribute of a torch module, which whoever owns the module moves and converts: `model.to(...)`."""
    match without_contents(value):
        case TensorFacts(dtypes=dtypes) as facts:
            if dtypes is not None and any("float" in dtype for dtype in dtypes):
                dtypes = None
            return replace(facts, device=None, dtypes=dtypes)
        case AnyOf(values):
            return any_of(map(_movable, values))
        case other:
            return other


def _is_open(value: Value) -> bool:
    """Whether nothing is known of a value that may be a tensor, its rank least of all."""
    return isinstance(value, Unknown) or (isinstance(value, TensorFacts) and value.shape is None)


def _share(found: Value, names: Mapping[Hashable, Value], others: Iterable[str]) -> bool:
    """Whether a value may be, or hold, an object that another name has as well."""
    held = reached(found) if others else ()
    return bool(held) and any(
        not held.isdisjoint(reached(names[name])) for name in others if name in names
    )


def _is_code(value: Value) -> bool:
    return isinstance(value, (Code, External))


def where_name(node: cst.CSTNode | None) -> str:
    return node.name.value if isinstance(node, cst.Param) else ""
