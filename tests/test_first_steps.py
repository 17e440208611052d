"""The newcomer's walk of the documentation, command by command, with the wheel in an empty environment."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.built import distributions, unreachable

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "first-steps.md"
#: A block of commands, and what they print where a block of text comes next.
STEP = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
TIME = re.compile(r"\d+(\.\d+)? ?m?s\b")
END = "=== end of a step ==="


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> pathlib.Path:
    """A folder with the wheel and everything that it needs, in the place of a package index."""
    folder = tmp_path_factory.mktemp("index")
    (wheel,) = distributions(tmp_path_factory).glob("*.whl")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "-d", folder, wheel],
        capture_output=True,
        text=True,
    )
    unreachable(done)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_walk_prints_what_the_page_shows(index, tmp_path, unmeasured):
    steps = STEP.findall(PAGE.read_text("utf-8"))
    assert len(steps) > 5
    script = "".join(f"{{\n{commands}}} 2>&1\necho\necho '{END}'\n" for commands, _ in steps)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{pathlib.Path(sys.executable).resolve().parent}{os.pathsep}{os.defpath}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    folder = tmp_path / "project"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    printed = done.stdout.split(f"\n{END}\n")[:-1]
    assert len(printed) == len(steps), done.stdout + done.stderr
    for (commands, shown), output in zip(steps, printed, strict=True):
        assert TIME.sub("", output).strip() == TIME.sub("", shown).strip(), commands
    assert {path.name for path in folder.iterdir()} >= {"train.py", "refused.py"}
