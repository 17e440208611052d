"""The tensors that a stand-in returns."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from kdacheck.contracts.annotations import TensorSpec, evaluate, parse
from kdacheck.contracts.call import Call
from kdacheck.contracts.clauses import Packed, VFirst
from kdacheck.contracts.model import Contract
from kdacheck.contracts.outputs import Output, Result
from kdacheck.facts import TensorFacts
from kdacheck.runtime.facts import Contents
from kdacheck.runtime.standins import NoOutputsError

#: Tokens per chunk in the tables of states that prefill kernels return.
CHUNK = 64


class _Zeros(torch.autograd.Function):
    """Zeros of some shapes that depend on the inputs, with zero gradients."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        shapes: Sequence[tuple[tuple[int, ...], torch.dtype]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(inputs[0].new_zeros(shape, dtype=dtype) for shape, dtype in shapes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, *map(torch.zeros_like, ctx.saved_tensors)


def _zeros(
    shapes: Sequence[tuple[tuple[int, ...], torch.dtype]], given: Mapping[str, Any]
) -> tuple[Tensor, ...]:
    tensors = [value for value in given.values() if isinstance(value, Tensor)]
    if not tensors:
        raise NoOutputsError("no argument is a tensor")
    floating = [value for value in tensors if value.is_floating_point()]
    if torch.is_grad_enabled() and any(value.requires_grad for value in floating):
        first = [floating[0], *floating[1:]]
        return _Zeros.apply(tuple(shapes), *first)  # type: ignore[return-value]
    return tuple(tensors[0].new_zeros(shape, dtype=dtype) for shape, dtype in shapes)


def by_result(result: Result, call: Call, given: Mapping[str, Any]) -> Any:
    """What a callee of the catalogue returns."""
    kept = [
        output
        for output in result.outputs
        if output is None or not output.dropped or call.on(output.flag) is True
    ]
    made = _made(kept, call, given)
    if not kept:
        return None
    return made[0] if result.alone or (len(made) == 1 and len(result.outputs) > 1) else tuple(made)


def _made(kept: Sequence[Output | None], call: Call, given: Mapping[str, Any]) -> list[Any]:
    made: list[Any] = [None] * len(kept)
    fresh: list[int] = []
    shapes: list[tuple[tuple[int, ...], torch.dtype]] = []
    for index, output in enumerate(kept):
        if output is None or (output.flag and call.on(output.flag) is not True):
            continue
        if output.same:
            made[index] = given.get(output.same)
            continue
        fresh.append(index)
        shapes.append((_shape(output, call, given), _dtype(output, given)))
    if fresh:
        for index, tensor in zip(fresh, _zeros(shapes, given), strict=True):
            made[index] = tensor
    return made


def _shape(output: Output, call: Call, given: Mapping[str, Any]) -> tuple[int, ...]:
    if output.like:
        like = given.get(output.like)
        if not isinstance(like, Tensor):
            raise NoOutputsError(f"the result is like `{output.like}`, which is no tensor")
        return tuple(like.shape)
    annotation = parse(output.text)
    specs = list(annotation.tensors)
    for order in call.contract.each(VFirst):
        if len(specs) > 1 and order.flag is not None and call.on(order.flag) is not None:
            last = ("V", "K") if call.on(order.flag) else ("K", "V")
            specs = [s for s in specs if s.axes and s.axes.names[-2:] == last] or specs
    return sizes(specs[0], call, given)


