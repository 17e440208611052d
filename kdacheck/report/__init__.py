"""Writers of findings, one module per output format."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, TextIO

from kdacheck.version import PROJECT_URL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdacheck.finding import Finding

FORMATS = ("full", "concise", "json", "github", "sarif")


def write(
    form: str,
    findings: Sequence[Finding],
    stream: TextIO,
    *,
    colour: bool = False,
    texts: Mapping[str, bytes] | None = None,
    unsafe: bool = False,
) -> None:
    """Write findings in one of FORMATS.

    texts: what a file of that name says where the disk does not. unsafe: unsafe fixes count as fixes.
    """
    module = importlib.import_module(f"{__name__}.{form}")
    if form in ("full", "concise"):
        module.write(findings, stream, colour, texts or {}, unsafe)
    else:
        module.write(findings, stream)


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
