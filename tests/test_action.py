"""The GitHub Action: its steps are run by bash as a runner would, and its file is what GitHub reads."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml

from tests.clones import clone
from tests.conftest import Ran

ROOT = pathlib.Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

#: The metadata syntax of composite actions, as GitHub documents it.
SCHEMA = {
    "type": "object",
    "required": ["name", "description", "runs"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "author": {"type": "string"},
        "description": {"type": "string", "maxLength": 125},
        "branding": {
            "type": "object",
            "required": ["icon", "color"],
            "properties": {
                "icon": {"type": "string"},
                "color": {
                    "enum": [
                        *("white", "black", "yellow", "blue", "green", "orange", "red"),
                        *("purple", "gray-dark"),
                    ]
                },
            },
        },
        "inputs": {
            "type": "object",
            "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_-]*$"},
            "additionalProperties": {
                "type": "object",
                "required": ["description"],
                "additionalProperties": False,
                "properties": {
                    "description": {"type": "string"},
                    "required": {"type": "boolean"},
                    "default": {"type": "string"},
                    "deprecationMessage": {"type": "string"},
                },
            },
        },
        "outputs": {
            "type": "object",
            "additionalProperties": {"type": "object", "required": ["description", "value"]},
        },
        "runs": {
            "type": "object",
            "required": ["using", "steps"],
            "properties": {
                "using": {"const": "composite"},
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            **{key: {"type": "string"} for key in ("name", "id", "if", "shell")},
                            **{key: {"type": "string"} for key in ("run", "uses")},
                            **{key: {"type": "object"} for key in ("env", "with")},
                            "working-directory": {"type": "string"},
                            "continue-on-error": {"type": "boolean"},
                        },
                        "oneOf": [{"required": ["run", "shell"]}, {"required": ["uses"]}],
                    },
                },
            },
        },
    },
}


class Runner:
    """A runner in a checkout: the files that steps talk to it by, and its environment."""

    def __init__(
        self, checkout: pathlib.Path, temp: pathlib.Path, action: pathlib.Path = ROOT
    ) -> None:
        self.checkout = checkout
        self.action = action
        self.environment = {
            **{k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")},
            "RUNNER_TEMP": str(temp),
            "PYTHONPATH": str(ROOT),
        }
        self.files = {name: temp / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        for name, path in self.files.items():
            path.write_text("")
            self.environment[name] = str(path)

    def step(self, number: int, **inputs: str) -> Ran:
        """Run one step with these inputs, and take over what it leaves for the next."""
        step = ACTION["runs"]["steps"][number]
        values = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
        environment = {
            name: self._filled(text, values) for name, text in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.checkout,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        for line in self.files["GITHUB_ENV"].read_text().splitlines():
            name, _, value = line.partition("=")
            self.environment[name] = value
        return Ran(done.returncode, done.stdout, done.stderr)

    def outputs(self) -> dict[str, str]:
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def _filled(self, text: str, inputs: dict[str, str]) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known["github.action_path"] = str(self.action)
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: known[match[1]], text)


@pytest.fixture
def runner(project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner on which the first step has been, with this Python in the place of the environment it makes."""
    temp = tmp_path_factory.mktemp("temp")
    made = Runner(project, temp)
    programs = temp / "bin"
    programs.mkdir()
    for name, start in (("kdacheck", "-m kdacheck"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        program.chmod(0o755)
    made.environment["KDACHECK_BIN"] = str(programs)
    return made


def test_the_file_is_an_action() -> None:
    jsonschema.validate(ACTION, SCHEMA)


def test_no_input_is_pasted_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_findings_annotate_and_fail_the_step(runner: Runner, write, wrong) -> None:
    write("model.py", wrong)
    ran = runner.step(1)
    assert ran.status == 1
    assert ran.out.startswith("::error title=kdacheck (KDA001 unflattened-batch),file=model.py,")
    assert runner.outputs() == {}


def test_a_clean_checkout_passes(runner: Runner, write, right) -> None:
    write("model.py", right)
    assert runner.step(1).status == 0


def test_inputs_are_words_as_in_a_shell_and_nothing_is_run_from_them(
    runner: Runner, write, wrong, project: pathlib.Path
) -> None:
    write("a folder/model.py", wrong)
    write("other.py", wrong)
    ran = runner.step(
        1, src="'a folder' $(touch gone) `touch gone`", args="--exit-zero", format="concise"
    )
    assert not (project / "gone").exists()
    assert ran.status == 2  # there are no such files
    ran = runner.step(1, src="'a folder'", args="--exit-zero --ignore KDA2", format="concise")
    assert ran.status == 0
    assert "a folder/model.py:7:22" in ran.out
    assert "other.py" not in ran.out


def test_inputs_that_are_no_words_are_refused(runner: Runner, write, wrong) -> None:
    write("model.py", wrong)
    ran = runner.step(1, args="--ignore 'KDA2")
    assert ran.status == 2
    assert ran.out == "::error::kdacheck: the inputs src and args are not words as in a shell\n"
    assert ran.err == ""


def test_sarif_is_left_for_the_upload_and_the_step_still_fails(
    runner: Runner, write, wrong
) -> None:
    write("model.py", wrong)
    ran = runner.step(1, sarif="true")
    assert ran.status == 1
    path = pathlib.Path(runner.outputs()["sarif-file"])
    (result,) = json.loads(path.read_text("utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "KDA001"


def test_a_job_that_could_not_be_done_uploads_nothing(runner: Runner, write) -> None:
    write("pyproject.toml", "[tool.kdacheck]\nselekt = []\n")
    ran = runner.step(1, sarif="true")
    assert ran.status == 2
    assert "did you mean `select`?" in ran.err
    assert runner.outputs() == {}


def test_a_python_that_is_too_old_is_told_of(
    project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    temp = tmp_path_factory.mktemp("old")
    program = temp / "python3"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    runner = Runner(project, temp)
    runner.environment["PATH"] = f"{temp}{os.pathsep}{runner.environment['PATH']}"
    ran = runner.step(0)
    assert ran.status == 2
    assert "::error::kdacheck needs Python 3.11" in ran.out


def test_the_first_step_installs_what_the_action_comes_with(
    project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory, write, wrong
) -> None:
    temp = tmp_path_factory.mktemp("fresh")
    runner = Runner(project, temp, action=clone(temp / "clone"))
    del runner.environment["PYTHONPATH"]
    ran = runner.step(0)
    if "No matching distribution" in ran.err or "Could not find a version" in ran.err:
        pytest.skip("the package index cannot be reached")
    assert ran.status == 0, ran.err
    write("model.py", wrong)
    assert "KDA001" in runner.step(1).out


def test_a_release_is_asked_for_by_its_number(
    project: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What pip is told to install, by a Python that only says so."""
    for version in ("0.1.0", "v0.1.0"):
        temp = tmp_path_factory.mktemp("version")
        program = temp / "python3"
        program.write_text(
            "#!/bin/sh\n"
            'case "$*" in *venv*) mkdir -p "$RUNNER_TEMP/kdacheck/bin";'
            ' cp "$0" "$RUNNER_TEMP/kdacheck/bin/python";; *pip*) echo "$@";; esac\n'
        )
        program.chmod(0o755)
        runner = Runner(project, temp)
        runner.environment["PATH"] = f"{temp}{os.pathsep}{runner.environment['PATH']}"
        ran = runner.step(0, version=version)
        assert ran.status == 0, ran.err
        assert ran.out.split()[-1] == "git+https://github.com/kdacheck/kdacheck@v0.1.0"


def test_the_page_uses_inputs_that_there_are() -> None:
    page = (ROOT / "docs" / "github-actions.md").read_text("utf-8")
    used: set[str] = set()
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        workflow = yaml.safe_load(block)
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                if step.get("uses", "").startswith("kdacheck/kdacheck@"):
                    used |= set(step.get("with", {}))
    assert used <= set(ACTION["inputs"])
    assert "sarif" in used
    for name in ACTION["inputs"]:
        assert f"`{name}`" in page
