"""placeholder"""

from __future__ import annotations
from typing import Any


def enforce(*libraries: str) -> Any:
    raise NotImplementedError
