"""What is built holds what it should, says so, installs where it claims to, and is the same each time."""

from __future__ import annotations

import email
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from tests.built import distributions, distributions_elsewhere, environment, install, unreachable

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = {"kdacheck": "kdacheck", "kdacheck/kernels": "kernels", "kdacheck/rules": "rules"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def modules(root: pathlib.Path) -> set[str]:
    """Every module of a checkout under the path it is to be installed at."""
    found = set()
    for package, folder in FOLDERS.items():
        for path in (root / folder).rglob("*.py"):
            relative = path.relative_to(root / folder).as_posix()
            if package == "kdacheck" and relative.split("/")[0] in ("kernels", "rules"):
                continue
            found.add(f"{package}/{relative}")
    return found


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> pathlib.Path:
    """A folder with an sdist, and the wheel that was built from it."""
    return distributions(tmp_path_factory)


@pytest.fixture(scope="module")
def source(dist) -> pathlib.Path:
    """What it was built from."""
    return dist / "clone"


@pytest.fixture(scope="module")
def wheel(dist) -> pathlib.Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def sdist(dist) -> pathlib.Path:
    (sdist,) = dist.glob("*.tar.gz")
    return sdist


def test_the_wheel_holds_every_module_and_only_our_name(wheel, source):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"kdacheck"}
    assert {name for name in names if name.endswith(".py")} == modules(source)
    assert {"kdacheck/py.typed", "kdacheck/report/html.css", "kdacheck/report/html.js"} <= set(
        names
    )
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_the_sources(sdist, source):
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
        names = {member.name.partition("/")[2] for member in members}
    assert {"pyproject.toml", "README.md", "LICENSE", "rules/__init__.py"} <= names
    assert all(member.isfile() or member.isdir() for member in members), "no links"
    sources = {name for name in names if name.endswith(".py") and not name.startswith("tests/")}
    assert sources == {
        f"{folder}{module.removeprefix(package)}"
        for module in modules(source)
        for package, folder in sorted(FOLDERS.items(), reverse=True)
        if module.startswith(f"{package}/")
        and not (package == "kdacheck" and module.split("/")[1] in ("kernels", "rules"))
    }


def test_the_same_commit_gives_the_same_bytes(dist, tmp_path_factory):
    elsewhere = distributions_elsewhere(tmp_path_factory)
    for path in (*dist.glob("*.whl"), *dist.glob("*.tar.gz")):
        assert (elsewhere / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_metadata_are_valid_and_complete(wheel, sdist, source):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = archive.read(name)
    with tarfile.open(sdist) as archive:
        name = f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO"
        file = archive.extractfile(name)
        assert file is not None
        assert (
            email.message_from_bytes(file.read()).items() == email.message_from_bytes(told).items()
        )
    metadata = Metadata.from_email(told, validate=True)
    assert metadata.name == "kdacheck"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (source / "README.md").read_text("utf-8")
    assert metadata.license_expression == "MIT"
    assert metadata.requires_python is not None
    assert [python for python in PYTHONS if python not in metadata.requires_python] == []
    assert "3.10" not in metadata.requires_python
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(metadata.provides_extra or ()) == set(project["optional-dependencies"])


def interpreter(python: str) -> str | None:
    """An interpreter of that version on this machine."""
    managed = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    places = [shutil.which(f"python{python}")]
    places += map(str, sorted((managed / "versions").glob(f"{python}.*/bin/python")))
    for place in filter(None, places):
        done = subprocess.run([place, "-V"], capture_output=True, text=True)
        if done.stdout.startswith(f"Python {python}."):
            return place
    return None


@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_installs_and_works(python, wheel, tmp_path, unmeasured):
    found = interpreter(python)
    if found is None:
        options = ["--python-version", python, "--only-binary", ":all:", "--target", tmp_path]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--dry-run", *options, wheel],
            capture_output=True,
            text=True,
        )
        unreachable(done)
        assert done.returncode == 0, done.stderr
        pytest.skip(f"no Python {python} here: only that there are wheels of all it needs was seen")
    new = environment(found, tmp_path / "venv")
    install(new, wheel)
    script = "import kdacheck.rules, sys; print(kdacheck.rules.__file__, 'torch' in sys.modules)"
    done = subprocess.run([new, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path)), done.stderr
    assert done.stdout.endswith(" False\n")
    done = subprocess.run(
        [new.with_name("kdacheck"), "--no-cache", ROOT / "examples"],
        cwd=tmp_path,
        env=unmeasured,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    for code in ("KDA001", "KDA101", "KDA102", "KDA401", "KDA501"):
        assert code in done.stdout


def test_all_is_every_extra_that_a_user_has_use_for():
    extras = PROJECT["project"]["optional-dependencies"]
    held, open_ = set(), {"all"}
    while open_:
        held |= open_
        lines = [Requirement(line) for name in open_ for line in extras[name]]
        open_ = {name for line in lines if line.name == "kdacheck" for name in line.extras} - held
    assert set(extras) - held == {"dev", "docs"}


def test_all_installs_and_works(wheel, tmp_path, unmeasured):
    """The extra is resolved by pip among what this environment holds, and everything it is for is used once."""
    pytest.importorskip("helion")
    new = environment(sys.executable, tmp_path / "venv")
    (site,) = (tmp_path / "venv").glob("lib/*/site-packages")
    held = pathlib.Path(pytest.__file__).parents[1]
    (site / "held.pth").write_text(f"{held}\n")
    install(new, "--no-index", "--no-build-isolation", f"kdacheck[all] @ {wheel.as_uri()}")
    script = """
import torch, kdacheck, kdacheck.kernels, kdacheck.server.app
from kdacheck.cli import main
assert kdacheck.__file__.startswith(PLACE), kdacheck.__file__
assert main(["--no-cache", "--quiet", "--output-format", "concise", EXAMPLE]) == 1
B, T, H, K = 1, 16, 2, 16
q, k, v, g = (torch.zeros(B, T, H, K) for _ in range(4))
try:
    kdacheck.kernels.chunk_kda(q, k, v, g, torch.zeros(B, T, H), cu_seqlens=torch.tensor([[0, T]]))
except kdacheck.ContractError as error:
    print(error.code)
"""
    script = script.replace("PLACE", repr(str(tmp_path)))
    script = script.replace("EXAMPLE", repr(str(ROOT / "examples/wrong/prefill.py")))
    done = subprocess.run(
        [new, "-P", "-c", script], cwd=tmp_path, env=unmeasured, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "KDA305"


def test_links_stand_for_the_mapped_packages():
    for package, folder in FOLDERS.items():
        if package != "kdacheck":
            assert os.readlink(ROOT / package) == f"../{folder}"
    assert os.readlink(ROOT / "pre-commit-hooks.yaml") == ".pre-commit-hooks.yaml"
    assert not (ROOT / ".pre-commit-hooks.yaml").is_symlink(), "pre-commit reads no links"


def test_the_base_install_stays_small():
    names = [line.partition(">")[0] for line in PROJECT["project"]["dependencies"]]
    assert names == ["libcst"]


def test_the_examples_are_as_they_say(kdacheck, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert kdacheck("examples/right").status == 0
    for path in sorted((ROOT / "examples" / "wrong").glob("*.py")):
        ran = kdacheck(str(path.relative_to(ROOT)), "--output-format", "concise")
        assert ran.status == 1, path.name
    ran = kdacheck("examples", "--output-format", "concise")
    for code in ("KDA001", "KDA101", "KDA102", "KDA401", "KDA501"):
        assert code in ran.out
