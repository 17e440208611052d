"""An editor, as far as a test needs one: pygls' client around a server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = pathlib.Path(__file__).parents[2]

#: What a client of today can do.
MODERN = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True
        ),
        workspace_folders=True,
        configuration=True,
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            related_information=True, version_support=True
        ),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(["edit"]), data_support=True
        ),
    ),
)


class Editor:
    """Drives a server from a thread of its own. Every wait ends with an error after `patience` seconds."""

    patience = 60.0

    def __init__(
        self,
        *folders: pathlib.Path,
        capabilities: types.ClientCapabilities = MODERN,
        options: Any = None,
    ) -> None:
        self.published: list[types.PublishDiagnosticsParams] = []
        self.arrived: list[float] = []
        self.shown: list[str] = []
        self.logged: list[str] = []
        self.watched: list[str] = []
        self.refreshed = 0
        self.settings: Any = None
        self.errors = ""
        self._folders = folders
        self._versions: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.client = self._client()
        self._do(self._start(folders, capabilities, options))

    def _client(self) -> LanguageClient:
        client = LanguageClient("editor", "1")

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.arrived.append(time.perf_counter())
            self.published.append(params)

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.shown.append(params.message)

        @client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.watched += [registration.method for registration in params.registrations]

        @client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings for _ in params.items]

        @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(params: None) -> None:
            self.refreshed += 1

        return client

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(self.patience)

    async def _start(
        self,
        folders: tuple[pathlib.Path, ...],
        capabilities: types.ClientCapabilities,
        options: Any,
    ) -> None:
        cwd = folders[0] if folders else None
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await self.client.start_io(
            sys.executable, "-P", "-m", "kdacheck", "server", cwd=cwd, env=environment
        )
        self.process = self.client._server
        assert self.process is not None
        self._errors = asyncio.ensure_future(self.process.stderr.read())  # pyright: ignore[reportOptionalMemberAccess]
        self.initialized = await self.client.initialize_async(
            types.InitializeParams(
                capabilities=capabilities,
                process_id=os.getpid(),
                initialization_options=options,
                workspace_folders=[
                    types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders
                ],
            )
        )
        self.client.initialized(types.InitializedParams())

    def leave(self) -> int:
        """Say goodbye as the protocol has it; the exit status of the server."""

        async def leave() -> int:
            await self.client.shutdown_async(None)
            self.client.exit(None)
            return await self._end()

        return self._do(leave())

    def hang_up(self) -> int:
        """Close the server's input without a word, as an editor that crashes does."""

        async def hang_up() -> int:
            assert self.process is not None
            assert self.process.stdin is not None
            self.process.stdin.close()
            return await self._end()

        return self._do(hang_up())

    async def _end(self) -> int:
        assert self.process is not None
        status = await self.process.wait()
        self.errors = (await self._errors).decode()
        await self.client.stop()
        return status

    def close(self) -> None:
        """Drop everything, whatever state it is in."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def enter(self, folder: pathlib.Path) -> None:
        """Close every text and go to another folder, as nothing had been before."""
        for uri in self._versions:
            self.shut(uri)
        event = types.WorkspaceFoldersChangeEvent(
            added=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
            removed=[types.WorkspaceFolder(old.as_uri(), old.name) for old in self._folders],
        )
        params = types.DidChangeWorkspaceFoldersParams(event)
        self._notify(self.client.workspace_did_change_workspace_folders, params)
        if self.settings is not None:
            self.set({"inlayHints": False})
        self.hover(folder.as_uri(), 0, 0)  # answered once all of this was taken in
        self._folders = (folder,)
        self._versions.clear()
        self.settings, self.refreshed = None, 0
        for heard in (self.published, self.arrived, self.shown, self.logged):
            heard.clear()

    # Texts

    def open(self, where: pathlib.Path | str, text: str, language: str = "python") -> str:
        uri = where if isinstance(where, str) else where.as_uri()
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self._notify(self.client.text_document_did_open, types.DidOpenTextDocumentParams(item))
        return uri

    def edit(self, uri: str, text: str) -> int:
        """Replace the text; its new version."""
        version = self._versions[uri] = self._versions[uri] + 1
        params = types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(uri=uri, version=version),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
        self._notify(self.client.text_document_did_change, params)
        return version

    def save(self, uri: str) -> None:
        params = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri))
        self._notify(self.client.text_document_did_save, params)

    def shut(self, uri: str) -> None:
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        self._notify(self.client.text_document_did_close, params)

    def changed_on_disk(self, *paths: pathlib.Path) -> None:
        kind = types.FileChangeType.Changed
        params = types.DidChangeWatchedFilesParams(
            [types.FileEvent(path.as_uri(), kind) for path in paths]
        )
        self._notify(self.client.workspace_did_change_watched_files, params)

    def set(self, settings: Any) -> None:
        self.settings = settings
        params = types.DidChangeConfigurationParams(None)
        self._notify(self.client.workspace_did_change_configuration, params)

    def _notify(self, method: Callable[[Any], None], params: Any) -> None:
        async def notify() -> None:
            method(params)

        self._do(notify())

    # Answers

    def until(self, wanted: Callable[[], Any], why: str) -> Any:
        """Wait until something is as it should be."""
        deadline = time.monotonic() + self.patience
        while not (found := wanted()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{why}; shown: {self.shown}, logged: {self.logged}")
            time.sleep(0.005)
        return found

    def findings(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """What the server says of a version of a text, by default of the last, once it has said it."""
        wanted = self._versions[uri] if version is None else version

        def last() -> list[types.PublishDiagnosticsParams]:
            return [p for p in self.published if p.uri == uri and p.version == wanted][-1:]

        return list(self.until(last, f"nothing was said of {uri}")[0].diagnostics)

    def codes(self, uri: str) -> list[str]:
        return [str(found.code) for found in self.findings(uri)]

    def becomes(self, uri: str, *codes: str) -> None:
        """Wait until the last word on a text is these codes."""

        def is_so() -> bool:
            said = [p for p in self.published if p.uri == uri]
            return bool(said) and [str(d.code) for d in said[-1].diagnostics] == list(codes)

        self.until(is_so, f"{uri} should have {codes}: {self.published[-1:]}")

    def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        params = types.HoverParams(
            types.TextDocumentIdentifier(uri), types.Position(line, character)
        )
        return self._do(self.client.text_document_hover_async(params))

    def hints(self, uri: str) -> list[types.InlayHint]:
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        return list(self._do(self.client.text_document_inlay_hint_async(params)) or ())

    def actions(
        self, uri: str, place: types.Range, only: list[str] | None = None
    ) -> list[types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), place, types.CodeActionContext([], only)
        )
        return list(self._do(self.client.text_document_code_action_async(params)) or ())

    def resolve(self, action: types.CodeAction) -> types.CodeAction:
        return self._do(self.client.code_action_resolve_async(action))
