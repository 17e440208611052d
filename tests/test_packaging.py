"""What is built holds what it should, and nothing under a name that is not ours."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = {"kdacheck": "kdacheck", "kdacheck/kernels": "kernels", "kdacheck/rules": "rules"}


def modules() -> set[str]:
    """Every module of the checkout under the path it is to be installed at."""
    found = set()
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent == ROOT / "kdacheck" / "kernels":
                continue
            relative = path.relative_to(ROOT / folder).as_posix()
            if package == "kdacheck" and relative.split("/")[0] in ("kernels", "rules"):
                continue
            found.add(f"{package}/{relative}")
    return found


def checkout(target: pathlib.Path, links: bool) -> pathlib.Path:
    """A copy of what git holds or would hold; without links, as git leaves them where it may not make any."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if links:
                copy.symlink_to(os.readlink(source))
            else:
                copy.write_text(os.readlink(source))
        elif source.is_file():
            shutil.copy2(source, copy)
    return target


def build(source: pathlib.Path, target: pathlib.Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source],
        check=True,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module", params=[True, False], ids=["links", "no links"])
def built(request, tmp_path_factory) -> pathlib.Path:
    """A folder with an sdist, and the wheel that was built from it."""
    pytest.importorskip("build")
    source = checkout(tmp_path_factory.mktemp("source"), request.param)
    target = tmp_path_factory.mktemp("dist")
    build(source, target)
    return target


def test_the_wheel_holds_every_module_and_only_our_name(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"kdacheck"}
    assert {name for name in names if name.endswith(".py")} == modules()
    assert "kdacheck/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_the_sources(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "rules/__init__.py"} <= names


def test_the_wheel_works_where_it_is_installed(built, tmp_path, unmeasured):
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    script = "import sys; from kdacheck.cli import main; sys.exit(main(['rule', 'KDA001']))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**unmeasured, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("KDA001 unflattened-batch")
    script = "import kdacheck.rules; print(kdacheck.rules.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**unmeasured, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(str(tmp_path)), done.stderr


def test_links_stand_for_the_mapped_packages():
    for package, folder in FOLDERS.items():
        if package != "kdacheck":
            assert os.readlink(ROOT / package) == f"../{folder}"
    assert os.readlink(ROOT / "pre-commit-hooks.yaml") == ".pre-commit-hooks.yaml"
    assert not (ROOT / ".pre-commit-hooks.yaml").is_symlink(), "pre-commit reads no links"


def test_the_base_install_stays_small():
    names = [line.partition(">")[0] for line in PROJECT["project"]["dependencies"]]
    assert names == ["libcst"]


def test_the_version_is_stated_once():
    from kdacheck.version import VERSION

    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    for page in ("docs/pre-commit.md", "docs/github-actions.md"):
        assert f"v{VERSION}" in (ROOT / page).read_text("utf-8")


def test_the_examples_are_as_they_say(kdacheck, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert kdacheck("examples/right").status == 0
    for path in sorted((ROOT / "examples" / "wrong").glob("*.py")):
        ran = kdacheck(str(path.relative_to(ROOT)), "--output-format", "concise")
        assert ran.status == 1, path.name
    ran = kdacheck("examples", "--output-format", "concise")
    for code in ("KDA001", "KDA101", "KDA102", "KDA401", "KDA501"):
        assert code in ran.out
