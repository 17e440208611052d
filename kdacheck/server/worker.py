"""The process that does the jobs of the server, and can be called off in the middle of one."""

from __future__ import annotations

import _thread
import gc
import itertools
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from typing import Any, BinaryIO

HEADER = struct.Struct("!Q")

#: Instead of a job: the one of this number is no longer wanted.
CANCEL = "cancel"

#: Of the collections of garbage after a job, every so many is one of everything.
FULL_COLLECTION = 32


def read(stream: BinaryIO) -> Any:
    """The next message. Raises EOFError where there is none."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError
    (size,) = HEADER.unpack(header)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def packed(message: object) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(data)) + data


class _Inbox:
    """Takes messages off the input while a job runs."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._jobs: queue.SimpleQueue[tuple[int, str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._current = 0
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                number, name, arguments = read(self._stream)
            except (EOFError, OSError):
                os._exit(0)  # the server has gone, and nobody is left to work for
            if name != CANCEL:
                self._jobs.put((number, name, arguments))
                continue
            with self._lock:
                if number == self._current:
                    _thread.interrupt_main()

    def next(self) -> tuple[int, str, tuple[Any, ...]]:
        job = self._jobs.get()
        with self._lock:
            self._current = job[0]
        return job

    def is_empty(self) -> bool:
        return self._jobs.empty()

    def done(self) -> None:
        with self._lock:
            self._current = 0


def main() -> None:
    """Do jobs until the input ends."""
    signal.signal(signal.SIGINT, _ignore)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not get between the messages
    inbox = _Inbox(sys.stdin.buffer)
    from kdacheck.server import jobs

    gc.freeze()
    # syntax trees are large and live until their file is done; what they leave goes while nobody waits
    gc.disable()
    for turn in itertools.count(1):
        number, name, arguments = inbox.next()
        reply: tuple[str, Any] = ("cancelled", None)
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                reply = _perform(getattr(jobs, name), arguments)
            finally:
                signal.signal(signal.SIGINT, _ignore)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, _ignore)
        inbox.done()
        out.write(packed((number, *reply)))
        out.flush()
        if inbox.is_empty():
            gc.collect(2 if turn % FULL_COLLECTION == 0 else 0)


def _perform(job: Any, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    from kdacheck.config import ConfigError

    try:
        return "done", job(*arguments)
    except ConfigError as error:
        return "settings", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _ignore(number: int, frame: object) -> None:
    pass
