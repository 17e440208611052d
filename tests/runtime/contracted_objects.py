"""A contracted function whose annotations are objects: this module does not put annotations off."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

import kdacheck


def of_width(width: int) -> Callable[[Tensor], Tensor]:
    """A function of rows of one width."""

    @kdacheck.contract()
    def fixed(q: Float[Tensor, f"T {width}"]) -> Tensor:
        return q

    return fixed
