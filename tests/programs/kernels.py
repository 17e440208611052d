"""Random calls of KDA kernels: straight-line programs that make their arguments in the ways that people use."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch import Tensor

from tests.programs.text import Text

DTYPES = ("torch.float32", "torch.bfloat16", "torch.float16", "torch.float64", "torch.int32")


class Program(Text):
    """A straight-line program that ends in a call of a kernel. taken: so many numbers of names are in use already."""

    def __init__(self, rng: random.Random, importing: str, taken: int = 0) -> None:
        super().__init__(rng)
        self.made = taken
        self.importing = importing
        self.call = ""

    @property
    def text(self) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return (
            f"import einops\nimport torch\nimport torch.nn.functional as F\n{self.importing}\n\n\n"
            f"def run():\n{body}\n    return {self.call}\n"
        )


# how tensors are made


def made(rng: random.Random, shape: tuple[int, ...], dtype: str) -> str:
    """A constructor of a tensor of this shape."""
    maker = rng.choice(("randn", "zeros", "ones", "rand", "empty"))
    size = ", ".join(map(str, shape)) if shape and rng.random() < 0.7 else str(shape)
    if "int" in dtype or dtype == "torch.bool":
        maker = rng.choice(("zeros", "ones", "empty"))
    if dtype == "torch.float32" and rng.random() < 0.7:
        return f"torch.{maker}({size})"
    return f"torch.{maker}({size}, dtype={dtype})"


def good(program: Program, name: str, shape: tuple[int, ...], dtype: str) -> None:
    """Make `name` a dense tensor of this shape, by one of the ways that people use."""
    rng = program.random
    text = ", ".join(map(str, shape))
    total = 1
    for size in shape:
        total *= size
    match rng.randrange(9):
        case 0 if len(shape) >= 2:
            flat = (shape[0] * shape[1], *shape[2:])
            program.assign(name, made(rng, flat, dtype))
            program.assign(name, f"{name}.view({text})")
        case 1:
            program.assign(name, f"{made(rng, (total,), dtype)}.reshape({text})")
        case 2:
            program.assign(name, f"{made(rng, shape, dtype)}.contiguous()")
        case 3 if len(shape) >= 2:
            turned = (*shape[:-2], shape[-1], shape[-2])
            program.assign(name, made(rng, turned, dtype))
            program.assign(name, f"{name}.transpose(-1, -2).contiguous()")
        case 4 if shape:
            program.assign(name, f"{made(rng, shape[1:], dtype)}.unsqueeze(0)")
            if shape[0] != 1:
                program.assign(name, f"torch.cat([{name}] * {shape[0]})")
        case 5 if dtype != "torch.float32":
            program.assign(name, f"{made(rng, shape, 'torch.float32')}.to({dtype})")
        case 6 if len(shape) >= 2:
            program.assign(name, f"{made(rng, (*shape[:-2], shape[-2] * shape[-1]), dtype)}")
            program.assign(name, f"{name}.unflatten(-1, ({shape[-2]}, {shape[-1]}))")
        case 7 if shape:
            program.assign(name, f"torch.stack([{made(rng, shape[1:], dtype)}] * {shape[0]})")
        case _:
            program.assign(name, made(rng, shape, dtype))
    if name not in program.scope or tuple(program.scope[name].shape) != shape:
        program.assign(name, made(rng, shape, dtype))


# what is done to them

Operation = Callable[[random.Random, str, Tensor], "str | None"]


def _axis(rng: random.Random, value: Tensor) -> int:
    axis = rng.randrange(value.dim())
    return axis - value.dim() if rng.random() < 0.3 else axis


def _slice(rng: random.Random, name: str, value: Tensor) -> str | None:
    axis = rng.randrange(value.dim())
    size = value.shape[axis]
    cut = rng.choice(("{0}:{1}", ":{1}", "::2", "{0}:", "-{0}:" if size > 1 else ":"))
    low = rng.randrange(max(1, size))
    high = rng.randint(low + 1, size + 1)
    text = cut.format(low, high)
    return f"{name}[{', '.join([':'] * axis + [text])}]" if text != "-0:" else None


def _index(rng: random.Random, name: str, value: Tensor) -> str | None:
    axis = rng.randrange(value.dim())
    return f"{name}[{', '.join([':'] * axis + ['0'])}]"


def _transpose(rng: random.Random, name: str, value: Tensor) -> str | None:
    if value.dim() < 2:
        return None
    one, other = rng.sample(range(value.dim()), 2)
    return f"{name}.transpose({one}, {other})"


def _permute(rng: random.Random, name: str, value: Tensor) -> str | None:
    order = rng.sample(range(value.dim()), value.dim())
    return f"{name}.permute({', '.join(map(str, order))})"


def _expand(rng: random.Random, name: str, value: Tensor) -> str | None:
    sizes = [
        str(rng.choice((2, 3)) if size == 1 and rng.random() < 0.5 else -1) for size in value.shape
    ]
    if rng.random() < 0.3:
        sizes.insert(0, str(rng.choice((1, 2))))
    return f"{name}.expand({', '.join(sizes)})"


def _collapse(rng: random.Random, name: str, value: Tensor) -> str | None:
    """The same shape with stride 0 on an axis."""
    axis = rng.randrange(value.dim())
    sizes = ", ".join(map(str, value.shape))
    return f"{name}.narrow({axis}, 0, 1).expand({sizes})"


def _flatten(rng: random.Random, name: str, value: Tensor) -> str | None:
    if rng.random() < 0.3:
        return rng.choice((f"{name}.reshape(-1)", f"{name}.flatten()", f"{name}.ravel()"))
    start = rng.randrange(value.dim())
    return f"{name}.flatten({start}, {rng.randrange(start, value.dim())})"


def _reshape(rng: random.Random, name: str, value: Tensor) -> str | None:
    shape = list(value.shape)
    if rng.random() < 0.5:
        rng.shuffle(shape)
    elif len(shape) > 1:
        at = rng.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    if rng.random() < 0.4:
        shape[rng.randrange(len(shape))] = -1
    return f"{name}.{rng.choice(('view', 'reshape'))}({', '.join(map(str, shape))})"


def _unflatten(rng: random.Random, name: str, value: Tensor) -> str | None:
    axis = _axis(rng, value)
    size = value.shape[axis]
    part = rng.choice([n for n in (1, 2, 3, 4, size) if n and size % n == 0])
    return f"{name}.unflatten({axis}, ({part}, {size // part}))"


def _split(rng: random.Random, name: str, value: Tensor) -> str | None:
    axis = _axis(rng, value)
    return rng.choice(
        (
            f"torch.cat([{name}, {name}], {axis}).chunk(2, {axis})[{rng.randrange(2)}]",
            f"torch.cat([{name}, {name}], {axis}).split({value.shape[axis]}, {axis})[0]",
            f"torch.stack([{name}, {name}], {axis}).unbind({axis})[1]",
            f"torch.cat([{name}, {name}], {axis})",
            f"{name}.repeat_interleave(2, {axis})",
        )
    )


def _join(rng: random.Random, name: str, value: Tensor) -> str | None:
    return rng.choice(
        (
            f"{name} + {name}",
            f"{name} * 2",
            f"{name} - 1.0",
            f"{name}.abs()",
            f"torch.exp({name})",
            f"{name}.clone()",
            f"{name}.detach()",
            f"torch.empty_like({name})",
            f"torch.zeros_like({name}, dtype={rng.choice(DTYPES)})",
            f"F.pad({name}, (0, 1))",
            f"{name}.sum({_axis(rng, value)})",
            f"{name}.mean({_axis(rng, value)}, keepdim=True)",
            f"{name}.cumsum({_axis(rng, value)})",
        )
    )


def _cast(rng: random.Random, name: str, value: Tensor) -> str | None:
    return rng.choice(
        (
            f"{name}.to({rng.choice(DTYPES)})",
            f"{name}.float()",
            f"{name}.bfloat16()",
            f"{name}.half()",
            f"{name}.type_as({name})",
            f"{name}.to(dtype={rng.choice(DTYPES)})",
        )
    )


def _squeeze(rng: random.Random, name: str, value: Tensor) -> str | None:
    return rng.choice(
        (
            f"{name}.unsqueeze({rng.randrange(value.dim() + 1)})",
            f"{name}[None]",
            f"{name}.squeeze({rng.randrange(value.dim())})",
            f"{name}.squeeze()",
            f"{name}[..., None]",
        )
    )


def _copy(rng: random.Random, name: str, value: Tensor) -> str | None:
    return f"{name}.contiguous()"


OPERATIONS: tuple[Operation, ...] = (
    _slice, _slice, _index, _transpose, _permute, _expand, _collapse, _collapse, _flatten, _reshape, _unflatten, _split, _join,
    _cast, _squeeze, _copy,
)  # fmt: skip


def disturb(program: Program, name: str) -> None:
    """Do one or two things to a tensor."""
    rng = program.random
    for _ in range(rng.choice((1, 1, 2))):
        value = program.scope[name]
        if not value.dim():
            return
        if rng.random() < 0.25:
            expression = program.operate(name)
        else:
            expression = rng.choice(OPERATIONS)(rng, name, value)
        if expression is not None:
            program.assign(name, expression)


# the calls


@dataclass
class Sizes:
    """The sizes that a program's tensors agree on."""

    batch: int
    tokens: int
    heads: int
    value_heads: int
    key: int
    value: int
    slots: int = 8
    length: int = 4
    packed: bool = False
    bounds: list[int] = field(default_factory=list)

    @property
    def sequences(self) -> int:
        return len(self.bounds) - 1 if self.packed else self.batch


