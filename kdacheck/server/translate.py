"""Findings, explanations and changed texts in the words of the protocol."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence

from lsprotocol import types

from kdacheck.finding import Finding
from kdacheck.report import rule_url
from kdacheck.server.positions import Places
from kdacheck.source.told import Told
from kdacheck.suppressions import UNREADABLE_FILE, UNUSED_SUPPRESSION

SOURCE = "kdacheck"

#: Where a file is, and its lines; None for one that cannot be read.
Lookup = Callable[[str], tuple[str, Places] | None]


def diagnostic(finding: Finding, lines: Places, look_up: Lookup, related: bool) -> types.Diagnostic:
    """related: the client shows other places that belong to a diagnostic; else they are told in the message."""
    message = finding.message
    places = []
    for origin in finding.origins:
        found = look_up(origin.filename)
        if found is None:
            continue
        uri, there = found
        place = there.range(origin.location, origin.end_location)
        places.append(
            types.DiagnosticRelatedInformation(types.Location(uri, place), origin.message)
        )
        if not related:
            message += f"\norigin: {origin.message} ({origin.filename}:{origin.location.row})"
    if finding.remedy:
        message += f"\nhelp: {finding.remedy}"
    return types.Diagnostic(
        range=lines.range(finding.location, finding.end_location),
        severity=_severity(finding),
        code=finding.code,
        code_description=types.CodeDescription(rule_url(finding.name)),
        source=SOURCE,
        message=f"(likely) {message}" if finding.likely else message,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
        related_information=places if related and places else None,
    )


def _severity(finding: Finding) -> types.DiagnosticSeverity:
    if finding.likely or finding.code == UNUSED_SUPPRESSION:
        return types.DiagnosticSeverity.Warning
    return types.DiagnosticSeverity.Error


def can_be_suppressed(finding: Finding) -> bool:
    return finding.code not in (UNREADABLE_FILE, UNUSED_SUPPRESSION)


def edits(before: Places, after: str) -> list[types.TextEdit]:
    """What makes one text of another, by whole lines."""
    old, new = _split(before.text), _split(after)
    offsets = [0]
    for line in old:
        offsets.append(offsets[-1] + len(line))
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        types.TextEdit(
            types.Range(before.of_offset(offsets[first]), before.of_offset(offsets[last])),
            "".join(new[start:end]),
        )
        for kind, first, last, start, end in changes
        if kind != "equal"
    ]


def _split(text: str) -> list[str]:
    """Places with their ends; a form feed ends none."""
    lines = text.split("\n")
    kept = [f"{line}\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


def hover(
    told: Sequence[Told], at: tuple[int, int], lines: Places, markdown: bool
) -> types.Hover | None:
    """What is known of the argument at a place, or of the whole call around it."""
    if not told:
        return None
    arguments = {
        (span, words): None
        for call in told
        for span, words, _ in call.arguments
        if span[0] <= at < span[1]
    }
    if arguments:
        span = min((span for span, _ in arguments), key=_extent)
        texts = [words for place, words in arguments if place == span]
    else:
        span = min((call.span for call in told), key=_extent)
        texts = [call.text.rstrip() for call in told if call.span == span]
    text = "\n\n".join(dict.fromkeys(texts))
    (row, column), (end_row, end_column) = span
    return types.Hover(
        types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text}\n```")
        if markdown
        else types.MarkupContent(types.MarkupKind.PlainText, text),
        types.Range(lines.place(row, column), lines.place(end_row, end_column)),
    )


def _extent(span: tuple[tuple[int, int], tuple[int, int]]) -> tuple[int, int]:
    (row, column), (end_row, end_column) = span
    return end_row - row, end_column - column


def hints(told: Iterable[Told], lines: Places, within: types.Range) -> Iterator[types.InlayHint]:
    """The shape of each argument of a contracted call, after it; none where the paths that lead there differ."""
    shapes: dict[tuple[int, int], set[str]] = {}
    for call in told:
        for (_, end), _, shape in call.arguments:
            shapes.setdefault(end, set()).add(shape)
    for (row, column), known in shapes.items():
        place = lines.place(row, column)
        shape = next(iter(known))
        if len(known) == 1 and shape and _is_within(place, within):
            yield types.InlayHint(place, shape, padding_left=True)


def _is_within(place: types.Position, within: types.Range) -> bool:
    return within.start <= place <= within.end


def overlap(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a place, touching ends included."""
    return one.start <= other.end and other.start <= one.end
