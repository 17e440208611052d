"""Where a fact was made."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from kdacheck.source.module import Module


@dataclass(frozen=True, eq=False, slots=True)
class Made:
    """The expression that gave a tensor its present shape, layout, dtype or contents."""

    node: cst.CSTNode
    what: str
    module: Module
