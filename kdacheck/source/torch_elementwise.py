"""Elementwise operations: broadcasting, dtype promotion and the layout of the result."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise, product

from kdacheck.contracts.tags import CLAMPED, CLAMPED_PADDING, DIVIDED
from kdacheck.facts import Integer, Literal, TensorFacts
from kdacheck.facts.dims import at_least
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import (
    ZERO,
    build,
    default_dtypes,
    dim_of,
    dtypes_of,
    tensor_of,
)
from kdacheck.source.torch_constructors import number_of, python_dtypes
from kdacheck.source.torch_dtypes import (
    INTEGERS,
    INTEGRAL,
    Dtypes,
    combine_categories,
    fits,
    is_complex,
    over,
    promote,
)
from kdacheck.source.torch_registry import GiveUpError, function, method, operation, words
from kdacheck.source.values import NONE, Unknown, Value

_BOOL: Dtypes = frozenset(("bool",))

#: Tags that an operation on contents keeps.
NO_TAGS: frozenset[str] = frozenset()


def promoted(operands: Sequence[Value]) -> Dtypes:
    """The dtype torch computes in, for tensors with and without dimensions and Python numbers."""
    ranks: list[tuple[str, ...]] = []
    dtypes: list[Dtypes] = []
    for operand in operands:
        if isinstance(operand, TensorFacts):
            dtypes.append(operand.dtypes)
            if operand.shape is None:
                ranks.append(("dim",) if operand.partial else ("dim", "zero"))
            else:
                ranks.append(("dim",) if operand.shape else ("zero",))
        else:
            dtypes.append(python_dtypes(operand))
            ranks.append(("number",))
    if any(names is None for names in dtypes):
        return _promoted_partly(ranks, dtypes)
    result: frozenset[str] = frozenset()
    for kinds in product(*ranks):

        def combine(*names: str, kinds: tuple[str, ...] = kinds) -> str | None:
            levels: dict[str, str | None] = {"dim": None, "zero": None, "number": None}
            for kind, name in zip(kinds, names, strict=True):
                current = levels[kind]
                joined = name if current is None else promote(current, name)
                if joined is None:
                    return None
                levels[kind] = joined
            lower = combine_categories(levels["zero"], levels["number"])
            return combine_categories(levels["dim"], lower)

        found = over(combine, *dtypes)
        if found is None:
            return None
        result |= found
    return result


def _promoted_partly(ranks: Sequence[tuple[str, ...]], dtypes: Sequence[Dtypes]) -> Dtypes:
    """Nothing is known of an operand's dtype: only float64 and complex128 swallow all real ones; give up."""
    return None


def device_of_all(tensors: Sequence[TensorFacts]) -> str | None:
    """Where the result of tensors on perhaps different devices is."""
    known = {tensor.device for tensor in tensors}
    if len(known) == 1:
        return known.pop()
    # A zero-dimensional CPU tensor goes along with any other.
    for tensor in tensors:
        if tensor.device is not None and (
            tensor.shape or (tensor.shape is None and tensor.partial)
        ):
            return tensor.device
    if None in known:
        return None
    others = known - {"cpu"}
    return others.pop() if len(others) == 1 else None


def combined(
    operands: Sequence[Value],
    dtypes: Dtypes,
    values: Sequence[int] | None = None,
    tags: frozenset[str] = NO_TAGS,
    *,
    computed: Dtypes = None,
    unary: bool = False,
    mask: TensorFacts | None = None,
) -> TensorFacts:
    """The result of an elementwise operation; an operand is a tensor or a number.

    computed: the dtype that operands are brought to first, where it is not that of the result.
    unary: whether a number may be a parameter of the operation, not an operand.
    mask: an operand that keeps its dtype.
    """
    tensors = [operand for operand in operands if isinstance(operand, TensorFacts)]
    if any(isinstance(operand, Unknown) for operand in operands):
        return build(None, dtypes=None)
    device = device_of_all(tensors)
    if any(tensor.shape is None for tensor in tensors):
        return _of_unknown_rank(tensors, dtypes, device, tags)
    shapes = [tensor.shape for tensor in tensors if tensor.shape is not None]
    out = shapes[0] if len(shapes) == 1 else layout.broadcast(shapes)
    strides, dense = layout.elementwise(
        out,
        [(tensor.shape or (), tensor.strides, tensor.dense) for tensor in tensors],
        [
            False if tensor is mask else _is_converted(tensor, computed or dtypes)
            for tensor in tensors
        ],
        cpu=device == "cpu",
        numbers=len(tensors) < len(operands) and (None if unary else True),
    )
    if values is not None and not (len(out) <= 1 and fits(values, dtypes)):
        values = None
    return build(out, strides, dense=dense, dtypes=dtypes, device=device, values=values, tags=tags)


