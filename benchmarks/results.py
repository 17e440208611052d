"""One form for what benchmarks measured: the figures, with machine, versions, commit and command.

`benchmarks/results/NAME.json` holds the last saved run of each; `benchmarks/plots.py` draws them.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

FOLDER = pathlib.Path(__file__).with_name("results")

#: Distributions whose versions matter to some benchmark, told where they are installed.
VERSIONS = ("libcst", "torch", "jaxtyping", "beartype", "helion", "ruff")


def machine() -> str:
    """The processor, its cores and the Python, in words."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = re.findall(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)[0]
    except (OSError, IndexError):
        pass
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return f"{cpu}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def versions() -> dict[str, str]:
    from kdacheck.version import VERSION

    found = {"kdacheck": VERSION}
    for name in VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """The commit that was measured, with a + where files differ from it; "" outside a repository."""
    git = ["git", "-C", str(FOLDER.parent)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def command() -> str:
    """The command line, without folders of this machine."""
    words = [os.path.relpath(sys.argv[0], FOLDER.parent.parent), *sys.argv[1:]]
    return shlex.join(["python", *(os.path.basename(w) if os.path.isabs(w) else w for w in words)])


def add_option(parser: argparse.ArgumentParser) -> None:
    """`--save`, which every benchmark takes."""
    parser.add_argument(
        "--save", action="store_true", help="keep the figures in benchmarks/results"
    )


def save(name: str, figures: Mapping[str, Any]) -> pathlib.Path:
    """Keep the figures of a benchmark in place of the last."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    whole = {
        "benchmark": name,
        "command": command(),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "figures": dict(figures),
    }
    path.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    print(f"\nkept in {path.relative_to(FOLDER.parent.parent)}")
    return path


def load(name: str) -> dict[str, Any] | None:
    """What was saved last, None where nothing was."""
    try:
        return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except FileNotFoundError:
        return None
