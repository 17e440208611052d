"""Annotations under other names, and what only looks like one."""

from typing import Annotated, Optional, TypeAlias

import jaxtyping as jt
import torch
from fla.ops.kda import chunk_kda
from jaxtyping import Float as F
from torch import Tensor as T

CU = torch.tensor([0, 64, 128])
AXES = "2 T H K"
Rows = F[T, "2 T H K"]
Packed: TypeAlias = "F[T, '1 T H K']"
MaybeRows = Rows | None
Either = Rows | F[T, "1 T H K"]


def by_an_alias(q: Rows, k, g, beta):
    # bad: KDA001
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def through_the_module(q: jt.Float[torch.Tensor, AXES], k, g, beta):
    # bad: KDA001
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def as_text(q: "Rows", k, g, beta):
    # bad: KDA001
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def annotated(q: Annotated[F[T, f"2 {'T'} H K"], "queries"], k, g, beta):
    # bad: KDA001
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def of_a_local(k, g, beta, make):
    q: Rows = make()
    # bad: KDA001
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def one_row(q: Packed, k, g, beta):
    # ok
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def one_or_the_other(q: Either, k, g, beta):
    # ok
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def perhaps_none(q: MaybeRows, k, g, beta):
    # ok
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def optional(k, g, beta, q: Optional[Rows] = None):
    # ok
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)


def of_another_library(q: jt.PyTree[T], k, g, beta):
    # ok
    return chunk_kda(q, k, k, g, beta, cu_seqlens=CU)
