"""One page that needs nothing else: findings by rule and by file, with the code and the way from origin to call drawn.

It reads without scripts; the one script only filters, and the page forbids everything else, network included.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import TextIO

from kdacheck.finding import Finding
from kdacheck.lines import Lines
from kdacheck.plain import plain, plain_row
from kdacheck.report import Run, marks, portable, rule_url
from kdacheck.report.trail import Frame, Row, Trails
from kdacheck.version import PROJECT_URL, VERSION

_HALVES = re.compile("[\ud800-\udfff]")
_TICKED = re.compile("`([^`]+)`")


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    text = "\n".join(_page(findings, run)) + "\n"
    # references in place of what is not ASCII: the stream may be of any encoding
    stream.write(text.encode("ascii", "xmlcharrefreplace").decode())


def _page(findings: Sequence[Finding], run: Run) -> Iterator[str]:
    style, script = _resource("html.css"), _resource("html.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>kdacheck: {_counted(len(findings), 'finding')}</title>"
    yield f"<style>{style}</style>"
    yield "</head>"
    yield "<body>"
    yield from _head(findings, run)
    yield "<main>"
    if findings:
        yield from _overview(findings)
        yield from _listing(findings, run)
        yield '<p class="none" hidden>Nothing fits these words.</p>'
    else:
        yield '<p class="clean">No broken call found.</p>'
    yield "</main>"
    yield (
        f'<footer><a href="{PROJECT_URL}" rel="noreferrer">kdacheck</a> {escape(VERSION)}</footer>'
    )
    if findings:
        yield f"<script>{script}</script>"
    yield "</body>"
    yield "</html>"


def _resource(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="ascii") as file:
        return file.read()


def _head(findings: Sequence[Finding], run: Run) -> Iterator[str]:
    fixable = sum(bool(f.fix and f.fix.is_on(run.unsafe)) for f in findings)
    told = [
        (len(findings), "finding"),
        (len({finding.code for finding in findings}), "rule"),
        (len({finding.filename for finding in findings}), "file with findings"),
    ]
    yield '<header class="top">'
    yield "<h1>kdacheck</h1>"
    yield '<ul class="counts">'
    for count, what in told:
        yield f"<li><b>{count:,}</b> {_plural(count, what)}</li>"
    if run.files is not None:
        yield f"<li><b>{run.files:,}</b> {_plural(run.files, 'file')} checked</li>"
    if fixable:
        yield f"<li><b>{fixable:,}</b> fixable</li>"
    if run.known:
        yield f"<li><b>{run.known:,}</b> in the baseline</li>"
    yield "</ul>"
    if findings:
        yield (
            '<p class="search" hidden><output id="shown" for="filter" aria-live="polite"></output>'
            '<input id="filter" type="search" autocomplete="off" spellcheck="false" '
            'placeholder="filter: rule, file, kernel, words" aria-label="Filter findings"></p>'
        )
    yield "</header>"


def _plural(count: int, what: str) -> str:
    word, _, rest = what.partition(" ")
    return f"{word}{'' if count == 1 else 's'} {rest}".rstrip()


def _counted(count: int, what: str) -> str:
    return f"{count:,} {_plural(count, what)}"


def _overview(findings: Sequence[Finding]) -> Iterator[str]:
    from kdacheck.rules import catalogue

    laws = {rule.code: rule.law for rule in catalogue()}
    by_rule: dict[tuple[str, str], list[tuple[int, Finding]]] = {}
    for number, finding in enumerate(findings, 1):
        by_rule.setdefault((finding.code, finding.name), []).append((number, finding))
    most = max(map(len, by_rule.values()))
    yield '<section class="overview">'
    yield "<div>"
    yield "<h2>By rule</h2>"
    for (code, name), group in sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0])):
        yield '<details class="rule">'
        yield (
            f'<summary><span class="code">{_text(code)}</span> <span class="name">{_text(name)}</span>'
            f'{_bar(len(group), most)}<span class="count">{len(group):,}</span></summary>'
        )
        law = _prose(laws.get(code, ""))
        yield f'<p>{law} <a href="{escape(rule_url(name))}" rel="noreferrer">More</a></p>'
        yield "<ul>"
        for number, finding in group:
            yield f'<li><a href="#f{number}">{_place(finding)}</a></li>'
        yield "</ul>"
        yield "</details>"
    yield "</div>"
    yield "<div>"
    yield "<h2>By file</h2>"
    counts = Counter(finding.filename for finding in findings)
    most = max(counts.values())
    yield '<ul class="files">'
    for number, (filename, count) in enumerate(counts.items(), 1):
        yield (
            f'<li><a href="#file{number}">{_path(filename)}</a>{_bar(count, most)}'
            f'<span class="count">{count:,}</span></li>'
        )
    yield "</ul>"
    yield "</div>"
    yield "</section>"


def _bar(count: int, most: int) -> str:
    return f'<span class="bar"><i style="width:{100 * count / most:.0f}%"></i></span>'


def _listing(findings: Sequence[Finding], run: Run) -> Iterator[str]:
    trails = Trails(Lines(run.texts))
    number = 0
    by_file = itertools.groupby(findings, key=lambda finding: finding.filename)
    for position, (filename, group) in enumerate(by_file, 1):
        listed = list(group)
        yield f'<section class="file" id="file{position}">'
        yield (
            f'<h2><a href="#file{position}">{_path(filename)}</a> <span class="count">{len(listed):,}</span></h2>'
        )
        for finding in listed:
            number += 1
            yield from _card(number, finding, trails, run)
        yield "</section>"


def _card(number: int, finding: Finding, trails: Trails, run: Run) -> Iterator[str]:
    likely = " likely" if finding.likely else ""
    yield f'<article class="finding{likely}" id="f{number}">'
    yield "<h3>"
    yield f'<span class="code">{_text(finding.code)}</span>'
    yield f'<a class="name" href="{escape(rule_url(finding.name))}" rel="noreferrer">{_text(finding.name)}</a>'
    for mark in marks(finding, run.unsafe):
        yield f'<span class="tag">{"fixable" if mark == "[*]" else "likely"}</span>'
    yield f'<a class="place" href="#f{number}">{_place(finding)}</a>'
    yield "</h3>"
    yield f'<p class="message">{_prose(finding.message)}</p>'
    yield '<div class="trail">'
    for frame in trails.of(finding):
        yield from _frame(frame)
    yield "</div>"
    yield "<dl>"
    if finding.callee is not None:
        release = f" {_text(finding.version)}" if finding.version else ""
        yield f"<div><dt>callee</dt><dd><code>{_text(finding.callee)}</code>{release}</dd></div>"
    if finding.remedy:
        yield f'<div><dt>help</dt><dd class="help">{_prose(finding.remedy)}</dd></div>'
    if finding.fix is not None:
        kind = "safe" if finding.fix.applicability == "safe" else "unsafe, for a person to look at"
        yield f"<div><dt>fix</dt><dd>{_prose(finding.fix.message)} ({kind})</dd></div>"
    yield "</dl>"
    yield "</article>"


def _frame(frame: Frame) -> Iterator[str]:
    yield f'<div class="where">{_lanes(frame.above)}<span>{_path(frame.filename)}</span></div>'
    for row in frame.rows:
        yield _row(row)


def _row(row: Row) -> str:
    lanes = _lanes(row.lanes)
    if row.number is None:
        return f'<div class="row gap">{lanes}<span class="no"></span><span class="src">{_text(row.note)}</span></div>'
    code = "".join(
        f'<span class="{kinds}">{_code(text)}</span>' if kinds else _code(text)
        for text, kinds in row.parts
    )
    note = f'<span class="note">{_prose(row.note)}</span>' if row.note else ""
    role = f" {row.role}" if row.role else ""
    return (
        f'<div class="row{role}">{lanes}<span class="no">{row.number}</span>'
        f'<span class="src">{code or " "}{note}</span></div>'
    )


def _lanes(lanes: Sequence[str]) -> str:
    cells = "".join(f'<i class="{lane}"></i>' if lane else "<i></i>" for lane in lanes)
    return f'<span class="lanes">{cells}</span>' if lanes else ""


def _code(text: str) -> str:
    return _text(plain_row(text.replace("\t", "    ")))


def _place(finding: Finding) -> str:
    place = finding.location
    return f"{_path(finding.filename)}:{place.row}:{place.column}"


def _path(filename: str) -> str:
    # a place to break a long path at
    return _text(portable(filename)).replace("/", "/<wbr>")


def _prose(text: str) -> str:
    return _TICKED.sub(r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return escape(_HALVES.sub("\ufffd", plain(text)))
