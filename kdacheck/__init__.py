"""kdacheck keeps calls of Kimi Delta Attention kernels honest."""

from kdacheck import version

__version__ = version.VERSION

__all__ = ["__version__"]