def _is_converted(tensor: TensorFacts, computed: Dtypes) -> bool | None:
    if tensor.dtypes is None or computed is None:
        return None
    if not tensor.dtypes & computed:
        return True
    return False if tensor.dtypes == computed and len(computed) == 1 else None


def _of_unknown_rank(
    tensors: Sequence[TensorFacts], dtypes: Dtypes, device: str | None, tags: frozenset[str]
) -> TensorFacts:
    wide = [tensor for tensor in tensors if tensor.shape != ()]
    if len(wide) != 1:
        return build(None, dtypes=dtypes, device=device, tags=tags)
    (only,) = wide
    if len(tensors) > 1 and not only.partial:
        # It may have no dimensions itself; then the other one decides the layout as well.
        return build(
            None,
            dense=only.dense or None,
            dtypes=dtypes,
            device=device,
            handle=only.handle,
            tags=tags,
        )
    return build(
        None,
        dense=only.dense or None,
        dtypes=dtypes,
        device=device,
        partial=dict(only.partial),
        handle=only.handle,
        tags=tags,
    )


def mapped(
    tensor: TensorFacts,
    dtypes: Dtypes,
    values: Sequence[int] | None = None,
    tags: frozenset[str] = NO_TAGS,
) -> TensorFacts:
    """The result of an elementwise operation on one tensor."""
    return combined((tensor,), dtypes, values, tags)


def floating(dtypes: Dtypes) -> Dtypes:
    """Integers become the default dtype."""
    if dtypes is None:
        return None
    default = default_dtypes()
    result: set[str] = set()
    for name in dtypes:
        if name not in INTEGRAL:
            result.add(name)
        elif default is None:
            return None
        else:
            result |= default
    return frozenset(result)


def _contents(value: Value) -> tuple[int, ...] | int | None:
    if isinstance(value, TensorFacts):
        if value.values is None or value.shape is None:
            return None
        return value.values if len(value.shape) == 1 else value.values[0]
    return number_of(value)


def _computed(
    compute: Callable[[int, int], int], left: Value, right: Value
) -> tuple[int, ...] | None:
    a, b = _contents(left), _contents(right)
    if a is None or b is None:
        return None
    length = max(len(v) if isinstance(v, tuple) else 1 for v in (a, b))
    if any(isinstance(v, tuple) and len(v) == 0 for v in (a, b)):
        return ()
    rows = []
    for v in (a, b):
        row = v if isinstance(v, tuple) else (v,)
        rows.append(row * length if len(row) == 1 else row)
    if len(rows[0]) != len(rows[1]):
        return None
    try:
        return tuple(map(compute, *rows))
    except ZeroDivisionError:
        return None


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _all_integers(operands: Sequence[Value]) -> bool:
    for operand in operands:
        dtypes = operand.dtypes if isinstance(operand, TensorFacts) else python_dtypes(operand)
        if not dtypes or not dtypes <= INTEGERS:
            return False
    return True


def binary(op: str, left: Value, right: Value) -> Value | None:
    """`left op right` where at least one is a tensor."""
    if op == "@":
        from kdacheck.source.torch_reductions import matmul

        return matmul(tensor_of(left), right)
    for operand in (left, right):
        if isinstance(operand, Literal) and not isinstance(operand.value, int | float | complex):
            raise GiveUpError
        if not isinstance(operand, TensorFacts | Literal | Integer | Unknown):
            return None
    operands = (left, right)
    if any(isinstance(operand, Unknown) for operand in operands):
        return build(None)
    dtypes = promoted(operands)
    if op == "/":
        dtypes = floating(dtypes)
    if dtypes == _BOOL and op in ("-", "//", "%", "/"):
        dtypes = None if op != "/" else dtypes
    values = None
    if op in _ARITHMETIC and (_all_integers(operands) or op in "+-*"):
        values = _computed(_ARITHMETIC[op], left, right)
    tags = NO_TAGS
    if op == "//":
        tags = _divided(left, right)
    elif op == "-" and _neighbours(left, right):
        tags = frozenset(("difference",))
    if op == "**":
        result = combined(operands, dtypes, unary=True)
        if isinstance(left, TensorFacts) or (isinstance(right, TensorFacts) and right.dense):
            return result
        return result.with_(strides=None, dense=None)
    # A number divided by a tensor is a reciprocal first.
    inverse = op == "/" and not isinstance(left, TensorFacts)
    return combined(operands, dtypes, values, tags, unary=inverse)


