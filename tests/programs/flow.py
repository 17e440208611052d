"""Random programs with control flow, functions, classes and containers around their tensors and kernels."""

from __future__ import annotations

import random
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.programs import kernels
from tests.programs.text import Text, is_small

HEADER = """\
import contextlib
import copy
import dataclasses
import functools
import itertools
from typing import NamedTuple

import einops
import torch
import torch.nn.functional as F
from elsewhere import Box, chance, handed, mangle, number, perhaps, risky
"""

#: Names of the parameters of functions that are interpreted on their own.
PARAMETERS = ("flag", "n", "opt", "xs", "x", "options")


@dataclass
class Random:
    """A program, and the functions of it that are to be called with random arguments."""

    text: str
    roots: list[str]
    constructs: Counter[str]


@dataclass
class Helper:
    """A function of the program: how it is called with arguments like those that it was written with."""

    name: str
    parameters: list[str]
    samples: list[Any]
    star: bool = False
    keywords: bool = False
    kind: str = "function"


@dataclass
class Made:
    """A class of the program."""

    name: str
    arguments: list[Any]
    attributes: list[str]
    methods: list[str]
    kind: str = "plain"


Statement = Callable[["Flow"], "bool | None"]
STATEMENTS: list[tuple[str, Statement]] = []


def statement(name: str, weight: int = 1) -> Callable[[Statement], Statement]:
    """A kind of statement. It returns False where it wrote nothing."""

    def register(write: Statement) -> Statement:
        STATEMENTS.extend([(name, write)] * weight)
        return write

    return register


