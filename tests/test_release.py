"""The release command, on clones."""

from __future__ import annotations

import datetime
import pathlib
import subprocess
import sys

import pytest

from tests.clones import ROOT, clone, git


@pytest.fixture
def checkout(tmp_path) -> pathlib.Path:
    """A repository with what the command works on, and one change to tell of."""
    made = tmp_path / "checkout"
    for name, text in {
        ".ci/release.py": (ROOT / ".ci" / "release.py").read_text("utf-8"),
        "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n* Something.\n\n## 0.0.1 - 2020-01-01\n\n* First.\n",
        "README.md": "# A\n",
        "docs/pre-commit.md": "    rev: v0.1.0\n",
        "kdacheck/version.py": 'VERSION = "0.1.0"\nPROJECT_URL = "x"\n',
        "workflow.yml": "uses: kdacheck/kdacheck@v0.1.0\nother: v0.1.0\n",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text, "utf-8")
    git("init", "-q", ".", cwd=made)
    git("config", "user.name", "t", cwd=made)
    git("config", "user.email", "t@example.invalid", cwd=made)
    git("add", "-A", cwd=made)
    git("commit", "-q", "--no-verify", "-m", "news", cwd=made)
    return made


def release(checkout: pathlib.Path, *arguments: str) -> tuple[int, str]:
    """The exit status, and what was printed on standard error."""
    done = subprocess.run(
        [sys.executable, checkout / ".ci" / "release.py", *arguments],
        capture_output=True,
        text=True,
        cwd=checkout.parent,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_version_is_stated_everywhere_committed_and_tagged(checkout):
    before = git("rev-parse", "HEAD", cwd=checkout)
    assert release(checkout, "version", "0.2.0") == (0, "")
    today = datetime.datetime.now(datetime.UTC).date()
    assert (checkout / "kdacheck" / "version.py").read_text() == (
        'VERSION = "0.2.0"\nPROJECT_URL = "x"\n'
    )
    log = (checkout / "CHANGELOG.md").read_text()
    assert log.startswith(f"# Changes\n\n## Unreleased\n\n## 0.2.0 - {today}\n\n* Something.\n")
    assert (checkout / "docs" / "pre-commit.md").read_text() == "    rev: v0.2.0\n"
    assert (checkout / "workflow.yml").read_text() == (
        "uses: kdacheck/kdacheck@v0.2.0\nother: v0.1.0\n"
    )
    assert git("status", "--porcelain", cwd=checkout) == ""
    assert git("rev-parse", "HEAD^", "v0.2.0^{commit}", "HEAD", cwd=checkout).split() == [
        before,
        *[git("rev-parse", "HEAD", cwd=checkout)] * 2,
    ]


def test_a_second_release_finds_what_the_first_one_wrote(checkout):
    assert release(checkout, "version", "0.2.0")[0] == 0
    assert release(checkout, "version", "0.3.0") == (
        2,
        "release.py: CHANGELOG.md: nothing stands under '## Unreleased'\n",
    )
    log = checkout / "CHANGELOG.md"
    log.write_text(log.read_text().replace("## Unreleased\n", "## Unreleased\n\n* More.\n"))
    git("commit", "-q", "--no-verify", "-am", "more", cwd=checkout)
    assert release(checkout, "version", "0.3.0") == (0, "")
    assert (checkout / "docs" / "pre-commit.md").read_text() == "    rev: v0.3.0\n"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("0.1.0", "0.1.0 does not come after 0.1.0"),
        ("0.0.9", "0.0.9 does not come after 0.1.0"),
        ("1.0", "not a version such as 0.2.0: 1.0"),
        ("v0.2.0", "not a version such as 0.2.0: v0.2.0"),
    ],
)
def test_a_version_that_cannot_be_meant_is_refused(checkout, version, why):
    assert release(checkout, "version", version) == (2, f"release.py: {why}\n")
    assert git("status", "--porcelain", cwd=checkout) == ""


@pytest.mark.parametrize("verb", [("version", "0.2.0"), ("build", "dist")])
def test_a_tree_with_changes_is_refused(checkout, verb):
    (checkout / "README.md").write_text("changed\n")
    assert release(checkout, *verb) == (
        2,
        "release.py: there are changes that are not committed\n",
    )
    assert git("tag", cwd=checkout) == ""


def test_this_repository_can_be_released(tmp_path):
    made = clone(tmp_path / "clone")
    log = made / "CHANGELOG.md"
    text = log.read_text("utf-8")
    log.write_text(text.replace("## Unreleased\n", "## Unreleased\n\n* News.\n", 1), "utf-8")
    git("commit", "-q", "--no-verify", "-am", "news", cwd=made)
    pins = r"(rev: *|kdacheck@)v[0-9.]+[0-9]"
    before = git("grep", "-hoE", pins, "--", "*.md", "*.yml", cwd=made).splitlines()
    assert len({pin.rpartition("v")[2] for pin in before}) == 1
    assert release(made, "version", "987.0.0") == (0, "")
    after = git("grep", "-hoE", pins, "--", "*.md", "*.yml", cwd=made).splitlines()
    assert len(after) == len(before)
    assert {pin.rpartition("v")[2] for pin in after} == {"987.0.0"}
    done = subprocess.run(
        [sys.executable, "-m", "kdacheck", "--version"], cwd=made, capture_output=True, text=True
    )
    assert done.stdout == "kdacheck 987.0.0\n"
