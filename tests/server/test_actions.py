"""What an editor can ask for: fixes, comments, what is known of a call."""

from __future__ import annotations

import pathlib

import pytest
from lsprotocol import types

from tests.server.editor import MODERN, Editor

#: A fix that is safe on row 8, and one that is for a person to see on row 13.
MIXED = """\
import flash_kda
import torch
from fla.ops.kda import chunk_kda


def safe(q, k, v, g, beta, out, A_log, dt_bias):
    cu = torch.arange(0, 50, 10, device="cuda")[::2]  # \U0001f600
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0, cu_seqlens=cu)


def unsafe(g, beta):
    q = torch.randn(2, 128, 8, 64)
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
"""

WHOLE = types.Range(types.Position(0, 0), types.Position(100, 0))


def applied(text: str, edit: types.WorkspaceEdit | None) -> str:
    """The text after an edit of one document, whose lines have no wide characters before the edits."""
    assert edit is not None
    if edit.document_changes is not None:
        (change,) = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        edits = list(change.edits)
    else:
        assert edit.changes is not None
        ((_, changes),) = edit.changes.items()
        edits = list(changes)
    lines = text.split("\n")

    def offset(place: types.Position) -> int:
        return sum(len(line) + 1 for line in lines[: place.line]) + place.character

    for one in sorted(edits, key=lambda one: one.range.start, reverse=True):
        assert isinstance(one, types.TextEdit)
        text = text[: offset(one.range.start)] + one.new_text + text[offset(one.range.end) :]
    return text


@pytest.fixture
def opened(editor: Editor, tmp_path: pathlib.Path) -> str:
    uri = editor.open(tmp_path / "model.py", MIXED)
    assert editor.codes(uri) == ["KDA307", "KDA001"]
    return uri


def chosen(editor: Editor, uri: str, start: str, place: types.Range = WHOLE) -> types.CodeAction:
    (action,) = [a for a in editor.actions(uri, place) if a.title.startswith(start)]
    return action


def test_fixes_are_offered_where_the_cursor_is_the_safe_ones_preferred(
    editor: Editor, opened: str
) -> None:
    here = types.Range(types.Position(7, 82), types.Position(7, 82))
    fix, allow, *rest = editor.actions(opened, here, ["quickfix"])
    assert rest == []
    assert fix.is_preferred
    assert "unsafe" not in fix.title
    assert [found.code for found in fix.diagnostics or ()] == ["KDA307"]
    assert allow.title == "Allow strided-cu-seqlens here (# kdacheck: ignore[KDA307])"
    fixed = applied(MIXED, editor.resolve(fix).edit)
    assert fixed == MIXED.replace("lens=cu)", "lens=cu.contiguous())")

    nowhere = types.Range(types.Position(0, 0), types.Position(1, 0))
    assert editor.actions(opened, nowhere, ["quickfix"]) == []


def test_an_unsafe_fix_says_so_and_changes_its_own_call_alone(editor: Editor, opened: str) -> None:
    action = chosen(editor, opened, "Flatten")
    assert "unsafe" in action.title
    assert not action.is_preferred
    fixed = applied(MIXED, editor.resolve(action).edit)
    assert "q.reshape(1, -1, *q.shape[2:])" in fixed
    assert "cu_seqlens=cu)" in fixed
    editor.edit(opened, fixed)
    assert editor.codes(opened) == ["KDA307"]


def test_fix_all_applies_what_is_safe(editor: Editor, opened: str) -> None:
    for only in (["source.fixAll"], ["source"], ["source.fixAll.kdacheck"]):
        (action,) = editor.actions(opened, WHOLE, only)
        assert action.kind == "source.fixAll.kdacheck"
    fixed = applied(MIXED, editor.resolve(action).edit)
    assert fixed == MIXED.replace("lens=cu)", "lens=cu.contiguous())")
    editor.edit(opened, fixed)
    editor.findings(opened)
    assert editor.actions(opened, WHOLE, ["source.fixAll"]) == []