class Flow(Text):
    """Writes a program. Every block is run once while it is written, whatever the conditions around it."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.depth = 0
        self.left = 0
        self.nesting = 0
        self.loops = 0
        self.functions = 0
        self.constructs: Counter[str] = Counter()
        self.owned: set[str] = set()
        self.own_names: set[str] = set()
        self.helpers: list[Helper] = []
        self.classes: list[Made] = []
        self.managers: list[str] = []
        self.reshapes = self.chance(0.2)
        self.odd = self.chance(0.3)
        self.calls: list[str] = []
        self.wrappers: dict[str, tuple[str, list[str]]] = {}
        exec(HEADER, self.scope)

    # writing

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, stem: str) -> str:
        name = super().fresh(stem)
        self.owned.add(name)
        self.own_names.add(name)
        return name

    def do(self, line: str) -> bool:
        """Run a line and write it; False where it fails."""
        try:
            exec(line, self.scope)
        except Exception:
            return False
        self.emit(line)
        return True

    def value(self, text: str) -> Any:
        """The value of an expression now. Raises whatever it raises."""
        return eval(text, self.scope)

    def put(self, name: str, expression: str) -> bool:
        """Write `name = expression`; False where it fails or is too large."""
        try:
            value = self.value(expression)
        except Exception:
            return False
        if not _is_small(value):
            return False
        self.scope[name] = value
        self.owned.add(name)
        self.own_names.add(name)
        self.emit(f"{name} = {expression}")
        return True

    def text(self, lines: str) -> None:
        """Write lines that are the same in many programs, and run them."""
        exec(lines, self.scope)
        self.lines += lines.splitlines()

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        start = len(self.lines)
        try:
            yield
        finally:
            if len(self.lines) == start:
                self.emit("pass")
            self.depth -= 1

    def block(self, most: int = 3) -> None:
        """Some statements, one level in."""
        with self.indented():
            self.nesting += 1
            self.body(self.random.randint(1, most))
            self.nesting -= 1

    def body(self, count: int) -> None:
        for _ in range(count):
            for _ in range(8):
                if self.left <= 0:
                    return
                name, write = self.random.choice(STATEMENTS)
                start = len(self.lines)
                if write(self) is not False:
                    self.constructs[name] += 1
                    self.left -= 1
                    break
                if len(self.lines) > start:
                    self.left -= 1
                    break

    # what there is

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one_of(self, *texts: str) -> str:
        return self.random.choice(texts)

    def named(self, kind: type | tuple[type, ...]) -> list[str]:
        return [
            name
            for name, value in self.scope.items()
            if name in self.own_names
            and isinstance(value, kind)
            and not (isinstance(value, bool) and kind is int)
            and not (isinstance(value, Tensor) and not is_small(value))
        ]

    def tensors(self) -> Sequence[Tensor]:
        return [self.scope[name] for name in self.tensor_names()]

    def tensor_names(self) -> list[str]:
        return [n for n in self.named(Tensor) if 0 not in self.scope[n].shape]

    def tensor(self) -> str:
        """The name of a tensor, made if there is none."""
        names = self.tensor_names()
        if names and self.chance(0.97):
            return self.random.choice(names[-8:] if self.chance(0.6) else names)
        name = self.fresh("t")
        self.put(name, kernels.made(self.random, self.some_shape(), self.one_of(*kernels.DTYPES)))
        return name

    def some_shape(self) -> tuple[int, ...]:
        return tuple(self.random.choice((1, 2, 3, 4)) for _ in range(self.random.randint(1, 4)))

    def target(self, name: str) -> str:
        """A name to bind: the very same one where it may be bound here, or another."""
        if name in self.owned and not name.startswith("i") and self.chance(0.55):
            return name
        return self.fresh("t")

    def expression(self, name: str) -> str:
        """A random operation on a tensor."""
        value = self.scope[name]
        if not isinstance(value, Tensor):
            return name
        for _ in range(4):
            if self.chance(0.5):
                text = self.operate(name)
            elif value.dim():
                text = self.random.choice(kernels.OPERATIONS)(self.random, name, value)
            else:
                text = f"{name}.reshape(1)"
            if text is not None:
                return text
        return name

    def some_size(self) -> str:
        """An int, as text."""
        choices = [str(self.random.choice((1, 2, 3, 4, 6)))]
        ints = [n for n in self.named(int) if 0 < self.scope[n] < 9]
        if ints:
            choices.append(self.random.choice(ints))
        name = self.random.choice(self.tensor_names() or [""])
        if name and self.scope[name].dim():
            axis = self.random.randrange(self.scope[name].dim())
            choices += [f"{name}.shape[{axis}]", f"{name}.size({axis})"]
        return self.random.choice(choices)

    def condition(self, deep: int = 0) -> str:
        """A condition that can be evaluated now."""
        for _ in range(6):
            text = self.some_condition(deep)
            try:
                bool(self.value(text))
            except Exception:
                continue
            return text
        return "chance()"

    def some_condition(self, deep: int) -> str:
        rng = self.random
        name = self.tensor()
        kind = rng.randrange(17)
        size = self.some_size()
        match kind:
            case 0 | 1 | 2:
                return self.one_of("chance()", "flag", "n > 1", "number() == 1", "not flag", "n")
            case 3:
                return self.one_of("opt is None", "opt is not None", "opt is None or chance()")
            case 4:
                return f"{name}.dim() {self.one_of('==', '>', '!=', '<=')} {rng.randint(1, 4)}"
            case 5:
                axis = rng.randint(-2, 2)
                return f"{name}.shape[{axis}] {self.one_of('==', '<', '>', '!=')} {size}"
            case 6:
                return f"{name}.{self.one_of('is_contiguous()', 'is_floating_point()', 'ndim')}"
            case 7:
                return self.one_of("True", "False", "0", "None", "[]", "1 < 2", "not []")
            case 8:
                return f"isinstance({name}, {self.one_of('torch.Tensor', 'dict', '(list, tuple)')})"
            case 9 if self.named(dict):
                return f"{self.one_of(repr('q'), repr('a'), repr('size'))} in {self.one_of(*self.named(dict))}"
            case 10:
                made = self.fresh("m")
                self.scope[made] = 1
                return f"({made} := {size}) > {rng.randint(0, 3)}"
            case 11 if deep < 2:
                both = self.condition(deep + 1), self.condition(deep + 1)
                return f"{both[0]} {self.one_of('and', 'or')} {both[1]}"
            case 12 if deep < 2:
                return f"not ({self.condition(deep + 1)})"
            case 13:
                return f"{name}.shape == {self.tensor()}.shape"
            case 14:
                return f"{name}.dtype == {self.one_of(*kernels.DTYPES)}"
            case 15:
                return f"{name} is {self.one_of('', 'not ')}{self.tensor()}"
            case _:
                return f"0 < {size} <= {rng.randint(1, 3)}"

    def argument(self, sample: Any) -> str:
        """An argument like another one."""
        rng = self.random
        if isinstance(sample, Tensor):
            alike = [n for n in self.tensor_names() if self.scope[n].dim() == sample.dim()]
            same = [n for n in alike if self.scope[n].shape == sample.shape]
            names = same if same and self.chance(0.6) else alike
            if names and self.chance(0.9):
                return rng.choice(names)
            name = self.tensor()
            return self.expression(name) if self.chance(0.4) else name
        if isinstance(sample, bool):
            return self.one_of("True", "False", "chance()", "flag")
        if isinstance(sample, int):
            return self.some_size()
        return repr(sample) if sample is None or isinstance(sample, str) else self.tensor()

    def run_definition(self, start: int) -> bool:
        """Run the function or class that was written last."""
        text = textwrap.dedent("\n".join(self.lines[start:])).replace("nonlocal ", "global ")
        try:
            exec(text, self.scope)
        except Exception:
            return False
        return True

    @contextmanager
    def function(self, parameters: dict[str, Any], generator: bool = False) -> Iterator[None]:
        """The body of a function: names bound in it are its own."""
        scope, owned, names = self.scope, self.owned, self.own_names
        loops, self.loops = self.loops, 0
        nesting, self.nesting = self.nesting, 0
        self.scope = {**scope, **parameters}
        self.owned, self.own_names = set(parameters), names | set(parameters)
        self.functions += 1
        try:
            with self.indented():
                yield
        finally:
            self.functions -= 1
            self.scope, self.owned, self.own_names = scope, owned, names
            self.loops, self.nesting = loops, nesting


def _is_small(value: Any) -> bool:
    if isinstance(value, Tensor):
        return is_small(value)
    if isinstance(value, tuple | list):
        return len(value) < 64 and all(map(_is_small, value))
    return not isinstance(value, int) or abs(value) < 10_000


# tensors and numbers


@statement("operation", 14)
def _operation(f: Flow) -> bool:
    name = f.tensor()
    return f.put(f.target(name), f.expression(name))


@statement("constructor", 3)
def _constructor(f: Flow) -> bool:
    sizes = [f.some_size() for _ in range(f.random.randint(1, 4))]
    maker = f.one_of("zeros", "ones", "randn", "empty")
    kind = f.one_of("", "", ", dtype=torch.bfloat16", ", dtype=torch.float64")
    return f.put(f.fresh("t"), f"torch.{maker}({', '.join(sizes)}{kind})")


@statement("number", 4)
def _number(f: Flow) -> bool:
    name = f.tensor()
    a, b = f.some_size(), f.some_size()
    text = f.one_of(
        f"{a} {f.one_of('+', '*', '-', '//', '%')} {b}",
        f"{name}.dim()",
        f"{name}.numel()",
        f"len({name}.shape)",
        f"max({a}, {b})",
        f"min({a}, {b})",
        f"{a} if {f.condition()} else {b}",
        f"number() + {a}",
        f"sum({name}.shape)",
        f"int({a})",
        f"abs(-{a})",
    )
    return f.put(f.fresh("k"), text)


@statement("shape unpacking", 3)
def _shape(f: Flow) -> bool:
    name = f.tensor()
    rank = f.scope[name].dim()
    if not rank:
        return False
    names = [f.fresh("k") for _ in range(rank)]
    if rank > 1 and f.chance(0.4):
        cut = f.random.randrange(rank)
        targets = ", ".join([*names[:cut], f"*{names[cut]}"])
        return f.do(f"{targets} = {name}.{f.one_of('shape', 'size()')}")
    return f.do(f"{', '.join(names)}{',' * (rank == 1)} = {name}.{f.one_of('shape', 'size()')}")


@statement("alias", 4)
def _alias(f: Flow) -> bool:
    a, b = f.tensor(), f.tensor()
    if f.chance(0.3) and {a, b} <= f.owned and a != b:
        return f.do(f"{a}, {b} = {b}, {a}")
    if f.chance(0.2):
        return f.do(f"{f.fresh('t')} = {f.fresh('t')} = {f.expression(a)}")
    return f.put(f.fresh("t"), a)


@statement("in place", 4)
def _in_place(f: Flow) -> bool:
    name = f.tensor()
    value = f.one_of("1", "2", f.tensor())
    line = f.one_of(
        f"{name}.add_({value})",
        f"{name}.mul_({value})",
        f"{name}.zero_()",
        f"{name}.fill_(1)",
        f"{name}.copy_({value if value in f.scope else f.tensor()})",
        f"{name}[...] = {value}",
        f"{name}[0] = {value}",
        f"{name}[:, :1] = 0",
        f"{name}.clamp_(min=0)",
    )
    if f.chance(0.3) and name in f.owned:
        line = f"{name} {f.one_of('+=', '*=', '-=')} {value}"
    return f.do(line)


@statement("in place, another shape", 3)
def _reshaped_in_place(f: Flow) -> bool:
    if not f.reshapes:
        return False
    name = f.tensor()
    value = f.scope[name]
    rank = max(1, value.dim())
    axis = f.random.randrange(rank)
    other = f.tensor()
    f.constructs["alias reshaped in place"] += sum(v is value for v in f.tensors()) > 1
    line = f.one_of(
        f"{name}.t_()",
        f"{name}.transpose_({axis}, {f.random.randrange(rank)})",
        f"{name}.unsqueeze_({axis})",
        f"{name}.squeeze_()",
        f"{name}.squeeze_({axis})",
        f"{name}.resize_({f.some_size()}, {f.some_size()})",
        f"{name}.set_({other})",
        f"{name}.data = {f.expression(other)}",
        f"{name}.swapaxes_({axis}, {f.random.randrange(rank)})",
        f"setattr({name}, 'data', {other})",
        f"torch.Tensor.t_({name})",
        f"handed({name}).t_()",
    )
    return f.do(line)


@statement("walrus", 2)
def _walrus(f: Flow) -> bool:
    name = f.tensor()
    made = f.fresh("t")
    return f.put(f.fresh("t"), f"({made} := {f.expression(name)}) + {made}") or False


@statement("conditional expression", 3)
def _either(f: Flow) -> bool:
    a, b = f.tensor(), f.tensor()
    first = f.expression(a) if f.chance(0.6) else a
    return f.put(f.target(a), f"{first} if {f.condition()} else {b}")


@statement("boolean operation", 2)
def _or(f: Flow) -> bool:
    name = f.tensor()
    return f.put(f.fresh("t"), f"{f.one_of('opt', 'perhaps()', 'None')} or {name}.shape") or False


@statement("default for None", 2)
def _default(f: Flow) -> bool:
    if "opt" not in f.owned:
        return False
    name = f.tensor()
    f.emit("if opt is None:")
    with f.indented():
        f.do(f"opt = {f.expression(name)}")
    return True


# control flow


def _may_nest(f: Flow) -> bool:
    return f.nesting < 3 and f.left > 2


@statement("if", 9)
def _if(f: Flow) -> bool:
    if not _may_nest(f):
        return False
    first, *rest = [f.condition() for _ in range(f.random.choice((1, 1, 1, 2, 3)))]
    f.emit(f"if {first}:")
    f.block()
    for condition in rest:
        f.constructs["elif"] += 1
        f.emit(f"elif {condition}:")
        f.block(2)
    if f.chance(0.5):
        f.constructs["else"] += 1
        f.emit("else:")
        f.block()
    return True


@statement("for", 6)
def _for(f: Flow) -> bool:
    if not _may_nest(f) or f.loops > 1:
        return False
    rng, name, made = f.random, f.tensor(), f.fresh("e")
    lists = f.named((list, tuple))
    dicts = f.named(dict)
    match rng.randrange(12):
        case 0 | 1:
            target, source, value = f.fresh("i"), f"range({rng.randint(0, 3)})", 0
        case 2:
            target, source, value = f.fresh("i"), f.one_of("range(n)", f"range({f.some_size()})"), 0
        case 3 if lists:
            source = rng.choice(lists)
            value = next(iter(f.scope[source]), None)
            target = made
        case 4:
            other = f.tensor()
            target, source, value = made, f"({name}, {other})", f.scope[name]
        case 5:
            target, source, value = made, "xs", next(iter(f.scope["xs"]), None)
        case 6:
            index = f.fresh("i")
            f.scope[index] = 0
            target, source, value = f"{index}, {made}", f"enumerate([{name}, {f.tensor()}])", None
            f.scope[made] = f.scope[name]
        case 7:
            other = f.fresh("e")
            target, source, value = f"{made}, {other}", f"zip(xs, [{name}, {f.tensor()}])", None
            f.scope[other] = f.scope[name]
        case 8 if dicts:
            key = f.fresh("key")
            table = rng.choice(dicts)
            target, source, value = f"{key}, {made}", f"{table}.items()", None
            f.scope[made] = next(iter(f.scope[table].values()), None)
            f.scope[key] = "a"
        case 9:
            target, source = made, name
            value = f.scope[name][0] if f.scope[name].dim() else None
        case 10:
            target, source, value = made, f"reversed([{name}, {f.tensor()}])", f.scope[name]
        case _:
            target, source, value = made, f"handed([{name}])", f.scope[name]
    f.emit(f"for {target} in {source}:")
    if "," not in target:
        f.scope[target] = value
    f.loops += 1
    f.block()
    with f.indented():
        _leave_loop(f)
    f.loops -= 1
    if f.chance(0.2):
        f.constructs["for else"] += 1
        f.emit("else:")
        f.block(2)
    return True


def _leave_loop(f: Flow) -> None:
    if f.chance(0.4):
        word = f.one_of("break", "continue", "break")
        f.constructs[word] += 1
        if f.chance(0.7):
            f.emit(f"if {f.condition()}:")
            with f.indented():
                f.emit(word)
        else:
            f.emit(word)


@statement("while", 3)
def _while(f: Flow) -> bool:
    if not _may_nest(f) or f.loops > 1:
        return False
    counter = f.fresh("i")
    f.put(counter, "0")
    limit = f.one_of("2", "n", "number()", "1")
    forever = f.chance(0.4)
    f.emit("while True:" if forever else f"while {counter} < {limit}:")
    f.loops += 1
    with f.indented():
        f.emit(f"{counter} += 1")
        if forever:
            f.emit(f"if {counter} > {limit}:")
            with f.indented():
                f.emit("break")
        f.nesting += 1
        f.body(f.random.randint(1, 3))
        f.nesting -= 1
        _leave_loop(f)
    f.loops -= 1
    return True


@statement("try", 6)
def _try(f: Flow) -> bool:
    if not _may_nest(f):
        return False
    f.emit("try:")
    with f.indented():
        f.nesting += 1
        f.body(f.random.randint(1, 2))
        if f.chance(0.5):
            f.emit(f.one_of("risky()", "risky(0.9)", "raise ValueError"))
            f.constructs["raise"] += 1
        f.body(f.random.randint(0, 2))
        f.nesting -= 1
        if f.loops and f.chance(0.4):
            f.constructs["break in try"] += 1
            f.emit(f.one_of("break", "continue"))
        elif f.functions and f.chance(0.15):
            f.constructs["return in try"] += 1
            f.emit(f"return {f.tensor()}")
    kind = f.one_of("except", "finally", "both", "else", "both")
    if kind != "finally":
        f.emit(
            f"except {f.one_of('ValueError', 'Exception', '(ValueError, RuntimeError) as error')}:"
        )
        f.block(2)
        if f.loops and f.chance(0.3):
            with f.indented():
                f.constructs["break in except"] += 1
                f.emit(f.one_of("break", "continue"))
    if kind == "else":
        f.emit("else:")
        f.block(2)
    if kind in ("finally", "both"):
        f.constructs["finally"] += 1
        f.emit("finally:")
        f.block(2)
        if f.loops and f.chance(0.25):
            with f.indented():
                f.constructs["break in finally"] += 1
                f.emit("break")
    return True


@statement("with", 5)
def _with(f: Flow) -> bool:
    if not _may_nest(f):
        return False
    name, made = f.tensor(), f.fresh("t")
    choices = [
        "contextlib.suppress(ValueError)",
        "contextlib.suppress(Exception)",
        "torch.no_grad()",
        f"contextlib.nullcontext({name}) as {made}",
        *(f"{manager}({name}) as {made}" for manager in f.managers),
        *(f"{manager}({name})" for manager in f.managers),
    ]
    chosen = f.random.choice(choices)
    f.constructs["suppress"] += "suppress" in chosen
    f.constructs["own context manager"] += any(m in chosen for m in f.managers)
    f.scope[made] = f.scope[name]
    f.emit(f"with {chosen}:")
    with f.indented():
        f.nesting += 1
        f.body(f.random.randint(1, 2))
        if f.chance(0.4):
            f.emit(f.one_of("risky()", "raise ValueError", "risky(0.9)"))
        f.body(f.random.randint(0, 2))
        f.nesting -= 1
        if f.loops and f.chance(0.2):
            f.constructs["break in with"] += 1
            f.emit(f.one_of("break", "continue"))
    return True


@statement("early return", 2)
def _return(f: Flow) -> bool:
    if not f.functions or not f.nesting:
        return False
    f.emit(f"if {f.condition()}:")
    with f.indented():
        f.emit(f.one_of(f"return {f.tensor()}", "return None", f"return {f.tensor()}, 1"))
    return True


@statement("raise", 1)
def _raise(f: Flow) -> bool:
    if not f.nesting:
        return False
    f.emit("if chance():")
    with f.indented():
        f.emit("raise ValueError")
    return True


@statement("assert", 2)
def _assert(f: Flow) -> bool:
    text = f.condition()
    if not f.value(text):
        return False
    f.emit(f"assert {text}")
    return True


@statement("match", 3)
def _match(f: Flow) -> bool:
    if not _may_nest(f):
        return False
    name, made = f.tensor(), f.fresh("t")
    subject, cases = f.random.choice(
        [
            ("n", ["0", "1 | 2", "int()"]),
            ("opt", ["None", f"torch.Tensor() as {made}"]),
            (f"{name}.dim()", ["1", "2", "3 | 4"]),
            (f"({name}, n)", [f"({made}, 0)", f"({made}, 1)"]),
            (f"tuple({name}.shape)", [f"(1, *{f.fresh('rest')})", f"({f.fresh('k')},)"]),
            ("options", [f"{{'q': {made}}}", "{}"]),
        ]
    )
    f.scope[made] = f.scope[name]
    guards = [f" if {f.condition()}" if f.chance(0.2) else "" for _ in cases]
    f.emit(f"match {subject}:")
    with f.indented():
        for case, guard in zip(cases, guards, strict=True):
            f.emit(f"case {case}{guard}:")
            f.block(2)
        if f.chance(0.6):
            f.emit("case _:")
            f.block(2)
    return True


# containers


@statement("dict", 4)
def _dict(f: Flow) -> bool:
    a, b = f.tensor(), f.tensor()
    made = f.fresh("d")
    dicts = f.named(dict)
    old = f.random.choice(dicts) if dicts else "{}"
    text = f.one_of(
        f"{{'q': {a}, 'k': {b}}}",
        f"dict(q={a}, size={f.some_size()})",
        f"{{**{old}, 'a': {a}}}",
        f"{old} | {{'a': {f.expression(a)}}}",
        f"{{key: {a} for key in ('q', 'k')}}",
        f"{{key: {b} for key in ('q', 'a') if {f.condition()}}}",
        f"dict({old}, a={b})",
        f"dict(zip(('q', 'a'), ({a}, {b})))",
        f"{old}.copy()",
        f"dict.fromkeys(['q', 'a'], {a})",
        old,
        f"copy.copy({old})",
    )
    return f.put(made, text)


@statement("dict changed", 5)
def _dict_changed(f: Flow) -> bool:
    dicts = f.named(dict)
    if not dicts:
        return False
    name, a = f.random.choice(dicts), f.tensor()
    key = f.one_of("'q'", "'a'", "'size'", "'k'")
    line = f.one_of(
        f"{name}[{key}] = {f.expression(a)}",
        f"{name}.update({key[1:-1]}={a})",
        f"{name}.update({{{key}: {a}}})",
        f"{name}.pop({key}, None)",
        f"{name}.setdefault({key}, {a})",
        f"{name} |= {{{key}: {a}}}" if name in f.owned else f"{name}.clear()",
        f"mangle({name})",
        f"del {name}[{key}]",
        f"{name}.popitem()",
        f"{name}.update(options)",
        f"options.update({name})",
    )
    return f.do(line)


@statement("dict read", 5)
def _dict_read(f: Flow) -> bool:
    dicts = f.named(dict)
    if not dicts:
        return False
    name = f.random.choice(dicts)
    key = f.one_of("'q'", "'a'", "'k'")
    text = f.one_of(
        f"{name}[{key}]",
        f"{name}.get({key})",
        f"{name}.get({key}, {f.tensor()})",
        f"{name}.pop({key})",
        f"{name}.setdefault({key}, {f.tensor()})",
        f"list({name}.values())[0]",
    )
    return f.put(f.fresh("t"), text)


@statement("list", 4)
def _list(f: Flow) -> bool:
    a, b = f.tensor(), f.tensor()
    made = f.fresh("l")
    lists = f.named((list, tuple))
    old = f.random.choice(lists) if lists else "xs"
    e = f.fresh("e")
    text = f.one_of(
        f"[{a}, {b}]",
        f"({a}, {f.expression(b)})",
        f"[{e} + 1 for {e} in {old}]",
        f"[{a} for _ in range({f.random.randint(0, 3)})]",
        f"[*{old}, {a}]",
        f"({a}, *{old})",
        f"{old} + {old}",
        f"list({old})",
        f"{old}[:1]",
        f"[{e} for {e} in [{a}, {b}] if {f.condition()}]",
        f"sorted([{f.some_size()}, {f.some_size()}])",
        f"list(map(lambda {e}: {e}.contiguous(), [{a}, {b}]))",
        f"[{a}] * {f.random.randint(0, 2)}",
        f"list(filter(lambda {e}: {e}.dim() > 1, [{a}, {b}]))",
        f"list(itertools.chain([{a}], {old}))",
        f"{a}.chunk(2)",
        f"{a}.unbind(0)",
        old,
    )
    return f.put(made, text)


@statement("list changed", 4)
def _list_changed(f: Flow) -> bool:
    lists = f.named(list)
    if not lists:
        return False
    name, a = f.random.choice(lists), f.tensor()
    line = f.one_of(
        f"{name}.append({a})",
        f"{name}[0] = {f.expression(a)}",
        f"{name}.insert(0, {a})",
        f"{name}.pop()",
        f"{name}.extend([{a}])",
        f"{name} += [{a}]" if name in f.owned else f"{name}.reverse()",
        f"{name}.clear()",
        f"mangle({name})",
        f"{name}[:] = [{a}]",
        f"del {name}[0]",
        f"{name} *= 2" if name in f.owned else f"{name}.reverse()",
    )
    return f.do(line)


@statement("list read", 5)
def _list_read(f: Flow) -> bool:
    lists = [n for n in f.named((list, tuple)) if f.scope[n]]
    if not lists:
        return False
    name = f.random.choice(lists)
    count = len(f.scope[name])
    if f.chance(0.3):
        made = [f.fresh("t") for _ in range(count)]
        if count > 1 and f.chance(0.5):
            return f.do(f"{made[0]}, *{f.fresh('l')} = {name}")
        if count < 6:
            return f.do(f"{', '.join(made)}{',' * (count == 1)} = {name}")
    text = f.one_of(
        f"{name}[0]", f"{name}[-1]", f"{name}.pop()", f"next(iter({name}))", f"{name}[n]"
    )
    return f.put(f.fresh("t"), text)


@statement("one of two containers", 2)
def _one_of_two(f: Flow) -> bool:
    kind = f.random.choice((dict, list))
    names = f.named(kind)
    if len(names) < 2:
        return False
    a, b = f.random.sample(names, 2)
    made = f.fresh("d" if kind is dict else "l")
    if f.chance(0.5):
        f.put(made, f"{a} if {f.condition()} else {b}")
    else:
        condition = f.condition()
        f.emit(f"if {condition}:")
        with f.indented():
            f.put(made, a)
        f.emit("else:")
        with f.indented():
            f.put(made, b)
    t, changed = f.tensor(), f.one_of(made, made, a, b)
    if kind is dict:
        return f.do(
            f.one_of(
                f"{changed}['q'] = {t}", f"{changed}.update(a={t})", f"{changed}.pop('q', None)"
            )
        )
    return f.do(
        f.one_of(f"{changed}.append({t})", f"{changed}.clear()", f"{changed}.insert(0, {t})")
    )


@statement("del", 1)
def _del(f: Flow) -> bool:
    names = [n for n in f.tensor_names() if n in f.owned and n[1:].isdigit()]
    if len(names) < 3 or f.nesting:
        return False
    name = f.random.choice(names)
    del f.scope[name]
    f.owned.discard(name)
    f.emit(f"del {name}")
    return True


# functions


def _define(f: Flow, kind: str = "function") -> bool:
    """A function of the file, or one inside a function."""
    rng = f.random
    name = f.fresh("helper")
    names = [f.tensor() for _ in range(rng.randint(1, 2))]
    parameters = {f"a{i}": f.scope[n] for i, n in enumerate(names)}
    heads = list(parameters)
    if kind == "recursive":
        parameters["depth"] = 1
        heads.append("depth")
    if f.chance(0.4):
        text = f.one_of("1", "None", "True", "(2, 3)", "None")
        parameters["extra"] = eval(text)
        heads.append(f"extra={text}")
    star = f.chance(0.2)
    keywords = f.chance(0.2)
    if star:
        parameters["rest"] = (f.scope[names[0]],)
        heads.append("*rest")
    if f.chance(0.15):
        parameters["last"] = f.scope[names[0]]
        heads.append(f"last={names[0]}")
        if not star:
            heads.insert(-1, "*")
    if keywords:
        parameters["named"] = {"q": f.scope[names[0]]}
        heads.append("**named")
    start = len(f.lines)
    if kind == "cached":
        f.emit("@functools.lru_cache")
    if kind == "odd":
        f.emit("@Box.decorated")
    f.emit(f"def {name}({', '.join(heads)}):")
    outer = [n for n in f.tensor_names() if n in f.owned]
    ints = [n for n in f.named(int) if n in f.owned and not n.startswith("i")]
    declared = ""
    with f.function(parameters):
        if kind in ("nonlocal", "global") and (outer or ints):
            declared = rng.choice(outer or ints)
            f.emit(f"{kind} {declared}")
            f.owned.add(declared)
        if kind == "recursive":
            f.emit(f"if depth <= 0 or {f.condition()}:")
            with f.indented():
                f.emit("return a0")
        f.body(rng.randint(1, 4))
        if declared:
            f.put(declared, f.expression(declared) if declared in outer else "2")
        if kind == "generator":
            for _ in range(rng.randint(1, 2)):
                f.emit(f"yield {f.tensor()}")
        else:
            _finish(f, kind, name)
    if not f.run_definition(start):
        del f.lines[start:]
        return False
    f.own_names.discard(name)
    plain = [h for h in parameters if h not in ("extra", "rest", "last", "named")]
    samples = [parameters[p] for p in plain]
    f.helpers.append(Helper(name, plain, samples, star, keywords, kind))
    f.constructs["*args"] += star
    f.constructs["**kwargs"] += keywords
    return True


def _finish(f: Flow, kind: str, name: str) -> None:
    """The end of a function."""
    t = f.tensor()
    if kind == "recursive":
        more = ", ".join([t, *(["a1"] if "a1" in f.scope and "a1" in f.owned else []), "depth - 1"])
        f.emit(f.one_of(f"{name}({more})", f"return {name}({more})"))
    if f.calls and f.chance(0.3):
        _kernel(f)
    match f.random.randrange(7):
        case 0:
            f.constructs["several results"] += 1
            f.emit(f"return {t}, {f.tensor()}")
        case 1:
            f.emit(f"return {f.some_size()}")
        case 2:
            f.emit(f"return {{'q': {t}, 'a': {f.tensor()}}}")
        case 3:
            pass
        case _:
            f.emit(f"return {f.expression(t)}")


@statement("nested function", 3)
def _nested(f: Flow) -> bool:
    if f.functions > 1 or f.nesting > 1 or f.left < 4:
        return False
    kind = f.one_of("function", "nonlocal", "generator", "recursive", "nonlocal", "function")
    if kind == "nonlocal" and not f.functions:
        kind = "function"
    before = len(f.helpers)
    f.constructs[f"nested {kind}"] += 1
    if not _define(f, kind):
        return True
    helper = f.helpers.pop()
    del f.helpers[before:]
    for _ in range(f.random.randint(1, 2)):
        _use(f, helper)
    return True


@statement("lambda", 3)
def _lambda(f: Flow) -> bool:
    a, made = f.tensor(), f.fresh("call")
    e = f.fresh("e")
    f.scope[e] = f.scope[a]
    text = f.expression(e)
    del f.scope[e]
    f.own_names.discard(e)
    if not f.put(made, f"lambda {e}{f.one_of('', f'={a}')}: {text}"):
        return False
    f.own_names.discard(made)
    return f.put(f.fresh("t"), f"{made}({f.argument(f.scope[a])})")


@statement("closure read later", 1)
def _closure(f: Flow) -> bool:
    a, made = f.tensor(), f.fresh("call")
    if a not in f.owned or not f.put(made, f"lambda: {a}"):
        return False
    f.own_names.discard(made)
    _operation(f)
    f.put(a, f.expression(a))
    return f.put(f.fresh("t"), f"{made}()")


@statement("partial", 1)
def _partial(f: Flow) -> bool:
    helper = _some_helper(f)
    if helper is None:
        return False
    made = f.fresh("call")
    first, *rest = [f.argument(sample) for sample in helper.samples]
    if not f.put(made, f"functools.partial({helper.name}, {first})"):
        return False
    f.own_names.discard(made)
    return f.put(f.fresh("t"), f"{made}({', '.join(rest)})")


def _some_helper(f: Flow) -> Helper | None:
    plain = [h for h in f.helpers if h.kind != "generator"]
    return f.random.choice(plain) if plain else None


@statement("helper", 7)
def _helper(f: Flow) -> bool:
    if not f.helpers:
        return False
    return _use(f, f.random.choice(f.helpers))


def _use(f: Flow, helper: Helper) -> bool:
    """A call of a function of the program."""
    given = [f.argument(sample) for sample in helper.samples]
    words: list[str] = []
    for parameter, text in zip(helper.parameters, given, strict=True):
        by_name = words and "=" in words[-1]
        words.append(f"{parameter}={text}" if by_name or f.chance(0.2) else text)
    if not any("=" in w for w in words):
        if f.chance(0.15):
            words = [f"*({', '.join(words)},)"]
        elif helper.star and f.chance(0.5):
            words.append(f.one_of(f.tensor(), "*xs"))
    if helper.keywords and f.chance(0.5):
        words.append(f.one_of(f"more={f.tensor()}", "**options"))
    call = f"{helper.name}({', '.join(words)})"
    f.constructs[f"call of a {helper.kind}"] += 1
    if helper.kind == "generator":
        call = f.one_of(f"list({call})", f"next({call})", f"[*{call}]", f"tuple({call})")
    elif f.chance(0.25):
        call = f"[{helper.name}({', '.join(words)}) for _ in range({f.one_of('2', 'n', '1')})]"
    if not any("*" in w for w in words) and f.chance(0.1):
        return f.do(call)
    return f.put(f.fresh("t"), call)


# classes


@statement("object", 5)
def _object(f: Flow) -> bool:
    if not f.classes:
        return False
    cls = f.random.choice(f.classes)
    given = [f.argument(sample) for sample in cls.arguments]
    made = f.fresh("o")
    if not f.put(made, f"{cls.name}({', '.join(given)})"):
        return False
    for _ in range(f.random.randint(1, 3)):
        _touch(f, made, cls)
    return True


def _touch(f: Flow, made: str, cls: Made) -> None:
    """Something done to an object."""
    attribute = f.random.choice(cls.attributes)
    t = f.tensor()
    match f.random.randrange(13):
        case 0 | 1 | 2:
            f.put(f.fresh("t"), f"{made}.{attribute}")
        case 3 | 4 if cls.methods:
            f.put(f.fresh("t"), f"{made}.{f.random.choice(cls.methods)}({t})")
        case 5:
            f.do(f"{made}.{attribute} = {f.expression(t)}")
        case 6:
            f.do(f"setattr({made}, {attribute!r}, {t})")
        case 7:
            f.do(f"mangle({made})")
        case 8:
            f.constructs["class attribute changed"] += f.do(f"{cls.name}.{attribute} = {t}")
        case 9:
            other = f.fresh("o")
            f.put(other, f.one_of(made, f"copy.copy({made})", f"handed({made})"))
            f.do(f"{other}.{attribute} = {f.expression(t)}")
        case 10 if cls.kind == "dataclass":
            f.put(f.fresh("o"), f"dataclasses.replace({made}, {attribute}={t})")
        case 11 if cls.kind == "tuple":
            f.put(f.fresh("t"), f.one_of(f"{made}[0]", f"{made}._replace({attribute}={t})"))
        case _:
            f.put(f.fresh("t"), f"getattr({made}, {attribute!r})")


@statement("objects kept", 1)
def _kept(f: Flow) -> bool:
    """Objects read again, after other things were done."""
    names = [n for n in f.scope if n.startswith("o") and n[1:].isdigit()]
    kinds = {c.name: c for c in f.classes}
    names = [n for n in names if type(f.scope[n]).__name__ in kinds]
    if not names:
        return False
    name = f.random.choice(names)
    _touch(f, name, kinds[type(f.scope[name]).__name__])
    return True


def _class(f: Flow) -> None:
    rng, name = f.random, f.fresh("Class")
    odd = "odd" if f.odd else "plain"
    kind = f.one_of("plain", "plain", "plain", "derived", "dataclass", "tuple", odd, "module")
    parents = [c for c in f.classes if c.kind in ("plain", "derived")]
    if kind == "derived" and not parents:
        kind = "plain"
    sample = f.scope[f.tensor()]
    attributes, methods = ["first", "second"], ["change", "look"]
    start = len(f.lines)
    f.constructs[f"class: {kind}"] += 1
    if kind in ("dataclass", "tuple"):
        if kind == "dataclass":
            f.emit(f.one_of("@dataclasses.dataclass", "@dataclasses.dataclass(frozen=True)"))
        f.emit(f"class {name}{'(NamedTuple)' if kind == 'tuple' else ''}:")
        with f.indented():
            f.emit("first: object")
            f.emit(f.one_of("second: int = 2", "second: torch.Tensor | None = None"))
            if kind == "dataclass" and f.chance(0.3):
                f.emit("third: list = dataclasses.field(default_factory=list)")
        methods = []
    else:
        base = {
            "derived": f"({rng.choice(parents).name})" if parents else "",
            "module": "(torch.nn.Module)",
        }
        odd = (
            f.one_of("", "(metaclass=Meta)", "(Watched)", "(metaclass=Hidden)")
            if kind == "odd"
            else ""
        )
        f.emit(f"class {name}{base.get(kind, odd)}:")
        with f.indented():
            if f.chance(0.5):
                shared = f.one_of("torch.zeros(2, 3)", "3", "{'q': 1}", "None")
                f.emit(f"shared = {shared}")
                attributes.append("shared")
            f.emit("def __init__(self, a0, extra=2):")
            with f.function({"a0": sample, "extra": 2}):
                if kind in ("derived", "module"):
                    f.emit(f"super().__init__({'a0' if kind == 'derived' else ''})")
                f.body(rng.randint(0, 1))
                f.emit(f"self.first = {f.one_of('a0', f.expression('a0'), 'a0')}")
                if f.chance(0.7):
                    f.emit(
                        f"self.second = {f.one_of('extra', 'None', '{}', 'a0.shape[0]', '[a0]')}"
                    )
            f.emit("def change(self, a0):")
            with f.function({"a0": sample}):
                f.body(rng.randint(0, 2))
                text = f.one_of(
                    f"self.first = {f.expression('a0')}",
                    "self.second = a0",
                    "self.first.t_()" if f.reshapes else "pass",
                    "mine = self.first\nmine.squeeze_()" if f.reshapes else "pass",
                    "self.first.add_(1)",
                    "pass",
                    "self.third = a0",
                    "mangle(self)",
                    "del self.second",
                    "self.__dict__['first'] = a0",
                )
                for line in text.splitlines():
                    f.emit(line)
                f.emit("return self.first")
            f.emit("def look(self, a0):")
            with f.function({"a0": sample}):
                f.emit("mine = self.first")
                f.body(rng.randint(0, 2))
                if f.calls and f.chance(0.4):
                    _kernel(f)
                f.emit(f"return {f.one_of('mine', 'self.second', 'a0', 'self.change(a0)')}")
            if f.chance(0.3):
                f.constructs["property"] += 1
                f.emit("@property")
                f.emit("def half(self):")
                with f.function({}):
                    f.emit(
                        f.one_of(
                            "return self.first", "return self.first + 1", "return self.first.t()"
                        )
                    )
                attributes.append("half")
            if f.chance(0.1):
                f.constructs["__setattr__"] += 1
                f.emit("def __setattr__(self, name, value):")
                with f.indented():
                    f.emit(
                        f.one_of(
                            "object.__setattr__(self, name, value)",
                            "self.__dict__[name] = None",
                            "super().__setattr__(name, [value])",
                        )
                    )
            if f.chance(0.08):
                f.constructs["__getattribute__"] += 1
                f.emit("def __getattribute__(self, name):")
                with f.indented():
                    f.emit("found = object.__getattribute__(self, name)")
                    f.emit("return None if name == 'second' else found")
            if f.chance(0.08):
                f.constructs["__getattr__"] += 1
                f.emit("def __getattr__(self, name):")
                with f.indented():
                    f.emit("if name.startswith('__'):")
                    with f.indented():
                        f.emit("raise AttributeError(name)")
                    f.emit("return None")
    if f.run_definition(start):
        f.own_names.discard(name)
        f.classes.append(Made(name, [sample], attributes, methods, kind))
    else:
        del f.lines[start:]


ODD_CLASSES = """\
class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.first = args[0].unsqueeze(0)
        return made
