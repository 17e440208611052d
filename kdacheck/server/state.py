"""What the server knows: what is open, what was found in it, and when to look again."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from kdacheck.linter import Result
from kdacheck.server import translate
from kdacheck.server.messages import Text, encoded
from kdacheck.server.positions import Places
from kdacheck.server.workers import FailedError, SettingsError, Worker
from kdacheck.version import VERSION

#: How long the server waits for a further edit before it looks at a text.
DEBOUNCE_SECONDS = 0.02

#: The same for texts that only depend on the one that is edited, and for a look at the whole folder.
LATER_SECONDS = 0.5

#: A look at a whole folder that takes longer is given up.
AROUND_SECONDS = 300.0


@dataclass(eq=False)
class Open:
    """A text in the editor. `result` is what was found in it last, in the version `checked`."""

    uri: str
    path: str
    version: int
    text: str
    is_file: bool
    result: Result = field(default_factory=Result)
    checked: int | None = None
    task: asyncio.Task[None] | None = None
    asked: set[asyncio.Future[Any]] = field(default_factory=set)

    @functools.cached_property
    def data(self) -> bytes:
        return encoded(self.text)

    def take(self, version: int, text: str) -> None:
        """Another version of the text."""
        self.version, self.text = version, text
        self.__dict__.pop("data", None)

    def call_off(self) -> None:
        """Whatever is under way for the text as it was is no longer wanted."""
        for pending in (self.task, *self.asked):
            if pending is not None:
                pending.cancel()


class Server(LanguageServer):
    """kdacheck as a language server."""

    def __init__(self) -> None:
        # of pygls' two ways, the one that does not count lines: it counts a form feed as the end of one
        super().__init__(
            "kdacheck", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full
        )
        self.open: dict[str, Open] = {}
        self.around: dict[str, Result] = {}
        self.shows_hints = False
        self.worker = Worker()
        self.due: dict[str, None] = {}
        self.sweep: asyncio.Task[None] | None = None
        self.look: asyncio.Task[None] | None = None
        self.told_of_settings = ""
        self.tasks: set[asyncio.Task[None]] = set()

    # What is open, and around it

    def root_of(self, path: str) -> str:
        """The workspace folder a path lies in, else its own folder."""
        best = ""
        for uri in self.workspace.folders:
            folder = uris.to_fs_path(uri) or ""
            if (path + os.sep).startswith(folder.rstrip(os.sep) + os.sep) and len(folder) > len(
                best
            ):
                best = folder
        best = best or os.path.dirname(path)
        while not os.path.isdir(best) and os.path.dirname(best) != best:
            best = os.path.dirname(best)
        return best

    def text_of(self, document: Open) -> Text:
        root = self.root_of(document.path)
        others = [other for other in self.open.values() if other is not document and other.is_file]
        around = self.around.get(root) or Result()
        exports = around.exports.union(*(other.result.exports for other in others))
        opened = {other.path for other in others}
        findings = [finding for finding in around.findings if finding.filename not in opened]
        for other in others:
            findings += other.result.findings
        return Text(
            path=document.path,
            data=document.data,
            root=root,
            unsaved={other.path: other.data for other in others},
            around=Result(findings=findings, exports=exports),
        )

    def places_of(self, document: Open) -> Places:
        return Places(document.text, self.workspace.position_encoding)

    def look_up(self, path: str) -> tuple[str, Places] | None:
        """The URI of a file and its places, by what the editor holds of it where that is more than the disk."""
        for document in self.open.values():
            if document.path == path:
                return document.uri, self.places_of(document)
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as file:
                text = file.read()
        except OSError:
            return None
        return uris.from_fs_path(path) or "", Places(text, self.workspace.position_encoding)

    # When to look

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def edited(self, document: Open) -> None:
        """Look at a text that is new in a moment; whatever is under way for the old one is called off."""
        document.call_off()
        document.task = self.spawn(self._check_edited(document))
        if self.sweep is not None and not self.sweep.done():
            self.sweep.cancel()
            self.sweep = self.spawn(self._sweep(LATER_SECONDS))

    async def _check_edited(self, document: Open) -> None:
        await asyncio.sleep(DEBOUNCE_SECONDS)
        if await self._check(document):
            others = (other for other in self.open.values() if other is not document)
            self.check_later(other for other in others if document.path in other.result.followed)

    def check_later(self, documents: Iterable[Open], delay: float = LATER_SECONDS) -> None:
        """Look again at texts around which something changed, one after another, behind all that is edited."""
        self.due.update(dict.fromkeys(document.uri for document in documents))
        if self.due and (self.sweep is None or self.sweep.done()):
            self.sweep = self.spawn(self._sweep(delay))

    def check_all(self) -> None:
        """Look again at every text, for settings and files that changed."""
        self.check_later(self.open.values(), DEBOUNCE_SECONDS)

    async def _sweep(self, delay: float) -> None:
        await asyncio.sleep(delay)
        while self.due:
            uri = next(iter(self.due))
            if uri in self.open:
                await self._check(self.open[uri])
            self.due.pop(uri, None)

    async def _check(self, document: Open) -> bool:
        """Look at a text and tell the client; False where the text is another by now."""
        version = document.version
        try:
            result: Result = await self.worker.ask("check", self.text_of(document))
            self.told_of_settings = ""
        except SettingsError as error:
            result = Result()
            self.tell_of_settings(str(error))
        except FailedError as error:
            result = Result()
            self.log(f"{document.path}: {error}")
        if self.open.get(document.uri) is not document or document.version != version:
            return False
        before, document.result, document.checked = document.result, result, version
        for error in result.errors:
            self.log(error)
        self._publish(document)
        if result.exports != before.exports:
            self.check_later(other for other in self.open.values() if other is not document)
        return True

    async def is_checked(self, document: Open) -> bool:
        """Wait until what was found is of the text as it is; False where that does not come to pass."""
        if document.task is not None and document.checked != document.version:
            await asyncio.wait((document.task,))
        return document.checked == document.version

    def _publish(self, document: Open) -> None:
        places = self.places_of(document)
        related = self.supports("text_document.publish_diagnostics.related_information")
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri,
                version=document.checked,
                diagnostics=[
                    translate.diagnostic(finding, places, self.look_up, related)
                    for finding in document.result.findings
                ],
            )
        )

    def look_around_later(self, delay: float = LATER_SECONDS) -> None:
        """Look at the workspace folders after a while, for what their files hand on to others."""
        if self.look is not None:
            self.look.cancel()
        self.look = self.spawn(self._look_around(delay))

    async def _look_around(self, delay: float) -> None:
        await asyncio.sleep(delay)
        folders = [uris.to_fs_path(uri) or "" for uri in self.workspace.folders]
        self.around = {root: found for root, found in self.around.items() if root in folders}
        worker = Worker()
        try:
            for root in filter(os.path.isdir, folders):
                with contextlib.suppress(SettingsError, FailedError, TimeoutError):
                    found = await asyncio.wait_for(worker.ask("look_around", root), AROUND_SECONDS)
                    if found != self.around.get(root):
                        self.around[root] = found
                        self.check_later(self.open.values())
        finally:
            await worker.close()

    # What the client is asked and told

    async def ask(self, document: Open, job: str, *arguments: object) -> Any:
        """What a job says of a text, None where the text was edited meanwhile or nothing can be said."""
        asked = asyncio.ensure_future(self.worker.ask(job, self.text_of(document), *arguments))
        document.asked.add(asked)
        try:
            return await asked
        except (SettingsError, FailedError) as error:
            self.log(f"{document.path}: {error}")
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return None
        finally:
            document.asked.discard(asked)

    def supports(self, capability: str) -> bool:
        """Whether the client says that it can do something."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def report_server_error(self, error: Exception, source: object) -> None:
        """Note what a client did against the protocol; pygls would put it before the user."""
        self.log(f"{type(error).__name__}: {error}")

    def log(self, message: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))

    def show(self, message: str) -> None:
        self.window_show_message(
            types.ShowMessageParams(types.MessageType.Error, f"kdacheck: {message}")
        )

    def tell_of_settings(self, message: str) -> None:
        """Show what is wrong with the settings, once for as long as it is."""
        if message != self.told_of_settings:
            self.told_of_settings = message
            self.show(message)

    async def close(self) -> None:
        """Call off everything, and end the process that works."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.worker.close()