def sizes(rng: random.Random) -> Sizes:
    heads = rng.choice((1, 2, 4))
    packed = rng.random() < 0.6
    tokens = rng.choice((6, 8, 16))
    middle = sorted(rng.sample(range(1, tokens), rng.choice((0, 1, 2))))
    return Sizes(
        batch=1 if packed else rng.choice((1, 2, 3)),
        tokens=tokens,
        heads=heads,
        value_heads=heads * rng.choice((1, 1, 2)),
        key=rng.choice((2, 4, 8)),
        value=rng.choice((2, 4, 8)),
        packed=packed,
        bounds=[0, *middle, tokens],
    )


def offsets(program: Program, name: str, at: Sizes, dtype: str = "") -> None:
    """Offsets of a packed call, right ones or not."""
    rng, values = program.random, list(at.bounds)
    if rng.random() < 0.12:
        values = rng.choice((values[1:], [*values, values[-1] + 2], [v + 1 for v in values]))
    lengths = [after - before for before, after in itertools.pairwise(values)]
    kind = f", dtype={dtype}" if dtype else ""
    match rng.randrange(6):
        case 0 if lengths:
            program.assign("lengths", f"torch.tensor({lengths})")
            program.assign(name, f"F.pad(lengths.cumsum(0{kind}), (1, 0))")
        case 1 if lengths:
            program.assign("lengths", f"torch.tensor({lengths}{kind})")
            if rng.random() < 0.4:
                program.assign(name, "lengths.cumsum(0)")
            else:
                program.assign(
                    name,
                    f"torch.cat([torch.zeros(1{kind or ', dtype=torch.int64'}), lengths.cumsum(0)])",
                )
        case 2 if len(set(lengths)) == 1:
            step = lengths[0]
            program.assign(name, f"torch.arange(0, {values[-1] + 1}, {step}{kind})")
    if name not in program.scope:
        program.assign(name, f"torch.tensor({values}{kind})")
    if rng.random() < 0.12:
        disturb(program, name)


