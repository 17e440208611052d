"""The worker processes, seen from the server: jobs go in, results come out, none blocks the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from typing import Any

from kdacheck.server.worker import CANCEL, HEADER, packed

#: How long a job that is called off may take to end before its process is ended.
GRACE_SECONDS = 2.0


class SettingsError(Exception):
    """The settings cannot be used; the message is for the user."""


class FailedError(Exception):
    """A job went wrong inside, or its process died."""


class Worker:
    """A process that does one job at a time, started when it is first needed and again when it has died.

    A task that waits for a job and is cancelled calls the job off.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._number = 0
        self._closed = False

    async def ask(self, job: str, *arguments: object) -> Any:
        """What a function of `jobs` returns. Raises SettingsError and FailedError."""
        async with self._turn:
            process = await self._started()
            self._number += 1
            number = self._number
            reply = asyncio.ensure_future(self._exchange(process, (number, job, arguments)))
            try:
                kind, result = await asyncio.shield(reply)
            except asyncio.CancelledError:
                await self._call_off(process, number, reply)
                raise
        if kind == "settings":
            raise SettingsError(result)
        if kind != "done":
            raise FailedError(result)
        return result

    async def start(self) -> None:
        """Start the process before it is needed."""
        async with self._turn:
            await self._started()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._closed:
            raise FailedError("the server is shutting down")
        if self._process is None or self._process.returncode is not None:
            import kdacheck

            package = os.path.dirname(os.path.dirname(os.path.abspath(kdacheck.__file__)))
            before = os.environ.get("PYTHONPATH")
            path = package if not before else os.pathsep.join((package, before))
            # -P: modules of the project that is checked must not stand for Python's own
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-c", "from kdacheck.server.worker import main; main()"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
        return self._process

    async def _exchange(
        self, process: asyncio.subprocess.Process, message: tuple[int, str, object]
    ) -> tuple[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(packed(message))
            await process.stdin.drain()
            (size,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
            _, kind, result = pickle.loads(await process.stdout.readexactly(size))
        except (OSError, asyncio.IncompleteReadError):
            await self._end(process)
            return "failed", "the process that analysed the text has ended"
        return kind, result

    async def _call_off(
        self, process: asyncio.subprocess.Process, number: int, reply: asyncio.Future[Any]
    ) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.write(packed((number, CANCEL, ())))
        done, _ = await asyncio.wait((reply,), timeout=GRACE_SECONDS)
        if not done:
            await self._end(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def close(self) -> None:
        """End the process; nothing is done any more."""
        self._closed = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()  # which it takes for the end
        try:
            await asyncio.wait_for(process.wait(), GRACE_SECONDS)
        except TimeoutError:
            await self._end(process)
