"""What an editor is told of the texts that are open, over a real server's standard input and output."""

from __future__ import annotations

import pathlib
import time

import pytest
from lsprotocol import types

from tests.server.editor import MODERN, Editor

HELPER = """\
import torch
from fla.ops.kda import chunk_kda

def operands(batch=1):
    return torch.randn({batch}, 256, 8, 64)

def layer(q, k, v, g, beta, cu_seqlens=None):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)
"""

USER = """\
import torch
from fla.ops.kda import chunk_kda
from .helper import operands

def run(g, beta):
    q = operands()
    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
"""

CALLER = """\
import torch
from pkg.helper import layer

def run(g, beta, lengths):
    q = torch.randn(2, 256, 8, 64)
    cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return layer(q, q, q, g, beta, cu)
"""


@pytest.fixture
def package(tmp_path: pathlib.Path) -> pathlib.Path:
    """A package with a helper that hands out operands, and a wrapper of a kernel."""
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "helper.py").write_text(HELPER.format(batch=1))
    return folder


def test_a_broken_call_is_told_with_its_rule_page_and_its_origin(
    editor: Editor, tmp_path: pathlib.Path, wrong: str
) -> None:
    uri = editor.open(tmp_path / "model.py", wrong)
    (found,) = editor.findings(uri)
    assert (found.code, found.source) == ("KDA001", "kdacheck")
    assert found.severity == types.DiagnosticSeverity.Error
    assert found.range == types.Range(types.Position(6, 21), types.Position(6, 22))
    assert found.code_description is not None
    assert found.code_description.href.endswith("docs/rules/unflattened-batch.md")
    assert found.related_information is not None
    (origin,) = found.related_information
    assert origin.location.uri == uri
    assert origin.location.range.start == types.Position(5, 8)
    assert "randn made it [2, 128, 8, 64]" in origin.message


def test_edits_are_followed_though_nothing_is_saved(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, right: str
) -> None:
    path = tmp_path / "model.py"
    path.write_text(wrong)
    uri = editor.open(path, wrong)
    assert editor.codes(uri) == ["KDA001"]
    editor.edit(uri, right)
    assert editor.codes(uri) == []
    editor.edit(uri, wrong)
    assert editor.codes(uri) == ["KDA001"]


def test_nothing_is_said_of_texts_that_were_replaced(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, right: str
) -> None:
    uri = editor.open(tmp_path / "model.py", right)
    editor.findings(uri)
    said = len(editor.published)
    last = 0
    for number in range(200):
        last = editor.edit(uri, (wrong if number % 2 else right) + "#" * number)
    assert editor.codes(uri) == ["KDA001"]
    assert {p.version for p in editor.published[said:]} <= {last}


def test_positions_count_in_the_units_of_the_client(
    editor: Editor, start, tmp_path: pathlib.Path, wrong: str
) -> None:
    line = "    return chunk_kda(q, q"
    assert line in wrong
    text = wrong.replace(line, "    '\U0001f600\u4e2d'; " + line.strip())
    general = types.GeneralClientCapabilities(position_encodings=["utf-8"])
    capabilities = types.ClientCapabilities(general=general, text_document=MODERN.text_document)
    for client, width in ((editor, 3), (start(capabilities=capabilities), 7)):
        uri = client.open(tmp_path / "model.py", text)
        (found,) = client.findings(uri)
        column = len("    '") + width + len("'; return chunk_kda(")
        assert found.range.start == types.Position(6, column)
        assert client.hover(uri, 6, column) is not None


def test_lines_end_where_python_ends_them(
    editor: Editor, tmp_path: pathlib.Path, wrong: str
) -> None:
    head = "# a form feed \f, a separator \u2028 and \x1c in a line\r\n"
    uri = editor.open(tmp_path / "model.py", head + wrong.replace("\n", "\r\n"))
    (found,) = editor.findings(uri)
    assert found.range.start == types.Position(7, 21)


def test_a_text_that_is_no_python_yet_is_told_where_it_breaks(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, right: str
) -> None:
    uri = editor.open(tmp_path / "model.py", wrong + "\ndef half(:\n")
    (found,) = editor.findings(uri)
    assert (found.code, found.range.start.line) == ("KDA901", 8)
    editor.edit(uri, right)
    assert editor.codes(uri) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\ufeffimport chunk_kda",
        "chunk_kda\0",
        "chunk_kda = '\ud800'",
        "# coding: nonsense\n",
    ],
)
def test_odd_texts_do_no_harm(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, text: str
) -> None:
    uri = editor.open(tmp_path / "odd.py", text)
    editor.findings(uri)
    editor.edit(uri, wrong)
    assert editor.codes(uri) == ["KDA001"]


