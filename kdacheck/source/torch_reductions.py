"""Reductions, scans, matrix products and other operations whose result has its own layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from kdacheck.facts import Dim, Literal, TensorFacts, differs
from kdacheck.facts.dims import add, at_least, bounds, symbol
from kdacheck.source import torch_layout as layout
from kdacheck.source.torch_arguments import (
    LAST,
    ONE,
    Shape,
    axes_of,
    axis_of,
    build,
    certain_flag,
    dim_of,
    dtypes_of,
    renewed,
    tensor_of,
)
from kdacheck.source.torch_constructors import fresh
from kdacheck.source.torch_dtypes import INTEGRAL, Dtypes, over
from kdacheck.source.torch_elementwise import NO_TAGS, combined, device_of_all, floating, promoted
from kdacheck.source.torch_registry import GiveUpError, function, operation
from kdacheck.source.torch_views import cut
from kdacheck.source.values import NONE, Items, Unknown, Value

_INT64: Dtypes = frozenset(("int64",))
_BOOL: Dtypes = frozenset(("bool",))


def widened(dtypes: Dtypes) -> Dtypes:
    """Sums of integers are int64."""
    return over(lambda name: "int64" if name in INTEGRAL else name, dtypes)


def _reduced_shape(tensor: TensorFacts, dim: Value, keepdim: Value) -> Shape | None:
    if tensor.shape is None:
        return () if dim == NONE and keepdim in (NONE, Literal(False)) else None
    keep = certain_flag(keepdim) if keepdim != NONE else False
    rank = len(tensor.shape)
    axes = range(rank) if dim in (NONE, Items(()), Items((), "list")) else axes_of(dim, rank)
    if keep:
        return tuple(1 if axis in axes else size for axis, size in enumerate(tensor.shape))
    return tuple(size for axis, size in enumerate(tensor.shape) if axis not in axes)


def reduced(
    tensor: TensorFacts,
    dim: Value,
    keepdim: Value,
    dtypes: Dtypes,
    values: Sequence[int] | None = None,
    tags: frozenset[str] = frozenset(),
) -> TensorFacts:
    if isinstance(dim, Unknown):
        raise GiveUpError
    shape = _reduced_shape(tensor, dim, keepdim)
    result = fresh(shape, dtypes, tensor.device, values if shape == () else None)
    return result.with_(tags=tags)


@operation("sum", "nansum")
def sum_(
    input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE, dtype: Value = NONE
) -> Value:
    values = None if input.values is None else [sum(input.values)]
    result = reduced(input, dim, keepdim, dtypes_of(dtype, widened(input.dtypes)), values)
    # a sum over an axis of size 1 adds nothing up
    kept = [size for size in result.shape or () if size != 1]
    if input.shape is not None and kept == [size for size in input.shape if size != 1]:
        return result
    return result.with_(tags=frozenset(("sum",)))


@operation("prod")
def prod(
    input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE, dtype: Value = NONE
) -> Value:
    return reduced(input, dim, keepdim, dtypes_of(dtype, widened(input.dtypes)))


@operation("mean", "nanmean")
def mean(
    input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE, dtype: Value = NONE
) -> Value:
    return reduced(input, dim, keepdim, dtypes_of(dtype, input.dtypes))


@operation("std", "var")
def std(
    input: TensorFacts,
    dim: Value = NONE,
    unbiased: Value = NONE,
    keepdim: Value = NONE,
    correction: Value = NONE,
) -> Value:
    if isinstance(dim, Literal) and isinstance(dim.value, bool):
        dim = NONE
    return reduced(input, dim, keepdim, input.dtypes)


@operation("logsumexp")
def logsumexp(input: TensorFacts, dim: Value, keepdim: Value = NONE) -> Value:
    return reduced(input, dim, keepdim, floating(input.dtypes))


@operation("norm")
def norm(
    input: TensorFacts,
    p: Value = NONE,
    dim: Value = NONE,
    keepdim: Value = NONE,
    dtype: Value = NONE,
) -> Value:
    return reduced(input, dim, keepdim, dtypes_of(dtype, input.dtypes))


@operation("all", "any")
def all_(input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE) -> Value:
    dtypes = over(lambda name: "uint8" if name == "uint8" else "bool", input.dtypes)
    return reduced(input, dim, keepdim, dtypes)


@operation("amax", "amin")
def amax(input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE) -> Value:
    return reduced(input, dim, keepdim, input.dtypes)


def _register_extremum(name: str) -> None:
    pick = max if name == "max" else min

    def extremum(
        input: TensorFacts,
        dim: Value = NONE,
        keepdim: Value = NONE,
        other: Value = NONE,
    ) -> Value:
        if isinstance(dim, TensorFacts):
            other, dim = dim, NONE
        if other != NONE:
            from kdacheck.source.torch_elementwise import extremum as elementwise

            return elementwise(input, other)
        if isinstance(dim, Unknown):
            raise GiveUpError
        if dim == NONE:
            values = [pick(input.values)] if input.values else None
            return fresh((), input.dtypes, input.device, values)
        return Items(
            (
                reduced(input, dim, keepdim, input.dtypes),
                reduced(input, dim, keepdim, _INT64),
            )
        )

    operation(name)(extremum)


for _name in ("max", "min"):
    _register_extremum(_name)


@operation("median", "mode", "kthvalue_")
def median(input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE) -> Value:
    if isinstance(dim, Unknown) or dim == NONE:
        raise GiveUpError
    return Items(
        tuple(
            reduced(input, dim, keepdim, dtypes).with_(strides=None, dense=None)
            for dtypes in (input.dtypes, _INT64)
        )
    )


@operation("argmax", "argmin")
def argmax(input: TensorFacts, dim: Value = NONE, keepdim: Value = NONE) -> Value:
    return reduced(input, dim, keepdim, _INT64)


@operation("count_nonzero")
def count_nonzero(input: TensorFacts, dim: Value = NONE) -> Value:
    return reduced(input, dim, NONE, _INT64)


@operation("cumprod")
def cumprod(input: TensorFacts, dim: Value, dtype: Value = NONE, out: Value = NONE) -> Value:
    return _scan(input, dim, dtype)


def _scan(
    tensor: TensorFacts,
    dim: Value,
    dtype: Value,
    values: Sequence[int] | None = None,
    tags: frozenset[str] = frozenset(),
) -> TensorFacts:
    dtypes = dtypes_of(dtype, widened(tensor.dtypes))
    if tensor.shape is None:
        return build(
            None,
            dense=True,
            dtypes=dtypes,
            device=tensor.device,
            partial=dict(tensor.partial),
            handle=tensor.handle,
            tags=tags,
        )
    if dim_of(dim) is not None and isinstance(dim_of(dim), int):
        axis_of(dim, len(tensor.shape))
    return fresh(tensor.shape, dtypes, tensor.device, values).with_(tags=tags)


@operation("cumsum")
def cumsum(input: TensorFacts, dim: Value, dtype: Value = NONE, out: Value = NONE) -> Value:
    values = None
    if input.values is not None and input.shape is not None:
        values = tuple(accumulate(input.values))
    # Zeros padded in front stay zero.
    tags = frozenset(("cumsum",)) | (input.tags & frozenset(("padded-left",)))
    return _scan(input, dim, dtype, values, tags)


@operation("cummax", "cummin")
def cummax(input: TensorFacts, dim: Value) -> Value:
    return Items(
        tuple(
            _scan(input.with_(dtypes=dtypes), dim, NONE).with_(dtypes=dtypes)
            for dtypes in (input.dtypes, _INT64)
        )
    )


@operation("logcumsumexp")
def logcumsumexp(input: TensorFacts, dim: Value) -> Value:
    return _scan(input, dim, NONE).with_(dtypes=floating(input.dtypes))


@operation("diff")
def diff(
    input: TensorFacts,
    n: Value = ONE,
    dim: Value = LAST,
    prepend: Value = NONE,
    append: Value = NONE,
) -> Value:
    tags = frozenset(("difference",))
    if prepend != NONE or append != NONE or n != Literal(1):
        if input.shape is None or n != Literal(1):
            return build(None, dtypes=None, device=input.device)
        return build(tuple(symbol("?") for _ in input.shape), device=input.device)
    if input.shape is None:
        return build(None, dtypes=input.dtypes, device=input.device, tags=tags)
    if not input.shape:
        raise GiveUpError
    axis = axis_of(dim, len(input.shape))
    size = input.shape[axis]
    if size == 0:
        return renewed(input, input.shape, tags=tags)
    if not at_least(size, 1):
        shape = (*input.shape[:axis], symbol("?", high=bounds(size)[1]), *input.shape[axis + 1 :])
        return renewed(input, shape, tags=tags)
    shorter = add(size, -1)
    whole = input.values
    ends = cut(input, axis, shorter, slice(1, None)), cut(input, axis, shorter, slice(0, -1))
    values = None if whole is None else [b - a for a, b in pairwise(whole)]
    return combined(ends, input.dtypes, values, tags)


@operation("sort")
def sort(
    input: TensorFacts, dim: Value = NONE, descending: Value = NONE, stable: Value = NONE
) -> Value:
    if input.shape is None:
        return Items(
            tuple(
                build(None, dtypes=d, device=input.device, partial=dict(input.partial))
                for d in (input.dtypes, _INT64)
            )
        )
    strides, dense = layout.preserved(input.shape, input.strides, input.dense)
    return Items(
        tuple(
            build(input.shape, strides, dense=dense, dtypes=d, device=input.device)
            for d in (input.dtypes, _INT64)
        )
    )


@operation("argsort")
def argsort(
    input: TensorFacts, dim: Value = NONE, descending: Value = NONE, stable: Value = NONE
) -> Value:
    result = sort(input)
    if not isinstance(result, Items):
        raise GiveUpError
    return result.items[1]


@operation("topk")
def topk(
    input: TensorFacts,
    k: Value,
    dim: Value = LAST,
    largest: Value = NONE,
    sorted: Value = NONE,
) -> Value:
    if input.shape is None:
        raise GiveUpError
    axis = axis_of(dim, len(input.shape))
    count = dim_of(k)
    size = symbol("k") if count is None else count
    shape = (*input.shape[:axis], size, *input.shape[axis + 1 :]) if input.shape else ()
    return Items(tuple(fresh(shape, d, input.device) for d in (input.dtypes, _INT64)))


@operation("nonzero", "argwhere")
def nonzero(input: TensorFacts, as_tuple: Value = NONE) -> Value:
    rank = input.rank
    if as_tuple not in (NONE, Literal(False), Literal(True)):
        raise GiveUpError
    if as_tuple == Literal(True):
        if rank is None:
            raise GiveUpError
        count = symbol("?")
        return Items(
            tuple(build((count,), dtypes=_INT64, device=input.device) for _ in range(max(1, rank)))
        )
    if rank is None:
        return build(None, dtypes=_INT64, device=input.device)
    return build((symbol("?"), rank), dtypes=_INT64, device=input.device)


@operation("bincount")
def bincount(input: TensorFacts, weights: Value = NONE, minlength: Value = NONE) -> Value:
    return fresh((symbol("?"),), _INT64 if weights == NONE else None, input.device)


@operation("unique")
def unique(
    input: TensorFacts,
    sorted: Value = NONE,
    return_inverse: Value = NONE,
    return_counts: Value = NONE,
    dim: Value = NONE,
) -> Value:
    return unique_consecutive(input, return_inverse, return_counts, dim)


@operation("unique_consecutive")
def unique_consecutive(
    input: TensorFacts,
    return_inverse: Value = NONE,
    return_counts: Value = NONE,
    dim: Value = NONE,
) -> Value:
    flags = (return_inverse, return_counts)
    if dim != NONE or any(flag not in (NONE, Literal(False)) for flag in flags):
        raise GiveUpError
    return fresh((symbol("?"),), input.dtypes, input.device)


@operation("searchsorted")
def searchsorted(
    input: TensorFacts,
    values: Value,
    out_int32: Value = NONE,
    right: Value = NONE,
    side: Value = NONE,
) -> Value:
    wide = out_int32 in (NONE, Literal(False))
    dtypes = _INT64 if wide else frozenset(("int32",)) if out_int32 == Literal(True) else None
    if isinstance(values, TensorFacts):
        return build(values.shape, dtypes=dtypes, device=values.device)
    return build(None, dtypes=dtypes, device=input.device)


@operation("matmul")
def matmul(input: TensorFacts, other: Value) -> Value:
    right = tensor_of(other)
    dtypes = input.dtypes if input.dtypes == right.dtypes else None
    device = device_of_all((input, right))
    a, b = input.shape, right.shape
    if a is None or b is None:
        return build(None, dtypes=dtypes, device=device)
    if not a or not b:
        raise GiveUpError
    if differs(a[-1], b[max(0, len(b) - 2)]):
        raise GiveUpError
    if len(a) == 1 and len(b) == 1:
        return fresh((), dtypes, device)
    batch = layout.broadcast((a[:-2], b[:-2]))
    shape = (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
    if (len(a) <= 2 and len(b) <= 2) or (input.dense and right.dense):
        return fresh(shape, dtypes, device)
    return build(shape, dtypes=dtypes, device=device)


@operation("mm", "bmm", "mv", "dot")
def mm(input: TensorFacts, mat2: Value) -> Value:
    return matmul(input, mat2)


@operation("outer", "ger")
def outer(input: TensorFacts, vec2: Value) -> Value:
    right = tensor_of(vec2)
    rows, columns = input.dim(0), right.dim(0)
    shape = (symbol("?") if rows is None else rows, symbol("?") if columns is None else columns)
    return build(shape, dtypes=promoted((input, right)), device=device_of_all((input, right)))


@function("torch.nn.functional.linear", of_tensor=True)
def linear(input: TensorFacts, weight: Value, bias: Value = NONE) -> Value:
    matrix = tensor_of(weight)
    device = device_of_all((input, matrix))
    dtypes = input.dtypes if input.dtypes == matrix.dtypes else None
    rows = matrix.dim(0)
    if input.shape is None:
        known = max(input.partial, default=-1)
        partial = {a: s for a, s in input.partial.items() if a < known}
        return build(None, dtypes=dtypes, device=device, partial=partial)
    if matrix.shape is not None and len(matrix.shape) == 1:
        return build(input.shape[:-1], dtypes=dtypes, device=device)
    if not input.shape or (matrix.shape is None and not input.shape):
        raise GiveUpError
    if matrix.shape is None:
        return build(None, dtypes=dtypes, device=device)
    shape = (*input.shape[:-1], symbol("?") if rows is None else rows)
    if input.dense and matrix.dense:
        return fresh(shape, dtypes, device)
    return build(shape, dtypes=dtypes, device=device)


@function("torch.einsum")
def einsum(equation: Value, *operands: Value) -> Value:
    items = operands
    if len(operands) == 1 and isinstance(operands[0], Items):
        items = operands[0].items
    if not isinstance(equation, Literal) or not isinstance(equation.value, str):
        raise GiveUpError
    facts = [tensor_of(item) for item in items]
    return contracted(equation.value, facts)


def contracted(equation: str, facts: Sequence[TensorFacts]) -> TensorFacts:
    """The result of an einsum over one-letter axes; its layout is not followed."""
    dtypes = facts[0].dtypes if len({fact.dtypes for fact in facts}) == 1 else None
    if dtypes is not None and dtypes & INTEGRAL:
        # A sum of integers may be wider.
        dtypes = None
    device = device_of_all(facts)
    left, arrow, right = equation.replace(" ", "").partition("->")
    if "." in equation or left.count(",") + 1 != len(facts):
        return build(None, dtypes=dtypes, device=device)
    sizes: dict[str, Dim] = {}
    for letters, fact in zip(left.split(","), facts, strict=True):
        if fact.shape is not None and len(fact.shape) != len(letters):
            raise GiveUpError
        for axis, letter in enumerate(letters):
            size = fact.dim(axis)
            if size is None:
                continue
            old = sizes.get(letter)
            sizes[letter] = size if old is None else layout.broadcast_size(old, size)
    if not arrow:
        letters = "".join(left.split(","))
        right = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if any(letter not in left for letter in right):
        raise GiveUpError
    shape = tuple(sizes[letter] if letter in sizes else symbol(letter) for letter in right)
    return build(shape, dtypes=dtypes, device=device)


@function("torch.nn.functional.rms_norm", "torch.nn.functional.layer_norm", of_tensor=True)
def norm_layer(
    input: TensorFacts,
    normalized_shape: Value,
    weight: Value = NONE,
    bias: Value = NONE,
    eps: Value = NONE,
) -> Value:
    return build(
        input.shape,
        dtypes=input.dtypes if weight == NONE and bias == NONE else None,
        device=input.device,
        partial=dict(input.partial),
    )


@operation("tril", "triu")
def triangle(input: TensorFacts, diagonal: Value = NONE) -> Value:
    if input.dense and input.shape is not None:
        return renewed(
            input,
            input.shape,
            layout.known_strides(input.shape, None, True),
            dense=True,
            tags=NO_TAGS,
        )
    return build(input.shape, dtypes=input.dtypes, device=input.device, partial=dict(input.partial))


@function("torch.bucketize", of_tensor=True)
def bucketize(
    input: TensorFacts, boundaries: Value, out_int32: Value = NONE, right: Value = NONE
) -> Value:
    wide = out_int32 in (NONE, Literal(False))
    return build(
        input.shape,
        dtypes=_INT64 if wide else None,
        device=input.device,
        partial=dict(input.partial),
    )


@function("torch.nn.functional.embedding", of_tensor=True)
def embedding(
    input: TensorFacts,
    weight: Value,
    padding_idx: Value = NONE,
    max_norm: Value = NONE,
    norm_type: Value = NONE,
    scale_grad_by_freq: Value = NONE,
    sparse: Value = NONE,
) -> Value:
    table = tensor_of(weight)
    width = table.dim(1)
    if input.shape is None:
        return build(None, dtypes=table.dtypes, device=input.device, partial=dict(input.partial))
    shape = (*input.shape, symbol("?") if width is None else width)
    return build(shape, dtypes=table.dtypes, device=input.device)


@function("torch.nn.functional.scaled_dot_product_attention")
def attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value = NONE,
    dropout_p: Value = NONE,
    is_causal: Value = NONE,
    scale: Value = NONE,
    enable_gqa: Value = NONE,
) -> Value:
    q, v = tensor_of(query), tensor_of(value)
    width = v.shape[-1] if v.shape else None
    if not q.shape:
        return build(None, dtypes=q.dtypes, device=q.device)
    shape = (*q.shape[:-1], symbol("?") if width is None else width)
    return build(shape, dtypes=q.dtypes, device=q.device)
