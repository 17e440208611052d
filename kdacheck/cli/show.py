"""Options that show something in place of linting."""

from __future__ import annotations

import os
import sys

from kdacheck.cli import CLEAN, fail
from kdacheck.config import Configuration


def call(place: str, configuration: Configuration) -> int:
    """The calls on one line, as the linter understands them."""
    path, _, line = place.rpartition(":")
    if not path or not line.isdecimal():
        return fail(f"--explain takes FILE:LINE, not {place!r}")
    from kdacheck import releases
    from kdacheck.linter import read
    from kdacheck.source import Unreadable
    from kdacheck.source.explain import explain

    settings = configuration.of_folder(os.path.dirname(path) or os.curdir)
    try:
        data = read(path)
        found = explain(path, data, int(line), releases.resolve(settings.versions, settings.root))
    except OSError as error:
        return fail(f"{path}: {error.strerror or error}")
    except Unreadable as error:
        return fail(f"{path}:{error.row}: {error.message}")
    if found.text:
        sys.stdout.write(found.text)
        return CLEAN
    lines = ", ".join(map(str, found.lines))
    where = (
        f"there are some on line{'s' * (len(found.lines) > 1)} {lines}"
        if lines
        else "nor elsewhere in it"
    )
    return fail(f"{path}: no call of a known kernel on line {line}, {where}")