def test_the_encoding_a_text_names_moves_nothing(
    editor: Editor, tmp_path: pathlib.Path, wrong: str
) -> None:
    text = "# coding: latin-1\n" + wrong.replace("return", "'\xe9\u20ac'; return")
    uri = editor.open(tmp_path / "model.py", text)
    (found,) = editor.findings(uri)
    assert found.range.start == types.Position(7, 21 + len("'ab'; "))


def test_buffers_without_a_file_count_and_old_revisions_do_not(editor: Editor, wrong: str) -> None:
    assert editor.codes(editor.open("untitled:Untitled-1", wrong)) == ["KDA001"]
    editor.open("git:/model.py?ref", wrong)
    editor.open("untitled:Notes", "chunk_kda", "markdown")
    last = editor.open("untitled:Untitled-2", wrong)
    editor.findings(last)
    assert {params.uri for params in editor.published} == {"untitled:Untitled-1", last}


def test_a_closed_text_has_no_findings(editor: Editor, tmp_path: pathlib.Path, wrong: str) -> None:
    uri = editor.open(tmp_path / "model.py", wrong)
    editor.findings(uri)
    editor.shut(uri)
    editor.becomes(uri)
    # renamed: the same text, at another place
    moved = editor.open(tmp_path / "moved.py", wrong)
    assert editor.codes(moved) == ["KDA001"]
    assert [params.uri for params in editor.published if params.diagnostics][-1] == moved


def test_what_other_buffers_say_goes_before_the_disk(editor: Editor, package: pathlib.Path) -> None:
    user = editor.open(package / "user.py", USER)
    assert editor.codes(user) == []
    helper = editor.open(package / "helper.py", HELPER.format(batch=2))
    editor.becomes(user, "KDA001")
    (found,) = editor.findings(user)
    assert found.related_information is not None
    (origin,) = found.related_information
    assert origin.location.uri == helper
    editor.edit(helper, HELPER.format(batch=1))
    editor.becomes(user)
    editor.edit(helper, HELPER.format(batch=3))
    editor.becomes(user, "KDA001")
    editor.shut(helper)  # without saving
    editor.becomes(user)


def test_what_changes_on_disk_counts(editor: Editor, package: pathlib.Path) -> None:
    user = editor.open(package / "user.py", USER)
    assert editor.codes(user) == []
    helper = package / "helper.py"
    helper.write_text(HELPER.format(batch=2))
    editor.changed_on_disk(helper)
    editor.becomes(user, "KDA001")
    helper.unlink()
    editor.changed_on_disk(helper)
    editor.becomes(user)
    assert "workspace/didChangeWatchedFiles" in editor.watched


def test_a_file_changed_behind_an_editor_that_does_not_watch_is_read_at_the_next_edit(
    editor: Editor, package: pathlib.Path
) -> None:
    user = editor.open(package / "user.py", USER)
    assert editor.codes(user) == []
    (package / "helper.py").write_text(HELPER.format(batch=12))
    editor.edit(user, USER + "\n")
    assert editor.codes(user) == ["KDA001"]


def test_callers_of_wrappers_elsewhere_are_judged_as_in_the_whole_project(
    editor: Editor, package: pathlib.Path
) -> None:
    caller = editor.open(package.parent / "caller.py", CALLER)
    editor.becomes(caller, "KDA001")
    (found,) = editor.findings(caller)
    assert "(via layer)" in found.message
    helper = editor.open(package / "helper.py", "def layer(*arguments):\n    return None\n")
    editor.becomes(caller)
    editor.edit(helper, HELPER.format(batch=1))
    editor.becomes(caller, "KDA001")


def test_settings_count_as_they_are_now(editor: Editor, tmp_path: pathlib.Path, wrong: str) -> None:
    uri = editor.open(tmp_path / "model.py", wrong)
    editor.becomes(uri, "KDA001")
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.kdacheck]\nignore = ["KDA001"]\n')
    editor.changed_on_disk(settings)
    editor.becomes(uri)
    settings.write_text('[tool.kdacheck]\nignore = "KDA001"\n')
    editor.changed_on_disk(settings)
    editor.until(lambda: editor.shown, "the broken settings should be told of")
    assert "must be an array of strings" in editor.shown[0]
    editor.edit(uri, wrong + "\n")
    editor.findings(uri)
    assert len(editor.shown) == 1
    settings.write_text('[tool.kdacheck]\nexclude = ["model.py"]\n')
    editor.changed_on_disk(settings)
    editor.edit(uri, wrong)
    assert editor.codes(uri) == []
    settings.unlink()
    editor.changed_on_disk(settings)
    editor.becomes(uri, "KDA001")


