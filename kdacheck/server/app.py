"""The language server: what it answers, and what it does when something changes in the editor."""

from __future__ import annotations

import contextlib
import logging
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from kdacheck.discovery import SUFFIXES
from kdacheck.finding import Finding
from kdacheck.fixes import encoding_of
from kdacheck.server import translate
from kdacheck.server.messages import Changed
from kdacheck.server.positions import Places
from kdacheck.server.state import Open, Server

FIX_ALL = "source.fixAll.kdacheck"

#: Where what is found depends on more than the texts that are open.
WATCHED = (
    "**/*.{py,pyi,pyw}",
    "**/pyproject.toml",
    "**/.gitignore",
    "**/{requirements,constraints}*.{txt,in}",
    "**/{uv.lock,poetry.lock,pdm.lock,pylock.toml}",
)

#: Without the means to fill an action in once it is chosen, this many are filled in when they are offered.
MAX_EAGER = 8


def serve() -> int:
    """Serve on standard input and output; 0 after the client said that it is done."""
    server = Server()
    for method, handler, options in _HANDLERS:
        server.feature(method, options)(handler)
    # what goes wrong is told to the client; for pygls every refused request is a traceback
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(
        logging.ERROR
    )  # it warns of children that died by themselves
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not get between the messages
    server.start_io(stdout=out)
    return 0 if server.protocol._shutdown else 1  # pygls keeps it to itself


# The life of the server


def initialized(server: Server, params: types.InitializedParams) -> None:
    server.spawn(server.worker.start())
    server.spawn(_set_up(server))
    server.look_around_later(0)


def initialize(server: Server, params: types.InitializeParams) -> None:
    server.shows_hints = _wants_hints(params.initialization_options) or False


async def _set_up(server: Server) -> None:
    if server.supports("workspace.did_change_watched_files.dynamic_registration"):
        watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        wanted = types.Registration("kdacheck-files", method, options)
        with contextlib.suppress(JsonRpcException):  # it may say that it can, and refuse
            await server.client_register_capability_async(types.RegistrationParams([wanted]))
    await _ask_for_settings(server)


async def shutdown(server: Server, params: None) -> None:
    await server.close()


# Settings


def _take_settings(server: Server, settings: object) -> None:
    wanted = _wants_hints(settings)
    if wanted is not None and wanted != server.shows_hints:
        server.shows_hints = wanted
        if server.supports("workspace.inlay_hint.refresh_support"):
            server.workspace_inlay_hint_refresh(None)


def _wants_hints(settings: object) -> bool | None:
    """What settings say of inlay hints, by themselves or under the name of kdacheck; None for nothing."""
    if isinstance(settings, Mapping):
        settings = settings.get("kdacheck", settings)
    wanted = settings.get("inlayHints") if isinstance(settings, Mapping) else None
    return wanted if isinstance(wanted, bool) else None


async def _ask_for_settings(server: Server) -> None:
    if server.supports("workspace.configuration"):
        params = types.ConfigurationParams([types.ConfigurationItem(section="kdacheck")])
        with contextlib.suppress(JsonRpcException):
            found = await server.workspace_configuration_async(params)
            _take_settings(server, found[0] if found else None)


async def settings_changed(server: Server, params: types.DidChangeConfigurationParams) -> None:
    _take_settings(server, params.settings)
    await _ask_for_settings(server)


def files_changed(server: Server, params: types.DidChangeWatchedFilesParams) -> None:
    server.check_all()
    server.look_around_later()


