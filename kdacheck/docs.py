"""Writes the page of every rule and the output that the README shows.

`python -m kdacheck.docs`, with `--check` to compare only.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdacheck.rule import Rule

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "rules"
INDEX = "README.md"
SHOWN = re.compile(r"(<!-- output of: kdacheck (\S+) -->\n```\n).*?(```\n)", re.DOTALL)
RUN_TIME = {
    "meta": "yes, from shape, strides, dtype and device alone",
    "values": "yes, at the level that reads contents",
    "-": "no, it does not show at the call",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare the pages; 1 where `--check` finds them stale."""
    parser = argparse.ArgumentParser(prog="python -m kdacheck.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, tell what is stale")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="of the rule pages")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    options = parser.parse_args(argv)
    folder: pathlib.Path = options.folder
    readme: pathlib.Path = options.readme

    wanted = {folder / name: text for name, text in pages().items()}
    wanted[readme] = with_output(readme.read_text("utf-8"))
    present = {path: path.read_text("utf-8") for path in [*folder.glob("*.md"), readme]}
    stale = sorted(
        path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path)
    )
    if options.check:
        for path in stale:
            print(f"{path}: stale, run python -m kdacheck.docs", file=sys.stderr)
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], "utf-8", newline="\n")
        else:
            path.unlink()
    return 0


def with_output(text: str) -> str:
    """The text with what the command prints now below each `<!-- output of: kdacheck PATH -->`."""

    def output(shown: re.Match[str]) -> str:
        command = [sys.executable, "-m", "kdacheck", "--no-color", "--quiet", shown[2]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
        if done.returncode == 2:
            raise RuntimeError(done.stderr)
        return f"{shown[1]}{done.stdout.strip()}\n{shown[3]}"

    return SHOWN.sub(output, text)


def pages() -> dict[str, str]:
    """File name to text."""
    from kdacheck.rules import catalogue

    rules = catalogue()
    found = {f"{rule.name}.md": page(rule) for rule in rules}
    found[INDEX] = index(rules)
    return found


def index(rules: Sequence[Rule]) -> str:
    """The table of all rules."""
    rows = [
        f"| [{rule.code}]({rule.name}.md) | `{rule.name}` | {_cell(rule.law)} |" for rule in rules
    ]
    return "\n".join(
        [
            "# Rules",
            "",
            "Codes and names are public: they never change meaning. `kdacheck rule CODE` prints the same text.",
            "",
            "| code | name | the law |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def page(rule: Rule) -> str:
    """One rule in full."""
    parts = [
        f"# {rule.name} ({rule.code})",
        f"## The law\n{rule.law}",
        f"## Why\n{rule.why}",
    ]
    parts += _examples("Wrong", rule.wrong)
    parts += _examples("Right", rule.right)
    if rule.likely:
        parts += _examples("Likely", rule.likely)
        parts.append(
            "The evidence is strong, but may have an innocent reading: reported with `--likely` only, marked, never fixed."
        )
    parts.append(f"## Remedy\n{_sentence(rule.remedy)}")
    runtime = RUN_TIME.get(rule.runtime, rule.runtime)
    parts.append(
        f"## How it is seen\n* From source: {rule.static}.\n* At run time: {runtime}."
        if not rule.code.startswith("KDA9")
        else f"## How it is seen\nBy the linter: {rule.static}."
    )
    if rule.code != "KDA901":
        parts.append(
            "## To allow it\n"
            f"For one call: `# kdacheck: ignore[{rule.code}]` on any of its lines. For a project:\n\n"
            f'```toml\n[tool.kdacheck]\nignore = ["{rule.name}"]\n```'
        )
    return "\n\n".join(parts) + "\n"


def _examples(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    blocks = "\n\n".join(f"```python\n{text.strip(chr(10))}\n```" for text in texts)
    return [f"## {title}\n{blocks}"]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