def finish(program: Program, callee: str, order: list[str], given: dict[str, str]) -> Program:
    """Disturb some arguments, and write the call: leading arguments by position, the rest by keyword."""
    rng = program.random
    tensors = [n for n in given if isinstance(program.scope.get(n), Tensor)]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        disturb(program, rng.choice(tensors))
    names = list(given)
    leading: list[str] = []
    for name in order[: rng.choice((3, 5, len(order)))]:
        if name not in given or rng.random() < 0.02:
            break
        leading.append(name)
    rest = [name for name in names if name not in leading]
    rng.shuffle(rest)
    words = [given[n] for n in leading] + [f"{n}={given[n]}" for n in rest]
    program.call = f"{callee}({', '.join(words)})"
    return program


def chunked(rng: random.Random, taken: int = 0) -> Program:
    """FLA's chunked prefill."""
    program, at = Program(rng, "from fla.ops.kda import chunk_kda", taken), sizes(rng)
    dtype = rng.choice(DTYPES[:3])
    given: dict[str, str] = {}

    def tensor(name: str, *shape: int, kind: str = dtype) -> None:
        good(program, name, shape, kind)
        given[name] = name

    tensor("q", at.batch, at.tokens, at.heads, at.key)
    tensor("k", at.batch, at.tokens, at.heads, at.key)
    tensor("v", at.batch, at.tokens, at.value_heads, at.value)
    tensor("g", at.batch, at.tokens, at.value_heads, at.key, kind="torch.float32")
    tensor("beta", at.batch, at.tokens, at.value_heads)
    if at.packed:
        offsets(program, "cu_seqlens", at)
        given["cu_seqlens"] = "cu_seqlens"
    if rng.random() < 0.4:
        state = [at.key, at.value]
        if rng.random() < 0.3:
            given["state_v_first"] = rng.choice(("True", "False"))
            if given["state_v_first"] == "True":
                state.reverse()
        tensor("initial_state", at.sequences, at.value_heads, *state, kind="torch.float32")
    if rng.random() < 0.3:
        given["use_gate_in_kernel"] = rng.choice(("True", "True", "False"))
        tensor("A_log", at.value_heads, kind="torch.float32")
        if rng.random() < 0.6:
            tensor("dt_bias", at.value_heads * at.key, kind="torch.float32")
    if rng.random() < 0.2:
        given["lower_bound"] = rng.choice(("-5.0", "-1.0", "0.5", "-7"))
        given["safe_gate"] = rng.choice(("True", "False"))
    if rng.random() < 0.3:
        given["output_final_state"] = "True"
    if rng.random() < 0.05:
        given[rng.choice(("cu_seqlen", "chunk_size", "head_first"))] = rng.choice(("32", "64", "7"))
    return finish(program, "chunk_kda", ["q", "k", "v", "g", "beta"], given)


