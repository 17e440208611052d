"""Writers of findings, one module per output format."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from kdacheck.version import PROJECT_URL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdacheck.finding import Finding

FORMATS = (
    "full",
    "concise",
    "json",
    "github",
    "sarif",
    "gitlab",
    "junit",
    "pylint",
    "rdjson",
    "html",
)


@dataclass(frozen=True, slots=True)
class Run:
    """What a writer may want to know beside the findings.

    texts: what a file of that name says where the disk does not. unsafe: unsafe fixes count as fixes. files: how many were
    checked, where that is known. known: how many findings the baseline left out.
    """

    colour: bool = False
    texts: Mapping[str, bytes] = field(default_factory=dict)
    unsafe: bool = False
    files: int | None = None
    known: int = 0


def write(form: str, findings: Sequence[Finding], stream: TextIO, run: Run | None = None) -> None:
    """Write findings in one of FORMATS."""
    module = importlib.import_module(f"{__name__}.{form}")
    module.write(findings, stream, run or Run())


def marks(finding: Finding, unsafe: bool) -> list[str]:
    """What stands beside a code: that it can be fixed, that it is only likely."""
    found = ["[*]"] if finding.fix is not None and finding.fix.is_on(unsafe) else []
    return [*found, "(likely)"] if finding.likely else found


def rule_url(name: str) -> str:
    """The page of a rule."""
    return f"{PROJECT_URL}/blob/main/docs/rules/{name}.md"


def shown(filename: str) -> str:
    """A file name as people want it: from here where it lies below, else in full."""
    if not os.path.isabs(filename):
        return filename
    here = os.getcwd().rstrip(os.sep) + os.sep
    return filename[len(here) :] if filename.startswith(here) else filename


def portable(filename: str) -> str:
    """The same with forward slashes, for programs."""
    return shown(filename).replace(os.sep, "/")


def one_line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
