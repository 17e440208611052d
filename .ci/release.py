"""Makes a release: `python .ci/release.py version 0.2.0`, then `python .ci/release.py build dist`.

`version` states the version where it is stated, closes the list of changes that are not released, moves what the
documentation pins, commits and tags. `build` makes the sdist and the wheel of the commit that is checked out; the
same commit gives the same bytes. Both refuse a tree with changes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNRELEASED = "## Unreleased\n"
#: What pins a release of kdacheck in pages and workflows: `rev: v0.1.0`, `kdacheck@v0.1.0`.
PIN = r"((?:rev: *|kdacheck@)v){}\b"


class ReleaseError(Exception):
    """The release is not made, and why."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("version", help="state a new version").add_argument("version")
    verbs.add_parser("build", help="sdist and wheel").add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    try:
        if git("status", "--porcelain"):
            raise ReleaseError("there are changes that are not committed")
        if options.verb == "version":
            state(options.version)
        else:
            build(options.folder)
    except ReleaseError as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 2
    return 0


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(done.stderr.strip())
    return done.stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"not a version such as 0.2.0: {version}")
    return tuple(map(int, version.split(".")))


def state(version: str) -> None:
    """Write a version everywhere, commit and tag."""
    stated = ROOT / "kdacheck" / "version.py"
    text = stated.read_text("utf-8")
    found = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise ReleaseError(f"{stated}: no VERSION")
    old = found[1]
    if numbers(version) <= numbers(old):
        raise ReleaseError(f"{version} does not come after {old}")
    changes = ROOT / "CHANGELOG.md"
    log = changes.read_text("utf-8")
    _, heading, news = log.partition(UNRELEASED)
    if not heading or not news.partition("\n## ")[0].strip():
        raise ReleaseError(f"{changes.name}: nothing stands under {UNRELEASED.strip()!r}")

    stated.write_text(text.replace(found[0], f'VERSION = "{version}"'), "utf-8")
    today = datetime.now(UTC).date()
    closed = f"{UNRELEASED}\n## {version} - {today}\n"
    changes.write_text(log.replace(UNRELEASED, closed, 1), "utf-8")
    for name in git("ls-files", "*.md", "*.yml", "*.yaml").splitlines():
        path = ROOT / name
        if path.is_symlink() or path == changes:
            continue
        text = path.read_text("utf-8")
        moved = re.sub(PIN.format(re.escape(old)), rf"\g<1>{version}", text)
        if moved != text:
            path.write_text(moved, "utf-8")
    git("commit", "-q", "-a", "-m", f"Release {version}")
    git("tag", "-a", f"v{version}", "-m", f"kdacheck {version}")
    print(f"committed and tagged v{version}")


def build(folder: pathlib.Path) -> None:
    """Make the sdist and the wheel of the commit that is checked out."""
    folder = folder.resolve()
    moment = int(git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as place:
        source, made = pathlib.Path(place, "source"), pathlib.Path(place, "made")
        for name in git("ls-files", "-z").split("\0"):
            if name:
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
        done = subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", made, source],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(moment)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ReleaseError(done.stdout + done.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(made.iterdir()):
            data = path.read_bytes()
            whole = plain(data, moment) if path.name.endswith(".tar.gz") else data
            (folder / path.name).write_bytes(whole)
            print(folder / path.name)


def plain(data: bytes, moment: int) -> bytes:
    """An archive without what its maker's machine left in it: times, owners, modes, order."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        tarfile.open(fileobj=packed, mode="w") as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = moment
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return gzip.compress(packed.getvalue(), mtime=moment)


if __name__ == "__main__":
    sys.exit(main())
