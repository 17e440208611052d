"""What a project says that its names and docstrings mean."""

from __future__ import annotations

from typing import NamedTuple


class Conventions(NamedTuple):
    """suffix_shapes: `q_BTHK` has the axes B, T, H and K. docstring_shapes: what docstrings say of parameters holds."""

    suffix_shapes: bool = False
    docstring_shapes: bool = False


#: Of projects that say nothing: names are names, and docstrings are prose.
NONE = Conventions()
