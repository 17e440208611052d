"""Dry calls: stand-ins that check the contract and return tensors of the right shapes, with no kernel behind them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kdacheck.contracts.model import Contract
from kdacheck.runtime.libraries import Replacement


def dry(*libraries: str) -> Replacement:
    """Put stand-ins in the place of contracted kernels until the result is called, or its `with` block ends.

    libraries: import names such as "fla"; none stands for every library of the catalogue. What is installed and can
    be imported keeps its other names; what cannot be imported, for want of a GPU, of Triton or of the library
    itself, is stood in for as far as the contracts reach. A function decorated by `kdacheck.contract` is stood in for
    where its return annotation says what it returns.

    A stand-in checks the contract at the level in force and returns zeros, on the device of its arguments, meta and
    fake tensors included, through which zero gradients flow.
    Raises ValueError for a library that the catalogue does not know; a stand-in raises ContractError for a broken
    call, and NotImplementedError where no shapes of results are known.
    """
    from kdacheck.runtime.libraries import Dry

    return Dry(libraries)


class NoOutputsError(NotImplementedError):
    """What a callee returns is not known."""


def outputs_of(guard: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """What a call returns, as zeros. Raises NoOutputsError where that is not known."""
    from kdacheck.contracts.outputs import result_of
    from kdacheck.runtime import judge, made

    signature = guard.signature
    bound = judge.bind(signature, args, keywords)
    if bound.missing:
        names = ", ".join(f"'{name}'" for name in bound.missing)
        raise TypeError(f"{signature.contract.name}() is missing required arguments: {names}")
    call = judge.call_of(signature, bound, 0)
    contract = signature.contract
    result = result_of(contract)
    try:
        if result is not None:
            return made.by_result(result, call, bound.given)
        if contract.returns:
            return made.by_annotation(contract, call, bound.given)
        raise NoOutputsError("it is not known what the callee returns")
    except NoOutputsError as error:
        where = contract.paths[0]
        raise NoOutputsError(f"kdacheck.dry() has no stand-in for `{where}`: {error}") from None


def stand_in(contract: Contract, version: str) -> Callable[..., Any]:
    """A function that takes the calls of a contracted one."""
    from kdacheck.runtime.decorate import guarded
    from kdacheck.runtime.guard import Guard
    from kdacheck.runtime.reading import of_contract

    @functools.cache
    def guard() -> Guard:
        return Guard(of_contract(contract), version)

    def standing(*args: Any, **keywords: Any) -> Any:
        return outputs_of(guard(), args, keywords)

    path = contract.paths[0]
    standing.__name__ = path.rpartition(".")[2]
    standing.__qualname__ = standing.__name__
    standing.__module__ = path.rpartition(".")[0]
    standing.__doc__ = contract.doc
    function = guarded(standing, guard, stands_in=True)
    function.__kdacheck_stand_in__ = True  # type: ignore[attr-defined]
    return function
