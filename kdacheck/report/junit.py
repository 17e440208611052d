"""JUnit's XML: a suite for each file, a failed test for each finding, and one passed test where there is none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from kdacheck.finding import Finding
from kdacheck.report import Run, one_line, portable

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(findings: Sequence[Finding], stream: TextIO, run: Run) -> None:
    count = len(findings)
    tests = max(count, 1)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="kdacheck" tests="{tests}" failures="{count}" errors="0">',
    ]
    for filename, group in itertools.groupby(findings, key=lambda finding: finding.filename):
        lines.extend(_suite(portable(filename), list(group)))
    if not findings:
        lines += [
            '  <testsuite name="kdacheck" tests="1" failures="0" errors="0" skipped="0">',
            '    <testcase name="no broken call" classname="kdacheck"/>',
            "  </testsuite>",
        ]
    lines.append("</testsuites>\n")
    # references in place of what is not ASCII: the stream may be of any encoding
    stream.write("\n".join(lines).encode("ascii", "xmlcharrefreplace").decode())


def _suite(path: str, findings: Sequence[Finding]) -> Iterator[str]:
    count = len(findings)
    name = _attribute(path)
    yield f'  <testsuite name={name} tests="{count}" failures="{count}" errors="0" skipped="0">'
    for finding in findings:
        place = finding.location
        likely = "(likely) " if finding.likely else ""
        title = _attribute(f"{finding.code} {finding.name} {place.row}:{place.column}")
        message = _attribute(likely + one_line(finding.message))
        text = f"{path}:{place.row}:{place.column}: {finding.code} {likely}{finding.message}"
        for origin in finding.origins:
            at = origin.location
            text += f"\n{portable(origin.filename)}:{at.row}:{at.column}: {origin.message}"
        if finding.remedy:
            text += f"\nhelp: {finding.remedy}"
        yield f"    <testcase name={title} classname={name}>"
        yield f"      <failure type={_attribute(finding.code)} message={message}>{_text(text)}</failure>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", text))
