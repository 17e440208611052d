"""The catalogue is consistent in itself, is read without torch, and reads fast."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kdacheck.contracts import REQUIRED, Contract, catalogue
from kdacheck.contracts import clauses as laws
from kdacheck.contracts.annotations import parse
from kdacheck.contracts.call import names_in
from kdacheck.contracts.clauses import Form
from kdacheck.contracts.declare import Written, callee, clause, read, take

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

#: Fields of clauses that name parameters, by clause.
LISTS = {
    "parameters",
    "operands",
    "flags",
    "companions",
    "states",
    "caches",
    "cursors",
    "long",
    "instead",
    "but",
}
SINGLE = {"by", "parameter", "flag", "unless", "pool", "indices", "short", "tokens_of"}


def _id(contract: Contract) -> str:
    return f"{contract.package}-{contract.name}"


@pytest.mark.parametrize("contract", catalogue(), ids=_id)
def test_clauses_name_parameters_of_the_signature(contract: Contract) -> None:
    for law in contract.clauses:
        for name in law.__match_args__:
            value = getattr(law, name)
            if name in LISTS:
                assert set(value) <= set(contract.by_name), law
            elif name in SINGLE and value is not None:
                assert value in contract.by_name, law


@pytest.mark.parametrize("contract", catalogue(), ids=_id)
def test_annotations_can_be_read(contract: Contract) -> None:
    for parameter in contract.parameters:
        assert parameter.text, parameter.name
        annotation = parameter.annotation
        assert not (annotation.tensors and annotation.others), parameter
        for spec in annotation.tensors:
            for axis in spec.axes.names if spec.axes else ():
                assert axis in ("...", "_") or axis.isdigit() or names_in(axis), parameter


@pytest.mark.parametrize("contract", catalogue(), ids=_id)
def test_computed_axes_use_names_that_some_axis_binds(contract: Contract) -> None:
    specs = [s for p in contract.parameters for s in p.annotation.tensors if s.axes is not None]
    plain = {n for s in specs for n in (s.axes.names if s.axes else ()) if n.isidentifier()} | {"N"}
    for spec in specs:
        for axis in spec.axes.names if spec.axes else ():
            if not axis.isidentifier() and axis != "...":
                assert names_in(axis) <= plain, (contract.name, axis)


@pytest.mark.parametrize("contract", catalogue(), ids=_id)
def test_forms_are_among_those_of_the_signature(contract: Contract) -> None:
    for form in contract.each(Form):
        assert set(parse(form.text).tensors) <= set(
            contract.by_name[form.parameter].annotation.tensors
        )


@pytest.mark.parametrize("contract", catalogue(), ids=_id)
def test_a_contract_can_be_shown(contract: Contract) -> None:
    assert contract.signature.startswith(f"{contract.name}(")
    assert all(line and "\n" not in line for line in contract.clause_lines)
    assert set(contract.roles) == set(contract.by_name)


def test_every_clause_is_used_or_shown() -> None:
    used = {type(law) for contract in catalogue() for law in contract.clauses}
    known = {
        value
        for value in vars(laws).values()
        if isinstance(value, type) and issubclass(value, laws.Law) and value is not laws.Law
    }
    assert known == used


def test_laws_are_frozen_records() -> None:
    law = laws.Elements("dt_bias", "HV*K")
    assert law == laws.Elements(parameter="dt_bias", count="HV*K", at_least=False)
    assert law != laws.Elements("dt_bias", "HV")
    assert law != "dt_bias"
    assert hash(law) == hash(laws.Elements("dt_bias", "HV*K"))
    assert repr(laws.AtMost("K", 256)) == "AtMost(dim='K', limit=256)"
    with pytest.raises(AttributeError):
        law.count = "K"  # type: ignore[misc]
    limit: Any = laws.AtMost
    for values, named in ((("K",), {}), (("K", 1, 2), {}), (("K", 1), {"dim": "K"})):
        with pytest.raises(TypeError):
            limit(*values, **named)


def test_reading_a_signature() -> None:
    @clause(laws.Swallows())
    @clause(laws.AtMost("K", 256))
    def kernel(
        q: Float[Tensor, "T K"], scale: float = 1.0, *, out: Float[Tensor, "T K"] | None = None
    ):
        """Doc."""

    contract = read(kernel, ("mine.kernel",), "", "")
    assert [p.name for p in contract.parameters] == ["q", "scale", "out"]
    assert [p.name for p in contract.positional] == ["q", "scale"]
    assert [p.default for p in contract.parameters] == [REQUIRED, 1.0, None]
    assert contract.parameters[0].required
    assert contract.clauses == (laws.Swallows(), laws.AtMost("K", 256))
    assert contract.swallows
    assert contract.doc == "Doc."
    assert contract.signature.replace("'", '"') == (
        'kernel(q: Float[Tensor, "T K"], scale: float = 1.0, *, '
        'out: Float[Tensor, "T K"] | None = None, **kwargs)'
    )


def test_declaring_collects() -> None:
    take()

    @callee("mine.kernel", package="mine", versions=">=1")
    def kernel(q: Float[Tensor, "T K"]): ...

    (contract,) = take()
    assert contract.paths == ("mine.kernel",)
    assert kernel.__kdacheck_contract__ is contract  # type: ignore[attr-defined]
    assert take() == []
    assert repr(Written("torch.float32")) == "torch.float32"
    assert repr(REQUIRED) == "<required>"
    assert dataclasses.replace(contract, package="").package == ""


def test_older_releases_are_stated_by_what_they_lack() -> None:
    take()

    @callee("mine.kernel", package="mine", versions="<2", without=("flag", "bias"))
    @callee("mine.kernel", package="mine", versions=">=2")
    @clause(
        laws.Swallows(reads=("bias",)),
        laws.Dense(("q", "bias")),
        laws.Dense(("bias",)),
        laws.Needs(("scale", "flag"), ("q",)),
        laws.Elements("bias", "K"),
    )
    def kernel(
        q: Float[Tensor, "T K"],
        scale: float = 1.0,
        flag: bool = False,
        *,
        bias: Float[Tensor, "K"] | None = None,
    ): ...

    newer, older = take()
    assert len(newer.clauses) == 5
    assert [p.name for p in older.parameters] == ["q", "scale"]
    # a law with a condition less would be a stronger one
    assert older.clauses == (laws.Swallows(), laws.Dense(("q",)))
    assert older.versions == "<2"
    with pytest.raises(ValueError, match="no parameter 'missing'"):
        callee("mine.kernel", package="mine", without=("missing",))(kernel)


def test_reading_the_catalogue_imports_nothing_heavy() -> None:
    script = (
        "import sys, kdacheck.contracts as c; c.names(); "
        "print(sorted({'torch', 'jaxtyping', 'libcst', 'typing_extensions'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
