"""What rules and contracts say, for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdacheck.contracts import Contract

WIDTH = 100


def rules(key: str | None) -> str | None:
    """One rule in full, or one line for each; None where there is no such rule."""
    from kdacheck.report import rule_url
    from kdacheck.rules import catalogue

    if key is None:
        return "".join(
            f"{rule.code}  {rule.name:<28}  {_plain(rule.law)}\n" for rule in catalogue()
        )
    for rule in catalogue():
        if key in (rule.code, rule.name):
            break
    else:
        return None
    parts = [
        f"{rule.code} {rule.name}",
        _filled(rule.law),
        _filled(f"Why: {rule.why}"),
        _filled(f"Instead: {rule.remedy}"),
        f"Linter needs: {rule.static}\nRun time needs: {rule.runtime}",
    ]
    parts += ["Wrong:\n\n" + textwrap.indent(text.strip("\n"), "    ") for text in rule.wrong]
    parts += ["Right:\n\n" + textwrap.indent(text.strip("\n"), "    ") for text in rule.right]
    parts += ["Likely:\n\n" + textwrap.indent(text.strip("\n"), "    ") for text in rule.likely]
    parts.append(rule_url(rule.name))
    return "\n\n".join(parts) + "\n"


def contracts(key: str | None) -> str | None:
    """The contracts of one callee in full, or one line for each; None where there is none of that name."""
    from kdacheck.contracts import catalogue

    found = sorted(
        catalogue(), key=lambda contract: (contract.package, contract.name, contract.versions)
    )
    if key is None:
        return "".join(
            f"{contract.package:<16} {contract.versions or 'any':<16} {contract.paths[0]}\n"
            for contract in found
        )
    found = [contract for contract in found if key == contract.name or key in contract.paths]
    if not found:
        return None
    return "\n".join(
        "\n".join(
            [
                f"{contract.package} {contract.versions}".rstrip(),
                *(f"    {path}" for path in contract.paths),
                "",
                signature(contract),
                *(f"  * {clause}" for clause in contract.clause_lines),
                "",
            ]
        )
        for contract in found
    )


def signature(contract: Contract) -> str:
    """The signature of a callee, over several lines where it is long."""
    if len(contract.signature) <= WIDTH:
        return contract.signature
    lines = [f"{contract.name}("]
    star = False
    for parameter in contract.parameters:
        if parameter.keyword_only and not star:
            lines.append("    *,")
            star = True
        annotation = f": {parameter.text}" if parameter.text else ""
        default = "" if parameter.required else f" = {parameter.default!r}"
        lines.append(f"    {parameter.name}{annotation}{default},")
    if contract.swallows:
        lines.append("    **kwargs,")
    return "\n".join([*lines, f") -> {contract.returns}" if contract.returns else ")"])


def _plain(text: str) -> str:
    return " ".join(text.split())


def _filled(text: str) -> str:
    return textwrap.fill(_plain(text), WIDTH)
