"""`--show-files` and `--show-settings`: what would be done, and why."""

from __future__ import annotations

import os
import pathlib
import tomllib

import pytest

pytestmark = pytest.mark.usefixtures("project")


def test_files(kdacheck, write, wrong, right):
    for name in ("b/model.py", "a.py", "build/c.py", "notes.txt"):
        write(name, wrong)
    ran = kdacheck("--show-files")
    assert ran.status == 0
    assert ran.out.splitlines() == ["a.py", f"b{os.sep}model.py"]
    assert kdacheck("--show-files", "--exclude", "b", "build").out == f"build{os.sep}c.py\n"
    ran = kdacheck("--show-files", "gone.py", "a.py")
    assert ran.status == 2
    assert ran.out == "a.py\n"
    assert "gone.py: No such file" in ran.err
    ran = kdacheck("--show-files", "--exclude", "*")
    assert (ran.status, ran.out) == (0, "")
    assert "no Python file found" in ran.err


def lines_of(text: str) -> dict[str, str]:
    """Key to the origin that stands behind its last line."""
    return {
        line.partition(" = ")[0]: line.rpartition("  # ")[2]
        for line in text.splitlines()
        if " = " in line
    }


def test_settings_and_where_they_come_from(kdacheck, write, wrong):
    write("src/model.py", wrong)
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nignore = ["KDA2"]\nlikely = true\nextend-exclude = ["gen"]\n'
        '[tool.kdacheck.per-file-ignores]\n"tests/*" = ["KDA001"]\n'
        '[tool.kdacheck.versions]\nfla-core = "0.5.2"\n',
    )
    ran = kdacheck("--show-settings", "--select", "KDA0", "--extend-exclude", "more")
    assert ran.status == 0
    told = tomllib.loads(ran.out)
    assert told["select"] == ["KDA0"]
    assert told["ignore"] == ["KDA2"]
    assert told["likely"] is True
    assert told["respect-gitignore"] is True
    origins = lines_of(ran.out)
    assert origins["select"] == "command line"
    assert origins["likely"] == "pyproject.toml"
    assert origins["ignore"] == "pyproject.toml"
    assert origins['per-file-ignores."tests/*"'] == "pyproject.toml"
    assert origins["respect-gitignore"] == "default"
    assert origins["exclude"] == "default"
    assert told["extend-exclude"] == ["gen", "more"]
    assert '"gen",  # pyproject.toml\n' in ran.out
    assert '"more",  # command line\n' in ran.out
    assert "# release: fla-core 0.5.2 (configured)" in ran.out
    assert f"# the settings of src{os.sep}model.py" in ran.out
    assert "KDA001" in ran.out.splitlines()[-1] or "all but" in ran.out


def test_settings_name_the_rules_that_are_off(kdacheck, write, wrong):
    write("tests/model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck.per-file-ignores]\n"tests/*" = ["KDA001"]\n')
    assert kdacheck("--show-settings").out.splitlines()[-1].endswith(", all but KDA001")
    assert "all but" not in kdacheck("--show-settings", "--isolated").out


def test_settings_through_files_that_are_extended(kdacheck, write, wrong):
    write("sub/model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nbaseline = "known.json"\nlikely = true\n')
    write("sub/pyproject.toml", '[tool.kdacheck]\nextend = "../pyproject.toml"\nlikely = false\n')
    ran = kdacheck("--show-settings", "sub", "--no-baseline")
    assert lines_of(ran.out)["likely"] == f"sub{os.sep}pyproject.toml"
    ran = kdacheck("--show-settings", "sub")
    assert tomllib.loads(ran.out)["baseline"] == str(pathlib.Path("known.json").absolute())
    assert lines_of(ran.out)["baseline"] == "pyproject.toml"


def test_settings_that_cannot_be_read(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", "[tool.kdacheck]\nlikely = 1\n")
    ran = kdacheck("--show-settings")
    assert ran.status == 2
    assert "true or false" in ran.err
    assert kdacheck("--show-settings", "--isolated", "gone").status == 2
