"""The fast path: a straight-line function, written from a contract, that passes a call that keeps it.

It answers True only where no rule and no annotation can object. False means "ask": the slow path alone decides.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from kdacheck.contracts.annotations import Annotation, TensorSpec
from kdacheck.contracts.call import Call, names_in
from kdacheck.contracts.clauses import (
    AtMost,
    Covers,
    Dense,
    Drift,
    Elements,
    Exclusive,
    Form,
    Multiple,
    Needs,
    OneOf,
    Packed,
    PackedWidth,
    PerSequence,
    PoolPair,
    PowerOfTwo,
    ReadOnlyWith,
    SameDevice,
    SameDtype,
    Swallows,
    Together,
    VFirst,
    Within,
)
from kdacheck.contracts.model import Parameter as Formal
from kdacheck.facts import Literal, is_dense
from kdacheck.runtime.reading import Signature

Checker = Callable[..., bool]

_TORCH = {
    name: getattr(torch, name)
    for name in [
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    ]
    if hasattr(torch, name)
}

_SCALARS = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "None": (type(None),),
}


def compile_checker(signature: Signature) -> Checker:
    """The checker of a contract. It takes what the callee takes, and raises TypeError for what cannot be bound."""
    writer = _Writer(signature)
    source = writer.write()
    scope = dict(writer.scope)
    name = f"<kdacheck checker of {signature.contract.name}>"
    exec(compile(source, name, "exec"), scope)
    checker = scope["check"]
    checker.source = source
    return checker


def drift_limit(signature: Signature) -> int:
    """How many positional arguments may be passed before one may stand in for an operand that is left out.

    A required operand that is left out cannot be bound, and what a drifted position holds is looked at itself.
    """
    named = signature.contract.by_name
    positions = [
        law.position
        for law in signature.contract.each(Drift)
        if law.was in named and not named[law.was].required
    ]
    return min(positions, default=sys.maxsize)


def all_ints(value: Any) -> bool:
    """Whether a value is a tensor whose sizes can be compared without leaving a guard in somebody's trace."""
    return isinstance(value, Tensor) and all(type(size) is int for size in value.shape)


def trailing_dense(value: Tensor, count: int) -> bool:
    """Whether the last `count` axes do not certainly lie apart in memory."""
    shape = value.shape
    if len(shape) < count or 0 in shape:
        return True
    return is_dense(shape[-count:], value.stride()[-count:]) is not False


