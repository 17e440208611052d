"""Releases: which one is meant when nothing says, and whether a range admits one."""

from __future__ import annotations

import re

#: The releases the catalogue was read at, taken where nothing names another.
NEWEST = {
    "amd-aiter": "0.1.20",
    "attn-gym": "0.0.5",
    "cuda-linear-attention": "0.1.2",
    "fla-core": "0.6.0",
    "flash-kda": "0.0.1",
    "flash-qla": "0.1.3",
    "flashinfer-python": "0.7.4",
    "helion": "1.5.1",
    "nvidia-cudnn-frontend": "1.32.0",
    "sglang": "0.5.23",
    "vllm": "0.33.0",
}

_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|<|>)\s*([0-9][0-9A-Za-z.+!-]*)\s*$")


def release(version: str) -> tuple[int, ...]:
    """The numbers of a release, without trailing zeros: `"0.5.10"` -> (0, 5, 10)."""
    numbers = [int(part) for part in re.match(r"[0-9.]*", version).group().split(".") if part]  # type: ignore[union-attr]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def admits(versions: str, version: str) -> bool:
    """Whether a range such as `">=0.5.1,<0.6"` admits a release; an empty range admits all.

    Raises ValueError for a range that cannot be read.
    """
    for part in filter(None, versions.split(",")):
        match = _CLAUSE.match(part)
        if match is None:
            raise ValueError(f"not a version range: {versions!r}")
        operator, limit = match.groups()
        have, want = release(version), release(limit)
        holds = {
            ">=": have >= want,
            "<=": have <= want,
            "==": have == want,
            "!=": have != want,
            "<": have < want,
            ">": have > want,
        }[operator]
        if not holds:
            return False
    return True
