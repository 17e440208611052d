"""The pytest plugin: contracts hold in the tests that run, once `--kdacheck` or its ini option asks for it."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kdacheck.runtime.libraries import Replacement

LEVELS = ("off", "meta", "values", "dry")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kdacheck", "contracts of KDA kernels")
    group.addoption(
        "--kdacheck",
        nargs="?",
        const="meta",
        choices=LEVELS,
        help="check contracts in every call: meta (shape, stride, dtype, device; the default), values (offsets and "
        "indices are read as well), dry (and stand-ins instead of kernels)",
    )
    group.addoption(
        "--kdacheck-coverage",
        action="store_true",
        help="name the contracted call sites that no test reached",
    )
    group.addoption(
        "--kdacheck-lint",
        action="store_true",
        help="lint the Python files that are collected: a test for each, which fails where something is found",
    )
    parser.addini("kdacheck", "the level where --kdacheck is not given", default="off")
    parser.addini(
        "kdacheck_libraries",
        "import names of the libraries whose functions are wrapped; all that are installed by default",
        type="args",
        default=[],
    )
    parser.addini(
        "kdacheck_coverage_paths",
        "files and folders searched for call sites; the root by default",
        type="args",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kdacheck(level): check contracts at another level in this test"
    )
    if config.getoption("--kdacheck-lint"):
        from kdacheck.pytest_lint import Lint

        config.pluginmanager.register(Lint(config), "kdacheck lint")
    level = config.getoption("--kdacheck") or config.getini("kdacheck")
    if level not in LEVELS:
        raise pytest.UsageError(f"kdacheck: no level {level!r}: it is one of {', '.join(LEVELS)}")
    coverage = bool(config.getoption("--kdacheck-coverage"))
    if level == "off":
        if coverage:
            raise pytest.UsageError("--kdacheck-coverage needs --kdacheck")
        return
    config.pluginmanager.register(_Session(config, level, coverage), "kdacheck session")


class _Session:
    """Contracts in force for one run of pytest."""

    def __init__(self, config: pytest.Config, level: str, coverage: bool) -> None:
        from kdacheck.runtime import guard, levels

        self.config = config
        self.level = level
        self.coverage = coverage
        self._guard = guard
        self._process = levels.process
        self._before = levels.process.level
        levels.process.set(levels.number("meta" if level == "dry" else level))
        levels.process.count(True)
        guard.counts.clear()
        guard.sites.clear()
        self._replacement = self._replace()

    def _replace(self) -> Replacement:
        from kdacheck import runtime

        libraries = self.config.getini("kdacheck_libraries")
        try:
            return runtime.dry(*libraries) if self.level == "dry" else runtime.enforce(*libraries)
        except ValueError as error:
            raise pytest.UsageError(f"kdacheck_libraries: {error}") from None

    def pytest_unconfigure(self) -> None:
        self._replacement()
        self._process.set(self._before)
        self._process.count(False)

    def pytest_sessionfinish(self) -> None:
        """What a worker of pytest-xdist has counted goes to the process that tells it."""
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            counts = [(*key, ran.calls, ran.broken) for key, ran in self._guard.counts.items()]
            output["kdacheck"] = counts, list(self._guard.sites)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        counts, sites = getattr(node, "workeroutput", {}).get("kdacheck", ((), ()))
        for path, version, calls, broken in counts:
            ran = self._guard.counts.setdefault((path, version), self._guard.Ran())
            ran.calls += calls
            ran.broken += broken
        self._guard.sites.update(map(tuple, sites))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        marker = item.get_closest_marker("kdacheck")
        if marker is None:
            return (yield)
        from kdacheck.runtime import checking

        if len(marker.args) != 1 or marker.args[0] not in LEVELS[:3]:
            raise pytest.UsageError(
                f"{item.nodeid}: kdacheck() takes one of {', '.join(LEVELS[:3])}"
            )
        with checking(marker.args[0]):
            return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        counts = self._guard.counts
        terminalreporter.section(f"kdacheck ({self.level})")
        if not counts:
            terminalreporter.line("no contracted call was reached")
        for (path, version), ran in sorted(counts.items()):
            release = f" ({version})" if version else ""
            broken = f", {ran.broken} broken" if ran.broken else ""
            times = "1 call" if ran.calls == 1 else f"{ran.calls} calls"
            terminalreporter.line(f"{path}{release}: {times}{broken}")
        if self.coverage:
            self._report_coverage(terminalreporter)

    def _report_coverage(self, terminalreporter: pytest.TerminalReporter) -> None:
        from kdacheck.runtime.sites import call_sites

        root = self.config.rootpath
        chosen = self.config.getini("kdacheck_coverage_paths") or [str(root)]
        reached = {(os.path.realpath(filename), line) for filename, line in self._guard.sites}
        missed = total = 0
        for site in call_sites([root / pathlib.Path(path) for path in chosen]):
            total += 1
            if not any(
                (site.filename, line) in reached for line in range(site.first, site.last + 1)
            ):
                missed += 1
                where = pathlib.Path(site.filename)
                shown = where.relative_to(root) if where.is_relative_to(root) else where
                terminalreporter.line(f"{shown}:{site.first}: {site.path} was not reached")
        terminalreporter.line(f"{total - missed} of {total} contracted call sites reached")
