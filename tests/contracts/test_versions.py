"""Releases, ranges, and which contract is meant."""

from __future__ import annotations

import pytest

from kdacheck.contracts import catalogue, choose, names, paths, registry
from kdacheck.contracts.versions import NEWEST, admits, release


def test_release() -> None:
    assert release("0.5.10") == (0, 5, 10)
    assert release("1.0.0") == (1,)
    assert release("0.6.0rc1") == (0, 6)
    assert release("") == ()
    assert release("0.5.10") > release("0.5.9")


@pytest.mark.parametrize(
    ("versions", "inside", "outside"),
    [
        ("", ("0", "9.9"), ()),
        (">=0.5.1", ("0.5.1", "0.10"), ("0.5.0", "0.4.9")),
        (">=0.4.2,<0.5.0", ("0.4.2", "0.4.10"), ("0.5", "0.4.1")),
        ("==0.6", ("0.6.0",), ("0.6.1",)),
        ("!=0.6", ("0.6.1",), ("0.6.0",)),
        (">0.6, <=0.8", ("0.7", "0.8.0"), ("0.6.0", "0.8.1")),
    ],
)
def test_admits(versions: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    assert all(admits(versions, version) for version in inside)
    assert not any(admits(versions, version) for version in outside)


def test_a_range_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="~=0"):
        admits("~=0.5", "0.5")


def test_choose_takes_the_release_in_use() -> None:
    chosen = choose("fla.ops.chunk_kda", {})
    assert chosen is not None
    assert chosen[1] == NEWEST["fla-core"]
    assert "use_graph" in chosen[0].by_name
    old = choose("fla.ops.chunk_kda", {"fla-core": "0.4.1"})
    assert old is not None
    assert old[1] == "0.4.1"
    assert "chunk_indices" in old[0].by_name
    assert choose("fla.ops.chunk_kda", {"fla-core": "0.3"}) is None
    assert choose("fla.ops.nothing", {}) is None


@pytest.mark.parametrize("path", sorted(paths()))
def test_one_contract_for_every_path_and_release(path: str) -> None:
    releases = [
        "0.0.5",
        "0.0.6",
        "0.3",
        "0.4.0",
        "0.4.1",
        "0.4.2",
        "0.5.0",
        "0.5.1",
        "0.5.2",
        "0.6.0",
        "0.7",
        "1.0",
    ]
    contracts = paths()[path]
    assert len({contract.package for contract in contracts}) == 1
    for version in releases:
        assert sum(admits(contract.versions, version) for contract in contracts) <= 1
    assert choose(path, {}) is not None


def test_names_are_what_a_file_must_mention() -> None:
    assert {"chunk_kda", "ShortConvolution", "flash_kda", "fused_recurrent_kda"} <= names()
    assert not {"forward", "fwd"} & names()
    for path in paths():
        assert any(part in names() for part in path.split("."))


def test_every_package_has_a_newest_release() -> None:
    assert {contract.package for contract in catalogue()} <= set(NEWEST)


def test_the_registry_leads_to_contracts() -> None:
    assert all(path in paths() for path in registry().values())
