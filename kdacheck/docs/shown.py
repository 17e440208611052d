"""What pages written by hand show of the repository: the text of a file, what a command prints."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from kdacheck.docs import ROOT

#: A comment that says what is shown, and the block below it.
BLOCK = re.compile(
    r"(<!-- (text|output) of: ([^\n]+) -->\n```\w*\n).*?(^```\n)", re.DOTALL | re.MULTILINE
)


def refreshed(texts: Mapping[pathlib.Path, str]) -> dict[pathlib.Path, str]:
    """The texts that show something, with what it is now below each `<!-- output of: COMMAND -->`."""
    asked = {block.group(2, 3) for text in texts.values() for block in BLOCK.finditer(text)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(asked, pool.map(lambda what: _shown(*what), asked), strict=True))
    return {
        path: BLOCK.sub(lambda block: block[1] + found[block.group(2, 3)] + block[4], text)
        for path, text in texts.items()
        if BLOCK.search(text)
    }


@cache
def _shown(kind: str, what: str) -> str:
    if kind == "text":
        return (ROOT / what).read_text("utf-8")
    program, *arguments = shlex.split(what)
    command = [sys.executable, *arguments]
    if program == "kdacheck":
        command = [sys.executable, "-m", "kdacheck", "--no-color", "--quiet", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(f"{what}: {done.stderr}")
    return done.stdout.strip().replace(f"{ROOT}{os.sep}", "") + "\n"