def test_a_comment_allows_the_call_and_is_taken_away_again(editor: Editor, opened: str) -> None:
    allowed = applied(MIXED, editor.resolve(chosen(editor, opened, "Allow unfl")).edit)
    assert "256]))  # kdacheck: ignore[KDA001]\n" in allowed
    editor.edit(opened, allowed)
    assert editor.codes(opened) == ["KDA307"]
    idle = allowed.replace("torch.randn(2, 128", "torch.randn(1, 256")
    editor.edit(opened, idle)
    assert editor.codes(opened) == ["KDA307", "KDA900"]
    unused = editor.findings(opened)[1]
    assert unused.tags == (types.DiagnosticTag.Unnecessary,) or unused.tags == [
        types.DiagnosticTag.Unnecessary
    ]
    removed = applied(idle, editor.resolve(chosen(editor, opened, "Remove the supp")).edit)
    assert "ignore" not in removed


def test_an_action_for_a_text_that_has_changed_is_refused(editor: Editor, opened: str) -> None:
    action = chosen(editor, opened, "Flatten")
    editor.edit(opened, MIXED + "\n")
    with pytest.raises(Exception, match="the text has changed"):
        editor.resolve(action)


def test_a_client_that_resolves_nothing_gets_the_edits_at_once(
    start, tmp_path: pathlib.Path
) -> None:
    editor = start(capabilities=types.ClientCapabilities())
    uri = editor.open(tmp_path / "model.py", MIXED)
    editor.findings(uri)
    fixed = applied(MIXED, chosen(editor, uri, "Fix what is safe").edit)
    assert fixed == MIXED.replace("lens=cu)", "lens=cu.contiguous())")


def test_a_windows_text_keeps_its_line_ends(editor: Editor, tmp_path: pathlib.Path) -> None:
    text = MIXED.replace("\n", "\r\n")
    uri = editor.open(tmp_path / "model.py", text)
    editor.findings(uri)
    fixed = applied(text, editor.resolve(chosen(editor, uri, "Fix what is safe")).edit)
    assert fixed == text.replace("lens=cu)", "lens=cu.contiguous())")


def test_hovering_tells_what_is_known_of_an_argument_and_of_the_call(
    editor: Editor, opened: str
) -> None:
    argument = editor.hover(opened, 12, MIXED.splitlines()[12].index("q, q"))
    assert argument is not None
    assert isinstance(argument.contents, types.MarkupContent)
    assert argument.contents.kind == types.MarkupKind.Markdown
    assert argument.contents.value == (
        "```text\nq: Float[Tensor, 'B T H K'] = q\n"
        "    [2, 128, 8, 64], dense, float32, on cpu\n"
        "    shape, layout, dtype, device: randn, line 12\n```"
    )
    call = editor.hover(opened, 12, MIXED.splitlines()[12].index("chunk_kda") + 2)
    assert call is not None
    assert isinstance(call.contents, types.MarkupContent)
    assert "fla.ops.kda.chunk_kda" in call.contents.value
    assert "KDA001 unflattened-batch" in call.contents.value
    assert editor.hover(opened, 11, 4) is None
    assert editor.hover(opened, 999, 999) is None


def test_hints_of_shapes_are_shown_when_asked_for(start, tmp_path: pathlib.Path) -> None:
    editor = start(options={"inlayHints": True})
    uri = editor.open(tmp_path / "model.py", MIXED)
    row = MIXED.splitlines()[12]
    hints = {hint.position.character: hint.label for hint in editor.hints(uri)}
    assert hints == {
        **dict.fromkeys((row.index("q, q") + 1 + 3 * n for n in range(3)), "[2, 128, 8, 64]"),
        row.index("]))") + 2: "[3]",
    } | {MIXED.splitlines()[7].index("cu)") + 2: "[3]"}
    editor.set({"inlayHints": False})
    editor.until(lambda: editor.refreshed, "the hints should be drawn anew")
    assert editor.hints(uri) == []


def test_hints_are_off_by_default(editor: Editor, opened: str) -> None:
    assert editor.hints(opened) == []
    editor.set({"inlayHints": True})
    editor.until(lambda: editor.refreshed, "the hints should be drawn")
    assert editor.hints(opened) != []


def test_what_is_offered_is_announced(editor: Editor) -> None:
    offered = editor.initialized.capabilities
    actions = offered.code_action_provider
    assert isinstance(actions, types.CodeActionOptions)
    assert actions.resolve_provider
    assert "source.fixAll.kdacheck" in (actions.code_action_kinds or ())
    assert offered.hover_provider
    assert offered.inlay_hint_provider
    assert MODERN.workspace is not None
