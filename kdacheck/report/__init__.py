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
) -> None:
    """Write findings in one of FORMATS. `texts` holds what a file of that name says where the disk does not."""
    module = importlib.import_module(f"{__name__}.{form}")
    if form in ("full", "concise"):
        module.write(findings, stream, colour, texts or {})
    else:
        module.write(findings, stream)


def rule_url(name: str) -> str:
    """The page of a rule."""
    return f"{PROJECT_URL}/blob/main/docs/rules/{name}.md"


def shown(filename: str) -> str:
    """A file name as people want it: from here where it lies below, else in full."""
    if not os.path.isabs(filename):
        return filename
    here = os.getcwd().rstrip(os.sep) + os.sep
    return filename[len(here) :] if filename.startswith(here) else filename
