"""What the tests of the server share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.server.editor import Editor


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., Editor]]:
    """Starts an editor with a server in a folder, the test's own by default."""
    started: list[Editor] = []

    def start(*folders: pathlib.Path, **keywords: object) -> Editor:
        editor = Editor(*(folders or (tmp_path,)), **keywords)  # pyright: ignore[reportArgumentType]
        started.append(editor)
        return editor

    yield start
    for editor in started:
        editor.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor whose server lives as long as the tests do."""
    editor = Editor(tmp_path_factory.mktemp("workspace"))
    yield editor
    assert editor.leave() == 0
    assert editor.errors == ""
    editor.close()


@pytest.fixture
def editor(shared: Editor, tmp_path: pathlib.Path) -> Editor:
    """An editor of today in the test's folder; its server may have lived before, and will live on."""
    shared.enter(tmp_path)
    return shared
