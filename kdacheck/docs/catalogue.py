"""The pages of the contracts: one per library, and a table of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from kdacheck.contracts import Contract
from kdacheck.contracts import catalogue as contracts
from kdacheck.contracts.model import label
from kdacheck.contracts.versions import NEWEST
from kdacheck.docs.text import anchor, filtered, sentence, table
from kdacheck.explain import signature
from kdacheck.rule import Rule
from kdacheck.rules import catalogue as rules
from kdacheck.rules._reach import applies

INTRODUCTION = """\
# Contracts

What each known kernel asks of its arguments, per library and release, as kdacheck reads it: {count} contracts. The same text
is printed by `kdacheck contracts NAME`. Where no release is named, the newest that was read counts; how it is chosen says the
page on [configuration](../configuration.md)."""


@lru_cache(maxsize=1)
def pages() -> Mapping[str, str]:
    """File name to text."""
    found = libraries()
    return {
        "README.md": index(found),
        **{f"{package}.md": page(package, held) for package, held in found.items()},
    }


@lru_cache(maxsize=1)
def libraries() -> Mapping[str, Sequence[Contract]]:
    """Distribution -> its contracts, as a reader looks for them."""
    found: dict[str, list[Contract]] = {}
    for contract in sorted(contracts(), key=lambda c: (c.package, c.name, c.paths[0], c.versions)):
        found.setdefault(contract.package, []).append(contract)
    return found


def heading(contract: Contract) -> str:
    """The heading of a contract on the page of its library: with the module, where a name has two."""
    name, path = label(contract.paths[0]), contract.paths[0]
    twins = [other for other in libraries()[contract.package] if _told(other) == _told(contract)]
    where = f", of {path.rpartition('.')[0]}" if len(twins) > 1 else ""
    return f"{name}, {_releases(contract)}{where}"


def _told(contract: Contract) -> tuple[str, str]:
    return label(contract.paths[0]), contract.versions


def link(contract: Contract, text: str, folder: str = "../catalogue/") -> str:
    """A link to a contract, from a page in another folder of the documentation."""
    return f"[`{text}`]({folder}{contract.package}.md#{anchor(heading(contract))})"


def index(found: Mapping[str, Sequence[Contract]]) -> str:
    """The table of all contracts, and that of all libraries."""
    every = [contract for held in found.values() for contract in held]
    return (
        "\n\n".join(
            [
                INTRODUCTION.format(count=len(every)),
                table(
                    ("library", "contracts", "read up to release"),
                    [
                        (f"[{package}]({package}.md)", str(len(held)), NEWEST[package])
                        for package, held in found.items()
                    ],
                ),
                "## All",
                filtered(
                    table(
                        ("callee", "library", "releases", "import path"),
                        [
                            (
                                link(contract, label(contract.paths[0]), ""),
                                contract.package,
                                _releases(contract),
                                f"`{contract.paths[0]}`",
                            )
                            for contract in every
                        ],
                    )
                ),
            ]
        )
        + "\n"
    )


def page(package: str, held: Sequence[Contract]) -> str:
    """The contracts of one library."""
    rows = [
        (
            link(contract, label(contract.paths[0]), "").replace(f"{package}.md", ""),
            _releases(contract),
            ", ".join(f"`{name}`" for name in _having(contract, "offsets")),
            ", ".join(f"`{name}`" for name in _having(contract, "state")),
            ", ".join(f"`{name}`" for name in _having(contract, "gate parameter")),
        )
        for contract in held
    ]
    head = ("callee", "releases", "boundaries", "states", "gate parameters")
    return (
        "\n\n".join(
            [
                f"# {package}",
                f"Read up to release {NEWEST[package]}. {len(held)} contract{'s' * (len(held) > 1)}.",
                filtered(table(head, rows)),
                *(_full(contract, rules()) for contract in held),
            ]
        )
        + "\n"
    )


def _full(contract: Contract, rules: Sequence[Rule]) -> str:
    broken = ", ".join(
        f"[{rule.code}](../rules/{rule.name}.md)" for rule in rules if applies(rule.code, contract)
    )
    paths = ", ".join(f"`{path}`" for path in contract.paths)
    return "\n\n".join(
        filter(
            None,
            [
                f"## {heading(contract)}",
                f"Import path{'s' * (len(contract.paths) > 1)}: {paths}.",
                sentence(contract.doc) if contract.doc else "",
                f"```python\n{signature(contract)}\n```",
                "\n".join(f"* {_text(line)}" for line in contract.clause_lines),
                f"Rules: {broken}.",
            ],
        )
    )


def _text(line: str) -> str:
    """A clause as Markdown takes it literally."""
    return line.replace("*", "\\*").replace("[", "\\[").replace("<", "\\<")


def _having(contract: Contract, role: str) -> list[str]:
    return [name for name, has in contract.roles.items() if has == role]


def _releases(contract: Contract) -> str:
    """A range in words, which an anchor keeps apart: `from 0.5.0, before 0.6.0`."""
    parts = [part.strip() for part in contract.versions.split(",") if part]
    words = [part.replace(">=", "from ").replace("<", "before ") for part in parts]
    return ", ".join(words) or "any release"
