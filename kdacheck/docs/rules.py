"""The page of every rule."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache

from kdacheck.config import Configuration, Overrides
from kdacheck.contracts import Contract
from kdacheck.contracts import catalogue as contracts
from kdacheck.contracts.model import label
from kdacheck.docs.catalogue import link
from kdacheck.docs.text import filtered, sentence, table
from kdacheck.linter import lint_text
from kdacheck.report import write
from kdacheck.rule import Rule
from kdacheck.rules import catalogue
from kdacheck.rules._reach import applies

RUN_TIME = {
    "meta": "yes, from shape, strides, dtype and device alone",
    "values": "yes, at the level that reads contents",
    "-": "no, it does not show at the call",
}
CHAPTERS = {
    "KDA0": "Packing: `cu_seqlens` and the batch axis",
    "KDA1": "Gate parameters and gates",
    "KDA2": "Operands",
    "KDA3": "What `cu_seqlens` holds",
    "KDA4": "States, pools and caches",
    "KDA5": "The call itself",
    "KDA9": "About the code, not the call",
}
#: More callees of one library are not named one by one.
MANY = 12
LIKELY = (
    "The evidence is strong, but may have an innocent reading: reported with `--likely` only, "
    "marked, never fixed."
)


@lru_cache(maxsize=1)
def pages() -> Mapping[str, str]:
    """File name to text."""
    rules = catalogue()
    return {"README.md": index(rules), **{f"{rule.name}.md": page(rule) for rule in rules}}


def index(rules: Sequence[Rule]) -> str:
    """The table of all rules."""
    rows = [
        (f"[{rule.code}]({rule.name}.md)", f"`{rule.name}`", rule.law, _seen(rule))
        for rule in rules
    ]
    return (
        "\n\n".join(
            [
                "# Rules",
                "Codes and names are public: they never change meaning. `kdacheck rule CODE` prints what a page says.",
                filtered(table(("code", "name", "the law", "seen by"), rows)),
                "\n".join(f"* {prefix}xx: {what}" for prefix, what in CHAPTERS.items()),
            ]
        )
        + "\n"
    )


def _seen(rule: Rule) -> str:
    by_linter_alone = rule.check is None or rule.runtime == "-"
    return "linter" if by_linter_alone else "linter, run time"


def page(rule: Rule) -> str:
    """One rule in full."""
    parts = [
        f"# {rule.name} ({rule.code})",
        f"## The law\n{rule.law}",
        f"## Why\n{rule.why}",
        *_examples("Wrong", rule.wrong, told=True),
        *_examples("Right", rule.right),
    ]
    if rule.likely:
        parts += [*_examples("Likely", rule.likely, told=True), LIKELY]
    parts.append(f"## Remedy\n{sentence(rule.remedy)}")
    runtime = RUN_TIME.get(rule.runtime, rule.runtime)
    about_code = rule.code.startswith("KDA9")
    parts.append(
        f"## How it is seen\nBy the linter: {rule.static}."
        if about_code
        else f"## How it is seen\n* From source: {rule.static}.\n* At run time: {runtime}."
    )
    if not about_code:
        parts.append(f"## Where it applies\n{_reach(rule)}")
    if rule.code != "KDA901":
        parts.append(
            "## To allow it\n"
            f"For one call: `# kdacheck: ignore[{rule.code}]` on any of its lines. For a project:\n\n"
            f'```toml\n[tool.kdacheck]\nignore = ["{rule.name}"]\n```'
        )
    return "\n\n".join(parts) + "\n"


def _examples(title: str, texts: Sequence[str], told: bool = False) -> list[str]:
    """The examples under a heading, each with what the linter tells of it."""
    parts = [f"## {title}"] if texts else []
    for text in texts:
        parts.append(f"```python\n{text.strip(chr(10))}\n```")
        if told:
            parts.append(f"```text\n{_told(text)}```")
    return ["\n".join(parts[:2]), *parts[2:]] if parts else []


def _told(text: str) -> str:
    settings = Configuration(Overrides(isolated=True, likely=True))
    result = lint_text("example.py", text.encode(), settings)
    stream = io.StringIO()
    write("concise", result.findings, stream)
    return stream.getvalue()


def _reach(rule: Rule) -> str:
    """The callees whose contract has the law, by library."""
    everywhere = contracts()
    reached = [contract for contract in everywhere if applies(rule.code, contract)]
    if len(reached) == len(everywhere):
        return (
            f"To every callee of the [catalogue](../catalogue/README.md), {len(reached)} contracts."
        )
    by_package: dict[str, dict[str, Contract]] = {}
    for contract in reached:
        names = by_package.setdefault(contract.package, {})
        names.setdefault(label(contract.paths[0]), contract)
    rows = []
    for package, names in sorted(by_package.items()):
        listed = ", ".join(link(names[name], name) for name in sorted(names))
        if len(names) > MANY:
            count = sum(contract.package == package for contract in reached)
            listed = (
                f"[{count} contracts](../catalogue/{package}.md), each of which names its rules"
            )
        rows.append((package, listed))
    return (
        f"{len(reached)} of the {len(everywhere)} contracts of the [catalogue](../catalogue/README.md) "
        f"say something of it:\n\n{table(('library', 'callees'), rows)}"
    )