def recurrent(rng: random.Random, taken: int = 0) -> Program:
    """SGLang's Triton prefill, on a pool of states."""
    importing = "from sglang.kernels.ops.attention.fla.kda import chunk_kda"
    program, at = Program(rng, importing, taken), sizes(rng)
    given: dict[str, str] = {}

    def tensor(name: str, *shape: int, kind: str = "torch.bfloat16") -> None:
        good(program, name, shape, kind)
        given[name] = name

    for name, width in (("q", at.key), ("k", at.key), ("v", at.value), ("g", at.key)):
        tensor(name, at.batch, at.tokens, at.heads, width)
    tensor("beta", at.batch, at.tokens, at.heads)
    tensor("initial_state", at.slots, at.heads, at.value, at.key, kind="torch.float32")
    program.assign(
        "initial_state_indices",
        rng.choice(
            (
                f"torch.arange({at.sequences})",
                f"torch.tensor({list(range(1, at.sequences + 1))}, dtype=torch.int32)",
                f"torch.tensor({[9] * at.sequences})",
            )
        ),
    )
    given["initial_state_indices"] = "initial_state_indices"
    if at.packed:
        offsets(program, "cu_seqlens", at, rng.choice(("", "torch.int32")))
        given["cu_seqlens"] = "cu_seqlens"
    if rng.random() < 0.5:
        tensor("A_log", at.heads, kind="torch.float32")
    if rng.random() < 0.5:
        tensor("dt_bias", at.heads * at.key, kind="torch.float32")
    if rng.random() < 0.4:
        given["use_qk_l2norm_in_kernel"] = rng.choice(("True", "False"))
    return finish(program, "chunk_kda", ["q", "k", "v", "g", "beta"], given)


def decode(rng: random.Random, taken: int = 0) -> Program:
    """SGLang's Helion packed decode."""
    name = "helion_fused_recurrent_kda_packed_decode"
    importing = f"from sglang.kernels.ops.attention.helion.kda_decode import {name}"
    program, at = Program(rng, importing, taken), sizes(rng)
    rows, heads = rng.choice((1, 2, 4)), at.value_heads
    width = 2 * at.heads * at.key + heads * at.value
    given: dict[str, str] = {}

    def tensor(name: str, *shape: int, kind: str = "torch.float32") -> None:
        good(program, name, shape, kind)
        given[name] = name

    tensor("mixed_qkv", rows, width)
    tensor("a", rows, heads * at.key)
    tensor("b", rows, heads)
    tensor("A_log", heads)
    tensor("dt_bias", heads * at.key)
    given["scale"] = "0.5"
    tensor("initial_state", at.slots, heads, at.value, at.key)
    tensor("out", rows, 1, heads, at.value)
    program.assign("ssm_state_indices", f"torch.arange({rows})")
    given["ssm_state_indices"] = "ssm_state_indices"
    order = [
        "mixed_qkv",
        "a",
        "b",
        "A_log",
        "dt_bias",
        "scale",
        "initial_state",
        "out",
        "ssm_state_indices",
    ]
    return finish(program, name, order, given)


def fixed(rng: random.Random, taken: int = 0) -> Program:
    """FlashKDA's forward."""
    program, at = Program(rng, "import flash_kda", taken), sizes(rng)
    at.tokens, at.heads = rng.choice((6, 8)), rng.choice((1, 2))
    at.bounds = [0, 3, at.tokens]
    given: dict[str, str] = {}

    def tensor(name: str, *shape: int, kind: str = "torch.bfloat16") -> None:
        good(program, name, shape, kind)
        given[name] = name

    for name in ("q", "k", "v", "g", "out"):
        tensor(name, at.batch, at.tokens, at.heads, 128)
    tensor("beta", at.batch, at.tokens, at.heads)
    tensor("A_log", at.heads, kind="torch.float32")
    tensor("dt_bias", at.heads, 128, kind="torch.float32")
    given |= {"scale": "0.088", "lower_bound": "-5.0"}
    if at.packed:
        offsets(program, "cu_seqlens", at, rng.choice(("torch.int64", "torch.int64", "")))
        given["cu_seqlens"] = "cu_seqlens"
    order = ["q", "k", "v", "g", "beta", "scale", "out", "A_log", "dt_bias", "lower_bound"]
    return finish(program, "flash_kda.fwd", order, given)


KINDS = (chunked, chunked, recurrent, decode, fixed)


def programs(seed: int, count: int) -> Iterator[str]:
    """Random programs as text."""
    rng = random.Random(seed)
    for _ in range(count):
        yield rng.choice(KINDS)(rng).text
