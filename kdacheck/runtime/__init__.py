"""Contracts at run time: the rules of the linter, asked of real tensors at the call."""

from kdacheck.runtime.decorate import contract
from kdacheck.runtime.errors import ContractError
from kdacheck.runtime.levels import checking
from kdacheck.runtime.libraries import enforce
from kdacheck.runtime.standins import dry

__all__ = ["ContractError", "checking", "contract", "dry", "enforce"]