def _divided(offsets: Value, divisor: Value) -> frozenset[str]:
    """Tags of a floor division: whether lengths between known offsets were cut."""
    number = number_of(divisor)
    lengths = (
        (b - a for a, b in pairwise(offsets.values))
        if isinstance(offsets, TensorFacts) and offsets.values is not None
        else ()
    )
    uneven = number is not None and number != 0 and any(length % number for length in lengths)
    return frozenset(("divided", DIVIDED) if uneven else ("divided",))


def _neighbours(left: Value, right: Value) -> bool:
    """Whether `x[1:] - x[:-1]` is computed."""
    if not isinstance(left, TensorFacts) or not isinstance(right, TensorFacts):
        return False
    tails = {tag[8:] for tag in left.tags if tag.startswith("tail-of-")}
    heads = {tag[8:] for tag in right.tags if tag.startswith("head-of-")}
    return bool(tails & heads)


def compare(op: str, left: Value, right: Value) -> Value | None:
    """`left < right` and its like: a bool tensor."""
    for operand in (left, right):
        if not isinstance(operand, TensorFacts | Literal | Integer | Unknown):
            return None
        if isinstance(operand, Literal) and not isinstance(operand.value, int | float | complex):
            return None
        if isinstance(operand, Unknown) and op in ("==", "!=") and not operand.not_none:
            return None  # beside None, a bool
    result = combined((left, right), _BOOL, computed=promoted((left, right)))
    return result.with_(dtypes=_BOOL)


def unary(op: str, tensor: TensorFacts) -> Value | None:
    if op == "+":
        return tensor
    if op == "-":
        return negative(tensor)
    if op in ("~", "not"):
        return mapped(tensor, tensor.dtypes) if op == "~" else None
    return None


def _register_binary(op: str, *names: str) -> None:
    def apply(input: Value, other: Value, alpha: Value = NONE, out: Value = NONE) -> Value:
        if alpha != NONE:
            return combined((input, other), promoted((input, other)))
        result = binary(op, input, other)
        if result is None:
            raise GiveUpError
        return result

    function(*("torch." + name for name in names))(apply)
    method(*names)(apply)


for _op, _names in {
    "+": ("add",),
    "-": ("sub", "subtract"),
    "*": ("mul", "multiply"),
    "//": ("floor_divide",),
    "%": ("remainder",),
    "&": ("bitwise_and",),
    "|": ("bitwise_or",),
    "^": ("bitwise_xor",),
    "<<": ("bitwise_left_shift",),
    ">>": ("bitwise_right_shift",),
}.items():
    _register_binary(_op, *_names)


@operation("pow")
def pow_(input: TensorFacts, exponent: Value) -> Value:
    result = binary("**", input, exponent)
    if result is None:
        raise GiveUpError
    return result


@operation("div", "divide", "true_divide")
def div(input: TensorFacts, other: Value, rounding_mode: Value = NONE) -> Value:
    if rounding_mode == NONE:
        result = binary("/", input, other)
        if result is None:
            raise GiveUpError
        return result
    floor = isinstance(rounding_mode, Literal) and rounding_mode.value == "floor"
    values = _computed(operator.floordiv, input, other) if floor else None
    operands = (input, other)
    if not _all_integers(operands):
        values = None
    return combined(operands, promoted(operands), values, _divided(input, other))


def _register_comparison(op: str, *names: str) -> None:
    def apply(input: TensorFacts, other: Value) -> Value:
        result = compare(op, input, other)
        if result is None:
            raise GiveUpError
        return result

    operation(*names)(apply)


for _op, _names in {
    "==": ("eq",),
    "!=": ("ne", "not_equal"),
    "<": ("lt", "less"),
    "<=": ("le", "less_equal"),
    ">": ("gt", "greater"),
    ">=": ("ge", "greater_equal"),
}.items():
    _register_comparison(_op, *_names)


@operation("logical_and", "logical_or", "logical_xor")
def logical(input: TensorFacts, other: Value) -> Value:
    return combined((input, tensor_of(other)), _BOOL)


@operation("logical_not")
def logical_not(input: TensorFacts) -> Value:
    return combined((input,), _BOOL, computed=input.dtypes)