def test_what_a_baseline_knows_is_left_out(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, kdacheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(wrong)
    (tmp_path / "pyproject.toml").write_text('[tool.kdacheck]\nbaseline = "known.json"\n')
    assert kdacheck("--update-baseline").status == 0
    uri = editor.open(tmp_path / "model.py", wrong)
    assert editor.codes(uri) == []
    editor.edit(uri, wrong + wrong.partition("\n\n\n")[2].replace("run", "other"))
    assert [found.range.start.line for found in editor.findings(uri)] == [9]


def test_a_pin_that_changes_changes_the_release(
    editor: Editor, tmp_path: pathlib.Path, wrong: str
) -> None:
    uri = editor.open(tmp_path / "model.py", wrong)
    assert "(fla-core 0.6.0" in editor.findings(uri)[0].message
    (tmp_path / "requirements.txt").write_text("fla-core==0.5.1\n")
    editor.edit(uri, wrong + "\n")
    assert "(fla-core 0.5.1" in editor.findings(uri)[0].message


def test_each_workspace_folder_has_settings_of_its_own(
    start, tmp_path: pathlib.Path, wrong: str
) -> None:
    one, other = tmp_path / "build" / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir(parents=True)
    (other / "venv").mkdir()
    editor = start(one, other)
    # a folder above the workspace may be called as it likes
    assert editor.codes(editor.open(one / "model.py", wrong)) == ["KDA001"]
    assert editor.codes(editor.open(other / "venv" / "model.py", wrong)) == []
    assert editor.codes(editor.open(other / "model.py", wrong)) == ["KDA001"]


def test_a_client_that_can_do_nothing_is_told_all_in_the_message(
    start, tmp_path: pathlib.Path, wrong: str
) -> None:
    editor = start(capabilities=types.ClientCapabilities())
    uri = editor.open(tmp_path / "model.py", wrong)
    (found,) = editor.findings(uri)
    assert found.related_information is None
    assert "origin: `q`: randn made it [2, 128, 8, 64]" in found.message
    assert "help: flatten the batch" in found.message


def test_a_text_that_takes_long_is_called_off_and_keeps_nothing_waiting(
    editor: Editor, tmp_path: pathlib.Path, wrong: str
) -> None:
    body = wrong.partition("def run")[2]
    head = wrong.partition("def run")[0]
    large = head + "".join(f"def run{number}{body}\n\n" for number in range(1500))
    uri = editor.open(tmp_path / "large.py", large)
    time.sleep(0.3)  # let it be in the middle of the work
    for number in range(3):
        editor.edit(uri, large + f"# {number}\n")
    editor.edit(uri, wrong)
    assert editor.codes(uri) == ["KDA001"]
    assert {params.version for params in editor.published if params.uri == uri} == {5}


def test_a_client_that_keeps_no_rules_is_borne_with(
    editor: Editor, tmp_path: pathlib.Path, wrong: str, right: str
) -> None:
    folder = tmp_path / "\xe4 b%20"
    folder.mkdir()
    path = folder / "m\xf6del (1).py"
    editor.open(path, right)
    uri = editor.open(path, wrong)  # once more, without closing
    editor.becomes(uri, "KDA001")
    folder.rmdir()  # the text lives on in the editor
    editor.edit(uri, wrong + "\n")
    assert editor.codes(uri) == ["KDA001"]
    for _ in range(2):
        editor.shut(uri)
    editor.save(uri)
    editor.edit(uri, wrong)
    assert editor.hover(uri, 6, 22) is None
    assert editor.codes(editor.open(path, wrong)) == ["KDA001"]
    assert editor.shown == []


def test_many_findings_take_no_more_than_their_number(
    editor: Editor, tmp_path: pathlib.Path
) -> None:
    call = (
        "def run{n}(g, beta):\n    q = torch.randn(2, 8, 8, 64)\n"
        "    return chunk_kda(q, q, q, g, beta, cu_seqlens=torch.tensor([0, 8, 16]))\n\n"
    )
    text = "import torch\nfrom fla.ops.kda import chunk_kda\n\n" + "".join(
        call.format(n=n) for n in range(150)
    )
    uri = editor.open(tmp_path / "model.py", text)
    assert editor.codes(uri) == ["KDA001"] * 150
