"""Writes what the documentation takes from the code: a page per rule, the contracts, and what commands print.

`python -m kdacheck.docs` in a checkout, with `--check` to compare only.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Folders that hold written pages and nothing else.
FOLDERS = ("docs/rules", "docs/catalogue")


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare; 1 where `--check` finds something stale."""
    parser = argparse.ArgumentParser(prog="python -m kdacheck.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, tell what is stale")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="of what is written")
    options = parser.parse_args(argv)
    root: pathlib.Path = options.root

    wanted = pages(root)
    present = {path: path.read_text("utf-8") for path in _written(root, wanted)}
    stale = sorted(
        path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path)
    )
    if options.check:
        for path in stale:
            print(f"{path}: stale, run python -m kdacheck.docs", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], "utf-8", newline="\n")
        else:
            path.unlink()
    return 0


def pages(root: pathlib.Path) -> dict[pathlib.Path, str]:
    """Every page that is written, wholly or in part, and its text."""
    from kdacheck import schema
    from kdacheck.docs import catalogue, rules, shown, site

    found = {root / FOLDERS[0] / name: text for name, text in rules.pages().items()}
    found |= {root / FOLDERS[1] / name: text for name, text in catalogue.pages().items()}
    by_hand = {root / "README.md", *(root / "docs").rglob("*.md")}
    by_hand = {path for path in by_hand if not _in_folders(root, path) and path.is_file()}
    found |= shown.refreshed({path: path.read_text("utf-8") for path in by_hand})
    found[root / schema.PLACE] = schema.text()
    settings = root / "mkdocs.yml"
    if settings.is_file():
        found[settings] = site.with_pages(settings.read_text("utf-8"))
    return found


def _written(root: pathlib.Path, wanted: dict[pathlib.Path, str]) -> set[pathlib.Path]:
    return {path for folder in FOLDERS for path in (root / folder).glob("*.md")} | {
        path for path in wanted if path.is_file()
    }


def _in_folders(root: pathlib.Path, path: pathlib.Path) -> bool:
    return path.parent in {root / folder for folder in FOLDERS}