def folders_changed(server: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    server.check_all()
    server.look_around_later()


# Texts


def did_open(server: Server, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    scheme = urllib.parse.urlsplit(item.uri).scheme
    path = uris.to_fs_path(item.uri) if scheme == "file" else None
    if path is None and scheme != "untitled":
        return  # a cell of a notebook, an old revision: not a whole text that is being written
    if item.language_id != "python" and not (path or "").endswith(SUFFIXES):
        return
    if path is None:
        folders = [uris.to_fs_path(uri) or "" for uri in server.workspace.folders]
        name = urllib.parse.unquote(item.uri.partition(":")[2]).rsplit("/", 1)[-1]
        path = os.path.join(folders[0] if folders else os.getcwd(), f"{name or 'untitled'}.py")
    path = os.path.abspath(path)
    document = Open(item.uri, path, item.version, item.text, is_file=scheme == "file")
    server.open[item.uri] = document
    server.edited(document)


def did_change(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    document = server.open.get(params.text_document.uri)
    if document is None:
        return
    text = server.workspace.get_text_document(document.uri).source
    document.take(params.text_document.version, text)
    server.edited(document)


def did_save(server: Server, params: types.DidSaveTextDocumentParams) -> None:
    server.look_around_later()


def did_close(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    document = server.open.pop(params.text_document.uri, None)
    if document is None:
        return
    document.call_off()
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, []))
    # what was not saved is gone, and the file counts again
    server.check_later(server.open.values())


# Actions


async def code_actions(
    server: Server, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    document = server.open.get(params.text_document.uri)
    if document is None or not await server.is_checked(document):
        return None
    only = params.context.only
    places = server.places_of(document)
    related = server.supports("text_document.publish_diagnostics.related_information")
    actions: list[types.CodeAction] = []
    for finding in document.result.findings:
        shown = translate.diagnostic(finding, places, server.look_up, related)
        if _is_asked(types.CodeActionKind.QuickFix, only) and translate.overlap(
            shown.range, params.range
        ):
            actions += _quick_fixes(document, finding, shown)
    fixable = any(f.fix is not None and f.fix.is_on(False) for f in document.result.findings)
    if fixable and _is_asked(FIX_ALL, only):
        title = "Fix what is safe to fix in this file (kdacheck)"
        action = types.CodeAction(title, FIX_ALL, data=_data(document, "fix_all"))
        actions.append(action)
    if not server.supports("text_document.code_action.resolve_support"):
        actions = actions[:MAX_EAGER]
        for action in actions:
            await _fill_in(server, document, action)
        actions = [action for action in actions if action.edit is not None]
    return actions


def _is_asked(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    return not only or any(
        kind == asked or kind.startswith(f"{asked}.") for asked in map(str, only)
    )


def _quick_fixes(
    document: Open, finding: Finding, shown: types.Diagnostic
) -> list[types.CodeAction]:
    place = finding.code, finding.location.row, finding.location.column
    found = []
    if finding.fix is not None:
        safe = finding.fix.is_on(False)
        found.append(
            types.CodeAction(
                f"{finding.fix.message}{'' if safe else ' (unsafe: look at the result)'}",
                types.CodeActionKind.QuickFix,
                [shown],
                is_preferred=safe,
                data=_data(document, "fix", *place),
            )
        )
    if translate.can_be_suppressed(finding):
        found.append(
            types.CodeAction(
                f"Allow {finding.name} here (# kdacheck: ignore[{finding.code}])",
                types.CodeActionKind.QuickFix,
                [shown],
                data=_data(document, "suppress", *place),
            )
        )
    return found


def _data(document: Open, job: str, *arguments: object) -> dict[str, Any]:
    return {
        "uri": document.uri,
        "version": document.version,
        "job": job,
        "arguments": list(arguments),
    }


async def fill_in_action(server: Server, action: types.CodeAction) -> types.CodeAction:
    data = action.data if isinstance(action.data, Mapping) else {}
    document = server.open.get(data.get("uri", ""))
    if document is None or document.version != data.get("version"):
        raise JsonRpcContentModified("the text has changed")
    refused = await _fill_in(server, document, action)
    if refused:
        server.show(f"{action.title}: {refused}")
    return action


async def _fill_in(server: Server, document: Open, action: types.CodeAction) -> str:
    """Give an action its edits; why it has none, else ""."""
    data: dict[str, Any] = action.data  # pyright: ignore[reportAssignmentType]
    version = document.version
    encoding = encoding_of(document.data)
    if encoding is None or document.data.decode(encoding) != document.text:
        return "the text cannot be written in its encoding"
    changed: Changed | None = await server.ask(document, data["job"], *data["arguments"])
    if changed is None or document.version != version:
        return "the text has changed"
    if changed.refused:
        return f"not applied: {changed.refused}"
    edits = translate.edits(server.places_of(document), changed.data.decode(encoding))
    if not server.supports("workspace.workspace_edit.document_changes"):
        action.edit = types.WorkspaceEdit({document.uri: edits})
        return ""
    identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, version)
    action.edit = types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(identifier, list(edits))]
    )
    return ""


# What is known


async def hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    document = server.open.get(params.text_document.uri)
    if document is None:
        return None
    places: Places = server.places_of(document)
    at = places.position(params.position)
    told = await server.ask(document, "calls", at)
    formats = server.client_capabilities.text_document
    wanted = formats.hover.content_format if formats and formats.hover else None
    return translate.hover(told or (), at, places, types.MarkupKind.Markdown in (wanted or ()))


async def inlay_hints(
    server: Server, params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    document = server.open.get(params.text_document.uri)
    if document is None or not server.shows_hints:
        return None
    places = server.places_of(document)
    told = await server.ask(document, "calls", None)
    return list(translate.hints(told or (), places, params.range))


_HANDLERS: tuple[tuple[str, Any, Any], ...] = (
    (types.INITIALIZE, initialize, None),
    (types.INITIALIZED, initialized, None),
    (types.SHUTDOWN, shutdown, None),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, settings_changed, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files_changed, None),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, folders_changed, None),
    (types.TEXT_DOCUMENT_DID_OPEN, did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, did_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, did_save, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, did_close, None),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        code_actions,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True),
    ),
    (types.CODE_ACTION_RESOLVE, fill_in_action, None),
    (types.TEXT_DOCUMENT_HOVER, hover, None),
    (types.TEXT_DOCUMENT_INLAY_HINT, inlay_hints, None),
)