class Hidden(type):
    def __call__(cls, *args):
        return None if chance() else super().__call__(*args)
class Watched:
    def __setattr__(self, name, value):
        super().__setattr__(name, value.clone() if isinstance(value, torch.Tensor) else None)
"""

MANAGERS = """\
@contextlib.contextmanager
def quietly(value):
    try:
        yield value
    except ValueError:
        pass
@contextlib.contextmanager
def loudly(value):
    yield value.contiguous()
class Swallow:
    def __init__(self, value):
        self.value = value
    def __enter__(self):
        return self.value.unsqueeze(0)
    def __exit__(self, *error):
        return True
"""


@statement("global", 2)
def _global(f: Flow) -> bool:
    return f.put(f.fresh("t"), f.one_of("SHARED", "TABLE['q']", "COUNT", "TABLE", "SHARED"))


@statement("global changed", 2)
def _global_changed(f: Flow) -> bool:
    t = f.tensor()
    line = f.one_of(
        f"TABLE['q'] = {t}",
        "rebind()",
        "rebind()",
        f"TABLE.update(q={t})",
        "SHARED.add_(1)",
        "reshape()" if f.reshapes else "rebind()",
    )
    return f.do(line)


GLOBALS = (
    """\
def rebind():
    global SHARED, COUNT
    SHARED, COUNT = SHARED.unsqueeze(0), 2
