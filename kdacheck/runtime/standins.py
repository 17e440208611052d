"""placeholder"""

from __future__ import annotations
from typing import Any


class NoOutputs(Exception): ...


def outputs(*a: Any) -> Any:
    raise NoOutputs


def dry(*libraries: str) -> Any:
    raise NotImplementedError
