"""Facts about values: what is known of a tensor or an argument, wherever the knowledge came from."""

from kdacheck.facts.dims import Dim, Poly, Symbol, bounds, differs, equal, exactly, show
from kdacheck.facts.tensors import TensorFacts, contiguous_strides, is_dense
from kdacheck.facts.values import Fact, Integer, Literal, Number, Unknown

__all__ = [
    "Dim",
    "Fact",
    "Integer",
    "Literal",
    "Number",
    "Poly",
    "Symbol",
    "TensorFacts",
    "Unknown",
    "bounds",
    "contiguous_strides",
    "differs",
    "equal",
    "exactly",
    "is_dense",
    "show",
]