@operation("isnan", "isinf", "isfinite", "signbit")
def is_special(input: TensorFacts) -> Value:
    result = combined((input,), _BOOL, computed=input.dtypes)
    # isinf and isfinite compare in more than one step, whose layouts are not followed.
    return result if result.dense else build(result.shape, dtypes=_BOOL, device=result.device)


@operation("neg", "negative")
def negative(input: TensorFacts) -> TensorFacts:
    values = None if input.values is None else [-value for value in input.values]
    return mapped(input, input.dtypes, values)


@operation("abs", "absolute")
def absolute(input: TensorFacts) -> Value:
    dtypes = input.dtypes
    if dtypes is not None and any(map(is_complex, dtypes)):
        dtypes = None
    values = None if input.values is None else [abs(value) for value in input.values]
    return mapped(input, dtypes, values)


@operation(
    "sign",
    "sgn",
    "floor",
    "ceil",
    "trunc",
    "round",
    "frac",
    "bitwise_not",
    "conj_physical",
)
def keeping(input: TensorFacts, decimals: Value = NONE) -> Value:
    return mapped(input, input.dtypes)


@operation(
    *words(
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
    ),
    *words("sigmoid erf erfc reciprocal logit sinc"),
    functions=("torch.nn.functional.sigmoid", "torch.nn.functional.tanh"),
)
def transcendental(input: TensorFacts) -> Value:
    return mapped(input, floating(input.dtypes))


@function(
    *(
        f"torch.nn.functional.{name}"
        for name in words(
            "silu relu6 elu selu celu leaky_relu hardtanh mish hardswish hardsigmoid softsign "
            "softplus gelu threshold softshrink hardshrink tanhshrink"
        )
    ),
    of_tensor=True,
)
def activation(
    input: TensorFacts,
    *arguments: Value,
    alpha: Value = NONE,
    beta: Value = NONE,
    threshold: Value = NONE,
    negative_slope: Value = NONE,
    approximate: Value = NONE,
    lambd: Value = NONE,
    min_val: Value = NONE,
    max_val: Value = NONE,
    value: Value = NONE,
    inplace: Value = NONE,
) -> Value:
    if inplace != NONE and not (isinstance(inplace, Literal) and inplace.value is False):
        # The receiver itself is returned.
        return input.with_(values=None, tags=NO_TAGS)
    return mapped(input, input.dtypes)


@function("torch.nn.functional.logsigmoid", of_tensor=True)
def logsigmoid(input: TensorFacts) -> Value:
    result = mapped(input, input.dtypes)
    return result if input.dense else result.with_(strides=None, dense=None)


@operation("square")
def square(input: TensorFacts) -> Value:
    result = binary("**", input, Literal(2))
    if result is None:
        raise GiveUpError
    return result


@operation("relu", functions=("torch.nn.functional.relu",))
def relu(input: TensorFacts, inplace: Value = NONE) -> Value:
    return clamp(input, ZERO).with_(dtypes=input.dtypes)


@function(
    "torch.nn.functional.dropout",
    "torch.dropout",
    "torch.nn.functional.alpha_dropout",
    of_tensor=True,
)
def dropout(
    input: TensorFacts,
    p: Value = NONE,
    training: Value = NONE,
    inplace: Value = NONE,
) -> Value:
    result = mapped(input, input.dtypes)
    if input.dense and result.dense:
        return result.with_(strides=result.strides if result.strides == input.strides else None)
    # Outside of training it is the tensor itself.
    return build(input.shape, dtypes=input.dtypes, device=input.device, partial=dict(input.partial))


@operation("clamp", "clip")
def clamp(input: TensorFacts, min: Value = NONE, max: Value = NONE) -> TensorFacts:
    bounds = [bound for bound in (min, max) if bound != NONE]
    if not bounds:
        raise GiveUpError
    low, high = number_of(min), number_of(max)
    values = None
    if input.values is not None and all(number_of(bound) is not None for bound in bounds):
        values = [_within(value, low, high) for value in input.values]
    least = dim_of(min)
    not_negative = (least is not None and at_least(least, 0)) or (low is not None and low >= 0)
    tags = frozenset((CLAMPED,)) if not_negative else NO_TAGS
    if low == 0 and input.values is not None and any(value < 0 for value in input.values):
        tags |= {CLAMPED_PADDING}
    if any(isinstance(bound, TensorFacts) for bound in bounds) or any(
        isinstance(bound, Unknown) for bound in bounds
    ):
        return combined((input, *bounds), promoted((input, *bounds)), None, tags)
    return combined((input,), promoted((input, *bounds)), values, tags)


