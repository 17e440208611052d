"""The plugin of flake8, in real runs of it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import Ran

ROOT = pathlib.Path(__file__).parents[1]

#: What flake8 reads where kdacheck was installed before the entry point came to be.
CONFIGURATION = """\
[flake8]
select = KDA
[flake8:local-plugins]
extension =
    KDA = kdacheck.flake8_plugin:Plugin
"""


@pytest.fixture
def flake8(project: pathlib.Path, unmeasured: dict[str, str]) -> Callable[..., Ran]:
    """flake8 in the project, with the plugin as its entry point has it."""
    pytest.importorskip("flake8")
    from importlib.metadata import entry_points

    installed = any(point.name == "KDA" for point in entry_points(group="flake8.extension"))
    (project / ".flake8").write_text("[flake8]\nselect = KDA\n" if installed else CONFIGURATION)

    def run(*arguments: str, stdin: str | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "flake8", *arguments],
            cwd=project,
            env={**unmeasured, "PYTHONPATH": str(ROOT)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


def test_the_entry_point_is_declared_under_a_code_that_flake8_takes() -> None:
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert declared["entry-points"]["flake8.extension"] == {"KDA": "kdacheck.flake8_plugin:Plugin"}


def test_findings_stand_where_kdacheck_puts_them(flake8, write, wrong, right) -> None:
    write("model.py", wrong)
    write("right.py", right)
    ran = flake8()
    assert ran.status == 1
    (line,) = ran.out.splitlines()
    assert line.startswith("./model.py:7:22: KDA001 `chunk_kda` (fla-core ")


def test_it_is_on_beside_the_rules_that_flake8_has_by_default(flake8, write, wrong) -> None:
    write("model.py", "import os\n" + wrong)
    ran = flake8("--isolated", "model.py") if _is_installed() else flake8("model.py")
    assert "KDA001" in ran.out
    if _is_installed():
        assert "F401" in ran.out


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.name == "KDA" for point in entry_points(group="flake8.extension"))


def test_callers_of_wrappers_in_other_files_are_judged(flake8, write) -> None:
    write("pkg/__init__.py", "")
    write(
        "pkg/layers.py",
        "from fla.ops.kda import chunk_kda\n\n\n"
        "def layer(q, k, v, g, beta, cu):\n"
        "    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)\n",
    )
    write(
        "model.py",
        "import torch\nfrom pkg.layers import layer\n\n\n"
        "def run(g, beta):\n    q = torch.randn(2, 8, 4, 64)\n"
        "    return layer(q, q, q, g, beta, torch.tensor([0, 8, 16]))\n",
    )
    ran = flake8("--jobs", "2")
    (line,) = ran.out.splitlines()
    assert line.startswith("./model.py:7:")
    assert "(via layer)" in line


def test_settings_and_comments_of_both_tools_count(flake8, write, wrong, right) -> None:
    last = wrong.splitlines()[-1]
    write("ignored.py", wrong)
    write("excluded/model.py", wrong)
    write("comment.py", wrong.replace(last, f"{last}  # kdacheck: ignore[KDA001]"))
    write("noqa.py", wrong.replace(last, f"{last}  # noqa: KDA001"))
    write("file.py", f"# flake8: noqa: KDA001\n{wrong}")
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nexclude = ["excluded"]\n[tool.kdacheck.per-file-ignores]\n"ignored.py" = ["KDA001"]\n',
    )
    assert flake8().out == ""
    assert flake8("excluded/model.py").out == ""
    write("idle.py", right.replace("import torch\n", "import torch  # kdacheck: ignore[KDA001]\n"))
    assert "idle.py:1:15: KDA900" in flake8().out
    assert flake8("--extend-ignore", "KDA9").out == ""


def test_what_a_baseline_knows_is_left_out(flake8, write, wrong, kdacheck) -> None:
    write("model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nbaseline = "known.json"\n')
    assert kdacheck("--update-baseline").status == 0
    assert flake8().out == ""


def test_standard_input_is_checked_as_it_is(flake8, write, wrong, right) -> None:
    write("model.py", right)
    ran = flake8("-", "--stdin-display-name", "other.py", stdin=wrong)
    assert ran.out.startswith("other.py:7:22: KDA001")


def test_settings_that_cannot_be_used_are_named(flake8, write, wrong) -> None:
    write("model.py", wrong)
    write("pyproject.toml", "[tool.kdacheck]\nselekt = []\n")
    ran = flake8()
    assert ran.status == 1
    assert "unknown key `tool.kdacheck.selekt`; did you mean `select`?" in ran.out + ran.err


@pytest.mark.skipif(os.name == "nt", reason="workers are not forked there")
def test_workers_that_inherit_nothing_lint_for_themselves(
    project: pathlib.Path, write, wrong
) -> None:
    """As with `spawn`, where flake8 reads its options again in every worker."""
    import argparse
    import multiprocessing

    write("model.py", wrong)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_found_by_worker, (argparse.Namespace(filenames=["model.py"]),))
    assert found == ["KDA001"]


def _found_by_worker(options: object) -> list[str]:
    from kdacheck.flake8_plugin import Plugin

    Plugin.parse_options(options)  # pyright: ignore[reportArgumentType]
    import ast

    return [text.split()[0] for _, _, text, _ in Plugin(ast.Module([], []), "model.py", []).run()]
