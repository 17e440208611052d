"""kdacheck keeps calls of Kimi Delta Attention kernels honest."""

from kdacheck.version import VERSION as __version__

__all__ = ["__version__"]