def sizes(spec: TensorSpec, call: Call, given: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape that an annotation comes to in a call. Raises NoOutputsError where a dimension is not bound."""
    bound = dict(call.unified.dims)
    names = spec.axes.names if spec.axes is not None else ("...",)
    if names[-2:] == ("_", "_"):
        v_first = call.contract.first(VFirst) is not None
        names = (*names[:-2], *(("V", "K") if v_first else ("K", "V")))
        if "V" not in bound and "K" in bound:
            bound["V"] = bound["K"]
    if "chunks" in names:
        bound["chunks"] = _chunks(call, given)
    if "chunk_rows" in names:
        bound["chunk_rows"] = _chunk_rows(call)
    shape: list[int] = []
    for name in names:
        size = evaluate(name, bound)
        if not isinstance(size, int):
            raise NoOutputsError(f"the result has an axis {name!r} of unknown size")
        shape.append(size)
    return tuple(shape)


def _chunk_rows(call: Call) -> int:
    """Rows for the chunks of all sequences, whatever their lengths are."""
    tokens, offsets = call.unified.size("T"), call.tensor("cu_seqlens")
    if not isinstance(tokens, int):
        raise NoOutputsError("the number of tokens is not known")
    length = offsets.dim(0) if offsets is not None else None
    return tokens // CHUNK + length - 1 if isinstance(length, int) else -(-tokens // CHUNK)


def _chunks(call: Call, given: Mapping[str, Any]) -> int:
    """Chunks of all sequences; as many as there may be where the offsets cannot be read."""
    tokens = call.unified.size("T")
    if not isinstance(tokens, int):
        raise NoOutputsError("the number of tokens is not known")
    for packed in call.contract.each(Packed):
        if call.given(packed.by) is not True:
            continue
        values = Contents(given)(packed.by)
        if values is not None:
            return sum(-(-(b - a) // CHUNK) for a, b in itertools.pairwise(values))
        offsets = call.tensor(packed.by)
        length = offsets.dim(0) if offsets is not None else None
        return -(-tokens // CHUNK) + (length - 2 if isinstance(length, int) else 0)
    return -(-tokens // CHUNK)


def _dtype(output: Output, given: Mapping[str, Any]) -> torch.dtype:
    wanted = given.get("output_dtype")
    if isinstance(wanted, torch.dtype):
        return wanted
    if output.dtype and output.dtype != "like":
        return getattr(torch, output.dtype)
    like = given.get(output.like)
    if isinstance(like, Tensor):
        return like.dtype
    return _first_dtype(parse(output.text).tensors, given, state=output.dtype != "like")


def _first_dtype(
    specs: Sequence[TensorSpec], given: Mapping[str, Any], *, state: bool = False
) -> torch.dtype:
    dtypes = specs[0].dtypes if specs else None
    if dtypes is not None and len(dtypes) == 1:
        return getattr(torch, next(iter(dtypes)))
    if state:
        return torch.float32
    for value in given.values():
        if isinstance(value, Tensor):
            name = str(value.dtype).removeprefix("torch.")
            if dtypes is None or name in dtypes:
                return value.dtype
    return getattr(torch, sorted(dtypes)[0]) if dtypes else torch.get_default_dtype()


def by_annotation(contract: Contract, call: Call, given: Mapping[str, Any]) -> Any:
    """What a function returns by its return annotation: a tensor, None, or a tuple of those.

    An optional part is None where `output_final_state` is there and false, or where its sizes are not bound.
    """
    try:
        node = ast.parse(contract.returns.strip("'\""), mode="eval").body
    except SyntaxError:
        raise NoOutputsError(f"no return annotation: {contract.returns}") from None
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(("tuple", "Tuple")):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tuple(_annotated(ast.unparse(item), call, given) for item in items)
    return _annotated(ast.unparse(node), call, given)


def _annotated(text: str, call: Call, given: Mapping[str, Any]) -> Tensor | None:
    annotation = parse(text)
    if annotation.others or (not annotation.tensors and not annotation.optional):
        raise NoOutputsError(f"no shape is known of a result `{text}`")
    if not annotation.tensors:
        return None
    flag = "output_final_state"
    if annotation.optional and flag in call.contract.by_name and call.on(flag) is False:
        return None
    spec = annotation.tensors[0]
    for name, fact in call.tensors():
        same = any(other.axes == spec.axes for other in call.annotation(name).tensors)
        if same and spec.axes is not None and isinstance(fact, TensorFacts):
            shape = tuple(given[name].shape)
            break
    else:
        try:
            shape = sizes(spec, call, given)
        except NoOutputsError:
            if annotation.optional:
                return None
            raise
    return _zeros([(shape, _first_dtype(annotation.tensors, given))], given)[0]
