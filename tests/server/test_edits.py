"""After every edit, an editor is told what the command tells of the same text."""

from __future__ import annotations

import ast
import json
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from lsprotocol import types

from tests.server.editor import Editor

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "wrong"

#: What is typed: whole lines, of which some break the text, or hang something on the lines above.
TYPED = [
    *("# noted", "    # of what is above", "", "   ", "x = 1; \\", "@", '"""', "def f(): pass"),
    *("    tokens = 128", "    heads, dim = 8, 64", "cu_seqlens = None", "import torch", "\f"),
]


def changed(text: str, chance: random.Random) -> str:
    """A text that Python reads, after one edit: of lines, of numbers, or of a statement of its top level."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    match chance.randrange(6):
        case 0 | 1:
            lines.insert(at, chance.choice(TYPED))
        case 2:
            del lines[at]
        case 3:
            lines[at] = lines[at].replace("256", "128").replace("(2, ", "(1, ")
        case _:
            moved = chance.choice(ast.parse(text).body)
            part = lines[moved.lineno - 1 : moved.end_lineno]
            if chance.random() < 0.5:
                del lines[moved.lineno - 1 : moved.end_lineno]
            lines[at:at] = part
    return "\n".join(lines)


def wanted_of(finding: dict[str, Any]) -> tuple[object, ...]:
    places = (finding, *finding["origins"]) if finding["code"] != "KDA901" else ()
    ends = [place[end] for place in places for end in ("location", "end_location")]
    message = f"{finding['message']}\nhelp: {finding['remedy']}"
    return finding["code"], message, [(end["row"], end["column"]) for end in ends]


def told_by(found: types.Diagnostic) -> tuple[object, ...]:
    if found.code == "KDA901":  # may stand where the text has no place
        return found.code, found.message, []
    ends = [found.range, *(place.location.range for place in found.related_information or ())]
    rows = [(end.line + 1, end.character + 1) for range in ends for end in (range.start, range.end)]
    return found.code, found.message, rows


def is_whole(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except SyntaxError:
        return False


@pytest.mark.parametrize("seed", range(3))
def test_an_editor_is_told_what_the_command_tells(
    editor: Editor,
    tmp_path: pathlib.Path,
    tmp_path_factory: pytest.TempPathFactory,
    kdacheck: Callable[..., Any],
    seed: int,
) -> None:
    saved = tmp_path_factory.mktemp("saved") / "model.py"
    whole = "\n\n".join(path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.py")))
    text, found, chance = whole, 0, random.Random(seed)
    uri = editor.open(tmp_path / "model.py", text)
    for _ in range(20):
        saved.write_text(text, "utf-8")
        run = kdacheck(str(saved), "--output-format", "json", "--no-cache")
        wanted = list(map(wanted_of, json.loads(run.out)))
        assert [told_by(one) for one in editor.findings(uri)] == wanted
        found += len(wanted)
        whole = text if is_whole(text) else whole
        if chance.random() < 0.3:
            editor.edit(uri, changed(whole, chance))  # and called off by the next
        text = changed(whole, chance)
        editor.edit(uri, text)
    assert found > 50