""",
    """\
def rebind():
    TABLE['q'] = None
""",
    """\
def rebind():
    globals()['SHARED'] = None
""",
    """\
def rebind():
    pass
""",
)
RESHAPES = (
    """\
def reshape():
    SHARED.t_()
""",
    """\
def reshape():
    mine = SHARED
    mine.unsqueeze_(0)
""",
    """\
def reshape():
    pass
""",
)


@statement("module patched", 1)
def _patched(f: Flow) -> bool:
    if f.chance(0.8):
        return False
    text = f.one_of(
        "F.pad = lambda value, *rest, **named: value.t()",
        "F.relu = lambda value: None",
        "setattr(F, 'silu', lambda value: value[None])",
        f"torch.zeros_like = lambda value, **named: {f.tensor()}",
    )
    f.emit(text)
    return True


# kernels


@statement("kernel", 5)
def _kernel(f: Flow) -> bool:
    if not f.calls:
        return False
    call = f.random.choice(f.calls)
    name, _, rest = call.partition("(")
    match f.random.randrange(8):
        case 0:
            options = f.fresh("d")
            words = [w for w in rest[:-1].split(", ") if "=" in w]
            heads = [w for w in rest[:-1].split(", ") if "=" not in w]
            f.put(options, f"dict({', '.join(words)})")
            if f.chance(0.5) and words:
                f.do(
                    f.one_of(f"{options}.pop({words[0].partition('=')[0]!r})", f"mangle({options})")
                )
            call = f"{name}({', '.join([*heads, f'**{options}'])})"
        case 1:
            kept = f.fresh("call")
            f.emit(f"{kept} = functools.partial({name}, {rest.partition(', ')[0].rstrip(')')})")
            call = f"{kept}({rest.partition(', ')[2]}"
        case 2:
            kept = f.fresh("call")
            f.emit(f"{kept} = {name}{f.one_of('', '', ' if chance() else handed')}")
            call = f"{kept}({rest}"
        case 3:
            f.emit(f"(lambda: {call})()")
            return True
        case 4 | 5 if call in f.wrappers:
            wrapper, names = f.wrappers[call]
            call = f"{wrapper}({', '.join(names)})"
        case _:
            pass
    if f.chance(0.3):
        outs = f"{f.fresh('t')}, {f.fresh('t')}"
        f.emit(f"{outs} = {call}")
    else:
        f.emit(f"{f.fresh('t')} = {call}")
    return True


def _wrapper(f: Flow, call: kernels.Program) -> None:
    """A function that hands its arguments on to a kernel."""
    names = [n for n, value in call.scope.items() if isinstance(value, Tensor)]
    names = [n for n in names if re.search(rf"\b{n}\b(?!=)", call.call.partition("(")[2])]
    name = f.fresh("wrapper")
    f.own_names.discard(name)
    f.emit(f"def {name}({', '.join(names)}):")
    with f.function({n: call.scope[n] for n in names}):
        f.left = 3
        f.body(f.random.randint(0, 3))
        f.emit(f"return {call.call}")
    f.wrappers[call.call] = name, names


def _root(f: Flow, name: str, call: kernels.Program, left: int) -> None:
    """A function that nobody in the program calls."""
    parameters = {
        "flag": True,
        "n": 1,
        "opt": torch.zeros(2, 3),
        "xs": [torch.zeros(2, 3), torch.zeros(1, 4)],
        "x": torch.zeros(f.some_shape()),
        "options": {"q": torch.zeros(2, 2)},
    }
    f.emit(f"def {name}({', '.join(PARAMETERS)}):")
    helpers = len(f.helpers)
    with f.function(parameters):
        for line in call.lines:
            f.do(line)
        made = {n for n in call.scope if isinstance(call.scope[n], Tensor)}
        f.owned |= made
        f.own_names |= made
        f.calls.append(call.call)
        f.left = left
        f.body(left)
        f.left = 1
        _kernel(f)
        if f.chance(0.3):
            f.emit(f"return {f.tensor()}")
        f.calls.pop()
    del f.helpers[helpers:]


def program(rng: random.Random, length: int = 6) -> Random:
    """A random program. To be called where the kernels have stand-ins."""
    while True:
        # A name whose statement was taken back may be meant by a later one.
        with suppress(IndexError, KeyError, SyntaxError):
            made = _written(rng, length)
            compile(made.text, "program.py", "exec")
            return made


def _written(rng: random.Random, length: int) -> Random:
    f = Flow(rng)
    count = 2 if f.chance(0.15) else 1
    calls = [rng.choice(kernels.KINDS)(rng, 1000 * (i + 1)) for i in range(count)]
    importing = "\n".join(sorted({call.importing for call in calls}))
    exec(importing, f.scope)
    known: dict[str, Any] = {"flag": True, "n": 1, "opt": None, "xs": [torch.zeros(2, 3)]}
    f.scope.update(known, options={})
    f.emit("flag, n = chance(), number()")
    f.emit("opt, xs, options = None, [], {}")
    f.put("SHARED", f.one_of("torch.zeros(2, 3)", "torch.randn(4, 1)"))
    f.put("TABLE", f.one_of("{'q': torch.zeros(2, 2)}", "{'q': None, 'a': 2}", "dict(q=SHARED)"))
    f.put("COUNT", "1")
    f.own_names -= {"SHARED", "TABLE", "COUNT"}
    f.owned.clear()
    f.text(rng.choice(GLOBALS if f.odd else GLOBALS[1:2] + GLOBALS[3:]))
    if f.reshapes:
        f.text(rng.choice(RESHAPES))
    if f.chance(0.3):
        f.text(MANAGERS)
        f.managers = ["quietly", "loudly", "Swallow"]
    if f.odd:
        f.text(ODD_CLASSES)
    for _ in range(rng.choice((0, 1, 1, 2))):
        f.left = 3
        kind = f.one_of(
            "function", "function", "function", "generator", "recursive", "cached", "odd"
        )
        f.constructs[f"function: {kind}"] += 1
        _define(f, kind)
    if f.chance(0.45):
        for _ in range(rng.choice((1, 1, 2))):
            f.left = 2
            _class(f)
    for call in calls:
        if f.chance(0.4):
            _wrapper(f, call)
    roots = []
    for index, call in enumerate(calls):
        roots.append(f"root{index}")
        _root(f, roots[-1], call, rng.randint(2, length))
    return Random(HEADER + importing + "\n" + "\n".join(f.lines) + "\n", roots, f.constructs)


def arguments(rng: random.Random) -> tuple[Any, ...]:
    """What a root is called with."""

    def tensor() -> Tensor:
        shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 4)))
        made = torch.zeros(shape, dtype=rng.choice((torch.float32, torch.bfloat16, torch.int64)))
        return made.transpose(0, -1) if rng.random() < 0.3 else made

    return (
        rng.random() < 0.5,
        rng.randint(0, 3),
        tensor() if rng.random() < 0.5 else None,
        [tensor() for _ in range(rng.randint(0, 3))],
        tensor(),
        {key: tensor() for key in ("q", "a", "k") if rng.random() < 0.4},
    )
