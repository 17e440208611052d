"""Every labelled call of the corpus is judged as labelled, and nothing else is reported.

A label is a comment alone on its line, directly above a statement whose lines it speaks for:
`# bad: KDA001` these codes and no other, `# bad(hard): KDA003` may be missed, `# later: KDA003` may be missing while the
rule is not written, `# ok` nothing.
"""

from __future__ import annotations

import ast
import pathlib
import re
from dataclasses import dataclass

import pytest

from kdacheck.source import analyse

CORPUS = pathlib.Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.rglob("*.py"))

LABEL = re.compile(r"\s*# (?:(bad|bad\(hard\)|later): (KDA\d{3}(?:, KDA\d{3})*)|(ok))$")
LOOKS_LIKE_A_LABEL = re.compile(r"\s*#\s*(bad|later|ok)\b")


@dataclass(frozen=True)
class Labelled:
    """A statement with the codes it must have, and those it may have."""

    first: int
    last: int
    must: frozenset[str]
    may: frozenset[str]


def labelled(text: str) -> list[Labelled]:
    """The labelled statements of a file, inner ones first."""
    statements: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            statements[first] = max(node.end_lineno or 0, statements.get(first, 0))
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        match = LABEL.match(line)
        assert match is not None or not LOOKS_LIKE_A_LABEL.match(line), f"{row}: {line.strip()}"
        if match is None:
            continue
        assert row + 1 in statements, f"{row}: a label stands above a statement"
        kind, codes = match[1], frozenset((match[2] or "").split(", ")) - {""}
        must = codes if kind == "bad" else frozenset[str]()
        found.append(Labelled(row + 1, statements[row + 1], must, codes - must))
    return sorted(found, key=lambda label: label.last - label.first)


def differences(text: str, name: str) -> list[str]:
    """What is missing and what is too much, by line."""
    labels = labelled(text)
    seen: dict[Labelled, set[str]] = {label: set() for label in labels}
    wrong = []
    for finding in analyse(name, text.encode(), {}):
        row = finding.location.row
        owner = next((label for label in labels if label.first <= row <= label.last), None)
        if owner is not None and finding.code in owner.must | owner.may:
            seen[owner].add(finding.code)
        else:
            wrong.append((row, f"unexpected {finding.code}: {finding.message}"))
    for label, codes in seen.items():
        wrong.extend((label.first, f"missed {code}") for code in sorted(label.must - codes))
    return [f"line {row}: {what}" for row, what in sorted(wrong)]


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_findings_are_as_labelled(path: pathlib.Path) -> None:
    assert differences(path.read_text(encoding="utf-8"), str(path)) == []


def test_every_file_says_what_it_shows_and_has_a_right_call() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), path
        assert any(not label.must and not label.may for label in labelled(text)), path


def test_a_missed_and_an_unexpected_finding_show() -> None:
    right = (
        "import torch\nfrom fla.ops.kda import chunk_kda\ndef f(k, v, g, beta, cu: torch.Tensor):\n"
    )
    call = "    chunk_kda(torch.zeros({}, 8, 1, 16), k, v, g, beta, cu_seqlens=cu)\n"
    assert differences(right + "    # bad: KDA001\n" + call.format(1), "f.py") == [
        "line 5: missed KDA001"
    ]
    (shown,) = differences(right + "    # ok\n" + call.format(2), "f.py")
    assert shown.startswith("line 5: unexpected KDA001")
