"""dtype names, promotion and ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from kdacheck.source.torch_registry import words

#: Names of the dtypes that a tensor may have; None for any.
Dtypes = frozenset[str] | None

_CANONICAL = words(
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 "
    "complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
)

#: Every spelling after `torch.`, and the name it stands for.
DTYPE_NAMES: dict[str, str] = {name: name for name in _CANONICAL} | {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}

ITEM_SIZES: dict[str, int] = {
    name: {"8": 1, "16": 2, "32": 4, "64": 8}["".join(filter(str.isdigit, name))]
    for name in _CANONICAL[1:13]
} | {"bool": 1, "complex32": 4, "complex64": 8, "complex128": 16}
ITEM_SIZES |= {name: 1 for name in _CANONICAL if name.startswith("float8")}

_INT_BITS = {f"int{bits}": bits for bits in (8, 16, 32, 64)}
_UINT_BITS = {f"uint{bits}": bits for bits in (8, 16, 32, 64)}
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_EXACT_FLOAT = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}

INTEGERS = frozenset((*_INT_BITS, *_UINT_BITS))
INTEGRAL = INTEGERS | {"bool"}


def is_float(name: str) -> bool:
    return name.startswith(("float", "bfloat"))


def is_complex(name: str) -> bool:
    return name.startswith("complex")


def value_range(name: str) -> tuple[int, int] | None:
    """The integers that a dtype holds exactly, and arithmetic on them stays exact; None for none."""
    if name in _INT_BITS:
        bits = _INT_BITS[name]
        return -(1 << bits - 1), (1 << bits - 1) - 1
    if name in _UINT_BITS:
        return 0, (1 << _UINT_BITS[name]) - 1
    if name in _EXACT_FLOAT:
        limit = 1 << _EXACT_FLOAT[name]
        return -limit, limit
    return None


def fits(values: Sequence[int], dtypes: Dtypes) -> bool:
    """Whether every dtype there may be holds these integers."""
    if not dtypes:
        return False
    for name in dtypes:
        limits = value_range(name)
        if limits is None or any(not limits[0] <= value <= limits[1] for value in values):
            return False
    return True


def promote(a: str, b: str) -> str | None:
    """`torch.promote_types`, or None where torch raises or the answer is not modelled."""
    if a == b:
        return a
    if a == "bool":
        return b
    if b == "bool":
        return a
    if a.startswith("float8") or b.startswith("float8"):
        return None
    if is_complex(a) or is_complex(b):
        return _promote_complex(a, b)
    if is_float(a) or is_float(b):
        if not is_float(a):
            return b
        if not is_float(b):
            return a
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        return max(a, b, key=_FLOATS.index)
    if a in _INT_BITS and b in _INT_BITS:
        return max(a, b, key=_INT_BITS.__getitem__)
    if a in _UINT_BITS and b in _UINT_BITS:
        return None
    signed, unsigned = (a, b) if a in _INT_BITS else (b, a)
    if unsigned != "uint8":
        return None
    return "int16" if signed == "int8" else signed


def _promote_complex(a: str, b: str) -> str | None:
    if not is_complex(a):
        a, b = b, a
    if "complex32" in (a, b):
        return None
    wide = "complex128" in (a, b) or b == "float64"
    return "complex128" if wide else "complex64"


def over(combine: Callable[..., str | None], *operands: Dtypes) -> Dtypes:
    """`combine` over every combination of the dtypes there may be; None where some combination is unknown."""
    result: set[str] = set()
    for operand in operands:
        if operand is None or len(operand) > 4:
            return None
    for names in product(*(sorted(operand or ()) for operand in operands)):
        name = combine(*names)
        if name is None:
            return None
        result.add(name)
    return frozenset(result)


def combine_categories(higher: str | None, lower: str | None) -> str | None:
    """torch's rule between operands of different priority (dimensioned, zero-dimensional, Python number)."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if is_complex(higher):
        return higher
    if is_float(higher):
        if is_complex(lower):
            return {"float64": "complex128", "float32": "complex64"}.get(higher)
        return higher
    if higher == "bool" or is_float(lower) or is_complex(lower):
        return promote(higher, lower)
    return higher