def _within(value: int, low: int | None, high: int | None) -> int:
    if low is not None and value < low:
        value = low
    return high if high is not None and value > high else value


@operation("clamp_min")
def clamp_min(input: TensorFacts, min: Value) -> Value:
    return clamp(input, min)


@operation("clamp_max")
def clamp_max(input: TensorFacts, max: Value) -> Value:
    return clamp(input, NONE, max)


@operation("maximum", "minimum", "fmax", "fmin")
def extremum(input: TensorFacts, other: Value) -> Value:
    operands = (input, tensor_of(other))
    return combined(operands, promoted(operands))


@operation("atan2", "hypot", "fmod", "logaddexp", "arctan2")
def two_argument(input: TensorFacts, other: Value) -> Value:
    operands = (input, other)
    return combined(operands, None)


@operation("isclose")
def isclose(
    input: TensorFacts,
    other: Value,
    rtol: Value = NONE,
    atol: Value = NONE,
    equal_nan: Value = NONE,
) -> Value:
    result = combined((input, tensor_of(other)), _BOOL)
    return result.with_(strides=None, dense=None)


@operation("nan_to_num")
def nan_to_num(
    input: TensorFacts, nan: Value = NONE, posinf: Value = NONE, neginf: Value = NONE
) -> Value:
    result = mapped(input, input.dtypes)
    # Integers are copied, which keeps the strides of axes of size 1.
    if result.shape is None or not input.dense:
        return result.with_(strides=None, dense=None)
    return result.with_(strides=layout.known_strides(result.shape, None, True))


@operation("lerp", "addcmul", "addcdiv")
def three_argument(
    input: TensorFacts, tensor1: Value, tensor2: Value, value: Value = NONE
) -> Value:
    operands = [input, tensor1, tensor2]
    return combined(operands, None).with_(strides=None, dense=None)


@function("torch.where")
def where(condition: Value, input: Value = NONE, other: Value = NONE) -> Value:
    if input == NONE and other == NONE:
        from kdacheck.source.torch_reductions import nonzero

        return nonzero(tensor_of(condition), Literal(True))
    mask = tensor_of(condition)
    if isinstance(input, Unknown) or isinstance(other, Unknown):
        return build(None)
    dtypes = promoted((input, other))
    facts = combined((mask, input, other), dtypes, mask=mask)
    if not isinstance(input, TensorFacts) and not isinstance(other, TensorFacts):
        return facts.with_(device=mask.device)
    return facts


@method("where")
def where_method(input: TensorFacts, condition: Value, other: Value) -> Value:
    return where(condition, input, other)


@operation("masked_fill")
def masked_fill(input: TensorFacts, mask: Value, value: Value) -> Value:
    facts = combined((input, tensor_of(mask)), input.dtypes)
    if facts.shape is None or not (facts.dense and input.dense):
        return facts.with_(strides=None, dense=None)
    return facts.with_(strides=layout.known_strides(facts.shape, None, True))


@function("torch.nn.functional.normalize", of_tensor=True)
def normalize(
    input: TensorFacts, p: Value = NONE, dim: Value = NONE, eps: Value = NONE, out: Value = NONE
) -> Value:
    result = mapped(input, input.dtypes)
    if result.shape is None or not input.dense:
        return result.with_(strides=None, dense=None)
    return result.with_(strides=layout.known_strides(result.shape, None, True))


@function(
    "torch.softmax",
    "torch.log_softmax",
    "torch.nn.functional.softmax",
    "torch.nn.functional.log_softmax",
    of_tensor=True,
)
def softmax(
    input: TensorFacts,
    dim: Value = NONE,
    _stacklevel: Value = NONE,
    dtype: Value = NONE,
) -> Value:
    from kdacheck.source.torch_constructors import fresh

    result = fresh(input.shape, dtypes_of(dtype, input.dtypes), input.device)
    return result if input.shape is not None else result.with_(partial=dict(input.partial))


@method("softmax", "log_softmax")
def softmax_method(input: TensorFacts, dim: Value, dtype: Value = NONE) -> Value:
    return softmax(input, dim, NONE, dtype)


def overwritten(tensor: TensorFacts, result: Value | None) -> TensorFacts:
    """A tensor whose contents were overwritten by those of `result`, in place."""
    if not isinstance(result, TensorFacts):
        return tensor.with_(values=None, tags=NO_TAGS)
    values = result.values
    if values is not None and not (result.shape == tensor.shape and fits(values, tensor.dtypes)):
        values = None
    return tensor.with_(values=values, tags=result.tags)
