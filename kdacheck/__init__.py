"""kdacheck keeps calls of Kimi Delta Attention kernels honest."""

from typing import TYPE_CHECKING, Any

from kdacheck import version

if TYPE_CHECKING:
    from kdacheck.runtime import ContractError, checking, contract, dry, enforce

__version__ = version.VERSION

__all__ = ["ContractError", "__version__", "checking", "contract", "dry", "enforce"]


def __getattr__(name: str) -> Any:
    # the linter starts without the runtime, which in turn imports torch only when a call is checked
    if name in __all__:
        from kdacheck import runtime

        return getattr(runtime, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