class _Writer:
    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.contract = signature.contract
        self.scope: dict[str, Any] = {
            "_T": Tensor,
            "_P": Parameter,
            "_is": isinstance,
            "_int": all_ints,
            "_dense": trailing_dense,
            "_flags": (bool, int, type(None)),
        }
        self.lines: list[str] = []
        self.depth = 1
        #: names bound on every path so far, names that may be bound (-1 where not), sizes to be judged at the end
        self.certain: set[str] = set()
        self.maybe: set[str] = set()
        self.late: list[tuple[str, str]] = []
        #: (parameter, axis) -> the local variable that holds the size where the parameter is certainly a tensor
        self.sizes: dict[tuple[str, int], str] = {}
        self.flags: set[str] = set()
        self.serial = 0
        #: the offsets that N was taken from, see `offsets`
        self.counted = ""
        #: what required parameters have already shown: axes -> a shape and its sizes, dtypes -> a dtype
        self.shapes: dict[tuple[str, ...], tuple[str, list[str]]] = {}
        self.dtypes: dict[frozenset[Any], str] = {}

    # what is written

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def refuse(self, condition: str) -> None:
        self.put(f"if {condition}: return False")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.put("pass")
        self.depth -= 1

    def constant(self, value: Any) -> str:
        name = f"_c{len(self.scope)}"
        self.scope[name] = value
        return name

    def fresh(self) -> str:
        self.serial += 1
        return f"_s{self.serial}"

    @staticmethod
    def dim(name: str) -> str:
        return f"_d_{name}"

    def write(self) -> str:
        self.scan()
        body_start = len(self.lines)
        required = [p for p in self.parameters() if self.unconditional(p)]
        optional = [p for p in self.parameters() if not self.unconditional(p)]
        pending: list[tuple[str, str]] = []
        for parameter in required:
            self.tensor(parameter, pending)
        for size, text in pending:
            if names_in(text) <= self.certain:
                self.expression(size, text)
            else:
                late = self.fresh()
                self.put(f"{late} = {size}")
                self.late.append((late, text))
        self.offsets(optional)
        self.sequences()
        for parameter in optional:
            with self.block(f"if {parameter.name} is not None:"):
                self.tensor(parameter, None)
        for size, text in self.late:
            self.expression(size, text, guard=f"{size} >= 0")
        self.clauses()
        self.scalars()
        self.put("return True")
        body = self.lines[body_start:]
        head = [f"def check({self.signature_text()}):"]
        head += [f"    {self.dim(name)} = -1" for name in sorted(self.maybe)]
        head += [f"    {size} = -1" for size, _ in self.late]
        for flag in sorted(self.flags):
            head.append(f"    if {flag}.__class__ not in _flags: return False")
        swallows = self.contract.first(Swallows)
        if swallows is not None:
            head.append(
                f"    if _more and not _more.keys() <= {self.constant(frozenset(swallows.reads))}: return False"
            )
        return "\n".join([*head, *body]) + "\n"

    def signature_text(self) -> str:
        parts: list[str] = []
        starred = False
        only = self.signature.positional_only
        for parameter in self.contract.parameters:
            if parameter.keyword_only and not starred:
                parts.append("*_args" if self.signature.takes_more else "*")
                starred = True
            text = parameter.name
            if not parameter.required:
                text += f"={self.constant(parameter.default)}"
            parts.append(text)
            if only and parameter.name == only[-1]:
                parts.append("/")
        if self.signature.takes_more and not starred:
            parts.append("*_args")
        if self.signature.takes_keywords or self.contract.swallows:
            parts.append("**_more")
        return ", ".join(parts)

    def scan(self) -> None:
        """Which flags are asked as booleans."""
        for law in self.contract.clauses:
            names: tuple[str | None, ...] = ()
            match law:
                case Form(_, _, flag, _) | VFirst(_, flag, _) | Elements(_, _, _, flag, _):
                    names = (flag,)
                case ReadOnlyWith(flag, _):
                    names = (flag,)
                case Needs(flags, companions):
                    names = (*flags, *companions)
                case Within(_, _, _, flags):
                    names = flags
                case Dense(_, _, _, unless):
                    names = (unless,)
                case _:
                    pass
            self.flags.update(n for n in names if n is not None and self.is_flag(n))

    def is_flag(self, name: str) -> bool:
        parameter = self.contract.by_name.get(name)
        return parameter is not None and isinstance(parameter.default, bool)

    def on(self, name: str) -> str:
        """The condition under which `Call.on` says True."""
        return name if self.is_flag(name) else f"{name} is not None and {name} is not False"

    def off(self, name: str) -> str:
        return f"not {name}" if self.is_flag(name) else f"({name} is None or {name} is False)"

    # tensors

    def parameters(self) -> Iterator[Formal]:
        for parameter in self.contract.parameters:
            annotation = parameter.annotation
            if annotation.tensors and not annotation.others:
                yield parameter

    @staticmethod
    def unconditional(parameter: Formal) -> bool:
        # a default that the annotation forbids is never checked: beartype looks at what is passed
        return not parameter.annotation.optional and parameter.required

    def tensor(self, parameter: Formal, pending: list[tuple[str, str]] | None) -> None:
        name = parameter.name
        self.refuse(
            f"{name}.__class__ is not _T and {name}.__class__ is not _P and not _int({name})"
        )
        self.forms(parameter, self.form_flags(name), {}, pending)

    def form_flags(self, name: str) -> list[str]:
        flags = [law.flag for law in self.contract.each(Form) if law.parameter == name]
        flags += [f.flag for f in self.contract.each(VFirst) if name in f.states and f.flag]
        return list(dict.fromkeys(flags))

    def forms(
        self,
        parameter: Formal,
        flags: Sequence[str],
        known: dict[str, bool],
        pending: list[tuple[str, str]] | None,
    ) -> None:
        """Branch on the flags that choose among the forms of an annotation."""
        if not flags:
            arguments = {
                flag: Literal(value if self.is_flag(flag) else (1 if value else None))
                for flag, value in known.items()
            }
            call = Call(self.contract, arguments)
            branched = pending is None or bool(known)
            self.annotation(parameter.name, call.annotation(parameter.name), branched, pending)
            return
        flag, rest = flags[0], flags[1:]
        with self.block(f"if {self.on(flag)}:"):
            self.forms(parameter, rest, {**known, flag: True}, pending)
        with self.block("else:"):
            self.forms(parameter, rest, {**known, flag: False}, pending)

    def annotation(
        self,
        name: str,
        annotation: Annotation,
        branched: bool,
        pending: list[tuple[str, str]] | None,
    ) -> None:
        specs = _merged(annotation.tensors)
        if len(specs) == 1:
            self.spec(name, specs[0], branched, pending)
            return
        if any(spec.axes is None or spec.axes.rank is None for spec in specs):
            self.put("return False")
            return
        ranks = sorted(
            {spec.axes.rank for spec in specs if spec.axes and spec.axes.rank is not None}
        )
        rank = self.fresh()
        self.put(f"{rank} = {name}.ndim")
        word = "if"
        for count in ranks:
            of_rank = [s for s in specs if s.axes and s.axes.rank == count]
            with self.block(f"{word} {rank} == {count}:"):
                if len(of_rank) == 1:
                    self.spec(name, of_rank[0], True, None)
                else:
                    self.put("return False")
            word = "elif"
        with self.block("else:"):
            self.put("return False")

    def spec(
        self, name: str, spec: TensorSpec, branched: bool, pending: list[tuple[str, str]] | None
    ) -> None:
        self.dtype(name, spec.dtypes, branched)
        axes = spec.axes
        if axes is None:
            return
        wanted: list[tuple[str, str, int]] = []
        if axes.variadic is None:
            known = self.shapes.get(axes.names)
            if known is not None:
                shape, sizes = known
                self.refuse(f"{name}.shape != {shape}")
                self.sizes.update({(name, at): size for at, size in enumerate(sizes)})
                return
            variables = [self.fresh() for _ in axes.names]
            if variables:
                shape = f"{name}.shape"
                if not branched and all(t.isidentifier() and t != "_" for t in axes.names):
                    shape = self.fresh()
                    self.shapes[axes.names] = shape, variables
                    self.put(f"{shape} = {name}.shape")
                self.put(f"{', '.join(variables)}{',' if len(variables) == 1 else ''} = {shape}")
            else:
                self.refuse(f"{name}.ndim")
            wanted = list(zip(variables, axes.names, range(len(variables)), strict=True))
        elif len(axes.names) > 1:
            shape = self.fresh()
            self.put(f"{shape} = {name}.shape")
            self.refuse(f"len({shape}) < {len(axes.names) - 1}")
            for index, text in enumerate(axes.names):
                if index != axes.variadic:
                    size = self.fresh()
                    at = index if index < axes.variadic else index - len(axes.names)
                    self.put(f"{size} = {shape}[{at}]")
                    wanted.append((size, text, at))
            before, after = axes.variadic, len(axes.names) - 1 - axes.variadic
            self.rest(
                axes.names[axes.variadic], f"{shape}[{before}:len({shape})-{after}]", branched
            )
        else:
            self.rest(axes.names[axes.variadic], f"{name}.shape", branched)
        for size, text, at in wanted:
            if not branched and at >= 0:
                self.sizes[name, at] = size
            if text == "_":
                continue
            if text.isidentifier():
                self.bind(size, text, branched)
            elif text.isdecimal():
                self.refuse(f"{size} != {text}")
            elif not branched and pending is not None:
                pending.append((size, text))
            elif names_in(text) <= self.certain:
                self.expression(size, text)
            else:
                late = self.fresh()
                self.put(f"{late} = {size}")
                self.late.append((late, text))

    def rest(self, text: str, sizes: str, branched: bool) -> None:
        """The axes of `*name`, which are the same wherever it stands."""
        if text == "...":
            return
        variable = self.dim(f"rest_{text[1:]}")
        if text in self.certain:
            self.refuse(f"{sizes} != {variable}")
        elif branched:
            self.put("return False")
        else:
            self.certain.add(text)
            self.put(f"{variable} = {sizes}")

    def bind(self, size: str, text: str, branched: bool) -> None:
        variable = self.dim(text)
        if text in self.certain:
            self.refuse(f"{size} != {variable}")
        elif text in self.maybe or branched:
            self.maybe.add(text)
            self.put(f"if {variable} < 0: {variable} = {size}")
            self.put(f"elif {size} != {variable}: return False")
        else:
            self.certain.add(text)
            self.put(f"{variable} = {size}")

    def expression(self, size: str, text: str, guard: str = "") -> None:
        """Refuse a size that is not what a computed axis comes to, where all its names are bound."""
        names = names_in(text)
        if not names <= self.certain | self.maybe:
            return
        code = self.code_of(text)
        if code is None:
            return
        guards = [guard, *(f"{self.dim(n)} >= 0" for n in sorted(names - self.certain))]
        self.refuse(" and ".join([*filter(None, guards), f"{size} != {code}"]))

    def code_of(self, text: str) -> str | None:
        """A computed axis as code, None where it is not one of sums, products and quotients."""
        try:
            tree = ast.parse(text.strip("{}"), mode="eval")
        except SyntaxError:
            return None
        for node in ast.walk(tree):
            allowed = (ast.Expression, ast.BinOp, ast.Name, ast.Constant, ast.Load)
            operators = (ast.Mult, ast.Add, ast.Sub, ast.FloorDiv)
            if not isinstance(node, (*allowed, *operators)):
                return None
        return re.sub(r"[A-Za-z_]\w*", lambda m: self.dim(m.group()), ast.unparse(tree))

    def dtype(self, name: str, dtypes: frozenset[str] | None, branched: bool) -> None:
        if dtypes is None:
            return
        members = frozenset(_TORCH[d] for d in dtypes if d in _TORCH)
        if len(members) == 1:
            self.refuse(f"{name}.dtype is not {self.constant(next(iter(members)))}")
        elif members in self.dtypes:
            # most operands share one dtype, and identity is asked faster than membership
            known, held = self.dtypes[members].split()
            self.refuse(f"{name}.dtype is not {known} and {name}.dtype not in {held}")
        else:
            known, held = self.fresh(), self.constant(members)
            self.put(f"{known} = {name}.dtype")
            self.refuse(f"{known} not in {held}")
            if not branched:
                self.dtypes[members] = f"{known} {held}"

    # clauses

    def offsets(self, optional: list[Formal]) -> None:
        """The usual case of one list of offsets, `"N+1"`: it binds N, and its size is asked for once."""
        bys = {law.by for law in self.contract.each(PerSequence)}
        parameter = next((p for p in optional if {p.name} == bys), None)
        if parameter is None or self.form_flags(parameter.name):
            return
        specs = _merged(parameter.annotation.tensors)
        if len(specs) != 1 or specs[0].axes is None or specs[0].axes.names != ("N+1",):
            return
        if "N" in self.certain | self.maybe:
            return
        optional.remove(parameter)
        name = parameter.name
        self.maybe.add("N")
        self.counted = name
        with self.block(f"if {name} is not None:"):
            self.put(f"if {name}.__class__ is not _T and not _int({name}): return False")
            self.dtype(name, specs[0].dtypes, True)
            self.put(f"{self.dim('N')}, = {name}.shape")
            self.put(f"{self.dim('N')} -= 1")
            self.refuse(f"{self.dim('N')} < 1")

    def sequences(self) -> None:
        """Bind N as `kdacheck.contracts.call.unify` does: by the offsets, else by the batch."""
        word, seen = "if", set()
        for law in self.contract.each(PerSequence):
            if (law.by, law.dense) in seen:
                continue
            seen.add((law.by, law.dense))
            if law.by == self.counted:
                if self.counts_by(law.dense):
                    with self.block(f"if {law.by} is None:"):
                        self.bind(self.dim(law.dense or ""), "N", True)
                break
            with self.block(f"{word} _is({law.by}, _T) and {law.by}.ndim == 1:"):
                self.bind(f"({law.by}.shape[0] - 1)", "N", True)
            word = "elif"
            if self.counts_by(law.dense):
                with self.block(f"elif {law.by} is None:"):
                    self.bind(self.dim(law.dense or ""), "N", True)

    def counts_by(self, dense: str | None) -> bool:
        """Whether a dimension stands for the sequences of a dense call: by an argument of fixed rank that has it."""
        return dense in self.certain | self.maybe and any(
            len(specs) == 1
            and specs[0].axes
            and specs[0].axes.rank
            and dense in specs[0].axes.names
            for specs in (parameter.annotation.tensors for parameter in self.parameters())
        )

    def clauses(self) -> None:
        offsets = [n for n, role in self.contract.roles.items() if role == "offsets"]
        for name in offsets:
            if name == self.counted:
                continue
            self.refuse(f"_is({name}, _T) and {name}.ndim == 1 and {name}.shape[0] < 2")
        done: set[str] = set()
        for law in self.contract.clauses:
            lines = len(self.lines)
            self.clause(law)
            written = "\n".join(self.lines[lines:])
            if written in done:
                del self.lines[lines:]
            done.add(written)

    def clause(self, law: Any) -> None:
        match law:
            case Packed(operands, by):
                self.packed(operands, by)
            case Elements(parameter, count, more, flag, value):
                self.elements(parameter, count, more, flag, value)
            case Dense(parameters, trailing, _, unless):
                self.dense(parameters, trailing, unless)
            case ReadOnlyWith(flag, parameters):
                given = " or ".join(f"{n} is not None" for n in parameters)
                self.refuse(f"{self.off(flag)} and ({given})")
            case Needs(flags, companions):
                wanted = [self.on(f) for f in flags] + [self.off(c) for c in companions]
                self.refuse(" and ".join(wanted))
            case Within(parameter, low, high, flags):
                when = [self.on(f) for f in flags]
                when.append(
                    f"not (_is({parameter}, (int, float)) and {low} <= {parameter} < {high})"
                )
                given = f"{parameter} is not None and {parameter}.__class__ is not bool"
                self.refuse(" and ".join([given, *when]))
            case OneOf(parameter, values):
                held = self.constant(frozenset((*values, None)))
                self.refuse(f"{parameter}.__class__ not in _plain or {parameter} not in {held}")
                self.scope["_plain"] = (int, float, str, bool, type(None))
            case PoolPair(pool, indices):
                self.refuse(f"{pool} is None or {indices} is None")
            case Together(parameters):
                some = " or ".join(f"{n} is not None" for n in parameters)
                none = " or ".join(f"{n} is None" for n in parameters)
                self.refuse(f"({some}) and ({none})")
            case Exclusive(parameters):
                given = " + ".join(f"({n} is not None)" for n in parameters)
                self.refuse(f"{given} > 1")
            case Multiple(big, small):
                self.dims((big, small), "{1} and {0} % {1}")
            case AtMost(dim, limit):
                self.dims((dim,), f"{{0}} > {limit}")
            case PowerOfTwo(dims):
                for dim in dims:
                    self.dims((dim,), "{0} < 1 or {0} & ({0} - 1)")
            case Covers(long, short, axis):
                self.covers(long, short, axis)
            case PackedWidth(parameter):
                self.width(parameter)
            case SameDevice(but):
                self.device(but)
            case SameDtype(parameters):
                self.same_dtype(parameters)
            case Drift(position, _, _, _) if position < len(self.contract.positional):
                parameter = self.contract.positional[position]
                kinds = set(parameter.annotation.others)
                if kinds and kinds <= {"bool", "int", "float", "str"}:
                    self.refuse(f"_is({parameter.name}, _T)")
            case _:
                pass

    def dims(self, names: tuple[str, ...], broken: str) -> None:
        if not set(names) <= self.certain | self.maybe:
            return
        guards = [f"{self.dim(n)} >= 0" for n in names if n not in self.certain]
        condition = broken.format(*map(self.dim, names))
        self.refuse(" and ".join([*guards, f"({condition})"]))

    def given(self, name: str) -> str:
        """The condition under which a parameter is a tensor, "" where it certainly is one by now."""
        parameter = self.contract.by_name[name]
        annotation = parameter.annotation
        if annotation.tensors and not annotation.others:
            return "" if self.unconditional(parameter) else f"{name} is not None"
        return f"_is({name}, _T)"

    def when(self, name: str, *conditions: str) -> None:
        self.refuse(" and ".join(filter(None, (self.given(name), *conditions))))

    def packed(self, operands: tuple[str, ...], by: str) -> None:
        asked: set[str] = set()
        with self.block(f"if {by} is not None:"):
            for name in operands:
                annotation = self.contract.by_name[name].annotation
                first = {spec.axes.names[:1] for spec in annotation.tensors if spec.axes}
                axis = next(iter(first))[0] if len(first) == 1 and next(iter(first)) else ""
                if axis == "1":
                    continue
                if axis.isidentifier() and axis in self.certain | self.maybe and axis != "_":
                    if axis not in asked:
                        asked.add(axis)
                        guard = "" if axis in self.certain else f"{self.dim(axis)} >= 0 and "
                        self.refuse(f"{guard}{self.dim(axis)} != 1")
                elif (name, 0) in self.sizes:
                    self.refuse(f"{self.sizes[name, 0]} != 1")
                else:
                    self.when(name, f"{name}.ndim and {name}.shape[0] != 1")

    def elements(self, name: str, count: str, more: bool, flag: str | None, value: bool) -> None:
        names = names_in(count)
        code = self.code_of(count)
        if code is None or not names <= self.certain | self.maybe:
            return
        guards = [f"{self.dim(n)} >= 0" for n in sorted(names - self.certain)]
        if flag is not None:
            guards.append(self.on(flag) if value else self.off(flag))
        self.when(name, *guards, f"{name}.numel() {'<' if more else '!='} {code}")

    def dense(self, names: tuple[str, ...], trailing: int | None, unless: str | None) -> None:
        guard = self.off(unless) if unless is not None else ""
        for name in names:
            if trailing is None:
                self.when(name, guard, f"not {name}.is_contiguous()")
            else:
                self.when(
                    name, guard, f"not {name}.is_contiguous()", f"not _dense({name}, {trailing})"
                )

    def covers(self, long: tuple[str, ...], short: str, axis: int) -> None:
        def size(name: str) -> str:
            return self.sizes.get((name, axis), f"{name}.shape[{axis}]")

        for name in long:
            self.when(name, self.given(short), f"{size(name)} < {size(short)}")

    def width(self, name: str) -> None:
        if not {"HV", "K", "V"} <= self.certain | self.maybe:
            return
        heads, key, value = map(self.dim, ("HV", "K", "V"))
        guards = [f"{self.dim(n)} >= 0" for n in ("HV", "K", "V") if n not in self.certain]
        width = self.sizes.get((name, 1), f"{name}.shape[-1]")
        self.scope["_wide"] = _no_width
        self.when(name, *guards, f"_wide({width}, {heads}, {key}, {value})")

    def device(self, but: tuple[str, ...]) -> None:
        first: str | None = None
        others: list[str] = []
        for parameter in self.contract.parameters:
            name, annotation = parameter.name, parameter.annotation
            if name in but or (annotation.others and set(annotation.others) <= set(_SCALARS)):
                continue
            if first is None and not self.given(name):
                first = name
            else:
                others.append(name)
        if first is None:
            self.some_device(others)
            return
        # to ask a tensor for its device makes an object, to ask whether it is on the host does not
        with self.block(f"if {first}.is_cpu:"):
            self.all_on(others, "{0}.is_cpu")
        with self.block("else:"):
            self.put(f"_device = {first}.device")
            self.all_on(others, "{0}.device == _device")

    def all_on(self, names: list[str], condition: str) -> None:
        for name in names:
            self.when(name, f"not {condition.format(name)}")

    def some_device(self, names: list[str]) -> None:
        self.put("_device = None")
        for name in names:
            with self.block(f"if {self.given(name)}:"):
                self.put(f"if _device is None: _device = {name}.device")
                self.put(f"elif {name}.device != _device: return False")

    def same_dtype(self, names: tuple[str, ...]) -> None:
        self.put("_dtype = None")
        for name in names:
            with self.block(f"if {self.given(name) or 'True'}:"):
                self.put(f"if _dtype is None: _dtype = {name}.dtype")
                self.put(f"elif {name}.dtype is not _dtype: return False")

    # what is no tensor

    def scalars(self) -> None:
        """A decorated function's own annotations of numbers, flags and other objects."""
        for parameter in self.contract.parameters:
            name, annotation = parameter.name, parameter.annotation
            if (annotation.tensors and not annotation.others) or name not in self.signature.hints:
                continue
            if not annotation.tensors and set(annotation.others) <= {"Any", "object"}:
                continue
            passed = ""
            if not parameter.required:
                passed = f"{name} is not {self.constant(parameter.default)} and "
            classes = [c for text in annotation.others for c in _SCALARS.get(text, ())]
            if annotation.tensors or not set(annotation.others) <= set(_SCALARS):
                test = self.constant(_bearable(self.signature.hints[name]))
                self.refuse(f"{passed}not {test}({name})")
                continue
            if annotation.optional:
                classes.append(type(None))
            kinds = self.constant(tuple(dict.fromkeys(classes)))
            self.refuse(f"{passed}not _is({name}, {kinds})")


def _merged(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """Alternatives of one shape as one, with the dtypes of all."""
    found: dict[Any, TensorSpec] = {}
    for spec in specs:
        held = found.get(spec.axes)
        if held is None:
            found[spec.axes] = spec
        else:
            both = held.dtypes is not None and spec.dtypes is not None
            dtypes = (held.dtypes or frozenset()) | (spec.dtypes or frozenset()) if both else None
            found[spec.axes] = TensorSpec(dtypes, spec.axes)
    return list(found.values())


def _no_width(width: int, heads: int, key: int, value: int) -> bool:
    rest = width - heads * value
    key_heads, odd = divmod(rest, 2 * key) if key else (0, 1)
    return bool(odd or key_heads < 1 or heads % key_heads)


def _bearable(hint: Any) -> Callable[[Any], bool]:
    from beartype.door import is_bearable

    from kdacheck.runtime.typechecked import CONF

    return functools.partial(_bears, is_bearable, hint, CONF)


def _bears(is_bearable: Callable[..., bool], hint: Any, conf: Any, value: Any) -> bool:
    return not isinstance(value, Tensor) and is_bearable(value, hint, conf=conf)
