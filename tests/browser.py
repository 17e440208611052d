"""A headless Chromium for tests, driven by the DevTools protocol over a pipe: nothing but the browser is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 30.0


def executable() -> str | None:
    """The Chromium of this machine, None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


class NavigatedError(AssertionError):
    """The page was left for another while it was asked."""


class Page:
    """One page: what it asked for, what went wrong on it, and what it shows.

    requests: the addresses asked for. problems: failed requests, exceptions and errors on the console.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._browser = browser
        self._session = session
        self._loaded = 0
        self._started: dict[str, str] = {}

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, its result."""
        return self._browser.call(method, self._session, **parameters)

    def open(self, address: str) -> None:
        """Go to an address; returns when all that it asks for at first is there."""
        before = self._loaded
        self.call("Page.navigate", url=address)
        self._browser.listen(lambda: self._loaded > before, f"{address} did not load")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, of a promise what it resolves to."""
        got = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in got:
            raise AssertionError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Return as soon as an expression is true, as JavaScript has it."""
        end = time.monotonic() + PATIENCE
        while not self._is_true(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def _is_true(self, expression: str) -> bool:
        try:
            return self.evaluate(f"Boolean({expression})")
        except NavigatedError:
            return False

    def click(self, expression: str) -> None:
        """Click on the element that an expression gives; where that leads is waited for by `wait_for`."""
        self.evaluate(f"setTimeout(element => element.click(), 0, {expression}), 0")

    def type(self, selector: str, text: str) -> None:
        """Put the cursor into a field, and type."""
        self.evaluate(f"document.querySelector({selector!r}).focus()")
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of that many pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path: pathlib.Path) -> None:
        """What a person sees now, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def happened(self, method: str, event: dict[str, Any]) -> None:
        match method:
            case "Page.loadEventFired":
                self._loaded += 1
            case "Network.requestWillBeSent":
                address: str = event["request"]["url"]
                self._started[event["requestId"]] = address
                if not address.startswith("data:"):
                    self.requests.append(address)
            case "Network.loadingFailed" if not event.get("canceled"):
                address = self._started.get(event["requestId"], "?")
                self.problems.append(f"{address}: {event['errorText']}")
            case "Network.responseReceived" if event["response"]["status"] >= 400:
                self.problems.append(f"{event['response']['url']}: {event['response']['status']}")
            case "Runtime.exceptionThrown":
                self.problems.append(str(event["exceptionDetails"]))
            case "Log.entryAdded" if event["entry"]["level"] == "error":
                self.problems.append(event["entry"]["text"])
            case _:
                pass


class Browser:
    """A running Chromium with one page."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._count = 0
        self._results: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.page.call(f"{domain}.enable")

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        self.listen(lambda: number in self._results, f"no answer to {method}")
        answer = self._results.pop(number)
        error = answer.get("error")
        if error is not None and "navigated" in error["message"]:
            raise NavigatedError(f"{method}: {error}")
        assert error is None, f"{method}: {error}"
        return answer["result"]

    def listen(self, until: Callable[[], bool], otherwise: str) -> None:
        """Take what the browser says until something holds."""
        end = time.monotonic() + PATIENCE
        while not until():
            ready, _, _ = select.select([self._answers], [], [], max(0, end - time.monotonic()))
            assert ready, otherwise
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser ended"
            *messages, self._buffer = (self._buffer + read).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._results[message["id"]] = message
                elif page := self._pages.get(message.get("sessionId", "")):
                    page.happened(message["method"], message["params"])


@contextmanager
def browser(command: str, profile: pathlib.Path) -> Iterator[Browser]:
    """A browser with a new profile in that folder, ended afterwards."""
    theirs_in, commands = os.pipe()
    answers, theirs_out = os.pipe()
    # the protocol's descriptors are 3 and 4: ours stay out of their way
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]
    script = f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}'
    arguments = [*FLAGS, f"--user-data-dir={profile}", "--window-size=1280,900"]
    process = subprocess.Popen(
        ["bash", "-c", script, command, *arguments],
        pass_fds=high,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for fd in (theirs_in, theirs_out, *high):
        os.close(fd)
    try:
        running = Browser(commands, answers)
        yield running
        running.call("Browser.close")
    finally:
        os.close(commands)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
