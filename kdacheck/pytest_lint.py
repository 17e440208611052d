"""`pytest --kdacheck-lint`: one more test for each Python file that is collected, which fails where kdacheck finds something."""

from __future__ import annotations

import io
import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kdacheck.discovery import SUFFIXES

if TYPE_CHECKING:
    from kdacheck.finding import Finding

MARKER = "kdacheck_lint"


class Lint:
    """Collects an item for each Python file. The whole root is linted, once, when the first of them runs."""

    def __init__(self, config: pytest.Config) -> None:
        from kdacheck.config import ConfigError
        from kdacheck.hosts import configuration

        config.addinivalue_line("markers", f"{MARKER}: a file that --kdacheck-lint checks")
        self._root = config.rootpath
        self._plugins = config.pluginmanager
        self._files: list[str] = []
        self._found: dict[str, list[Finding]] | None = None
        self._failed: dict[str, str] = {}
        try:
            self._configuration = configuration()
            self._configuration.of_folder(str(self._root))
        except ConfigError as error:
            raise pytest.UsageError(f"kdacheck: {error}") from None

    def pytest_collect_file(
        self, file_path: pathlib.Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        if not file_path.name.endswith(SUFFIXES):
            return None
        settings = self._configuration.of_folder(str(file_path.parent))
        if settings.excludes(str(file_path)):
            return None
        self._files.append(str(file_path))
        return _File.from_parent(parent, path=file_path, lint=self)

    def findings(self, path: pathlib.Path) -> list[Finding]:
        """What is found in a file, as among all files of the root. Raises _LintError where that cannot be told."""
        if self._found is None:
            self._lint()
        assert self._found is not None
        if str(path) in self._failed:
            raise _LintError(self._failed[str(path)])
        return self._found.get(str(path), [])

    def _lint(self) -> None:
        from kdacheck.config import ConfigError
        from kdacheck.hosts import lint_paths

        self._found = {}
        outside = [
            path for path in self._files if not pathlib.Path(path).is_relative_to(self._root)
        ]
        try:
            result = lint_paths([str(self._root), *outside])
        except ConfigError as error:
            self._failed = dict.fromkeys(self._files, str(error))
            return
        for finding in result.findings:
            self._found.setdefault(os.path.abspath(finding.filename), []).append(finding)
        for error in result.errors:
            path = error.partition(": ")[0]
            if path not in self._found:
                self._failed[os.path.abspath(path)] = error

    def text(self, findings: list[Finding]) -> str:
        """Findings as the format `full` shows them."""
        from kdacheck.report import Run, write

        stream = io.StringIO()
        terminal = self._plugins.get_plugin("terminalreporter")  # workers of xdist have none
        write("full", findings, stream, Run(colour=bool(terminal and terminal.hasmarkup)))
        return stream.getvalue().rstrip()


class _LintError(Exception):
    """A file that is not clean; the message is all there is to show."""


class _File(pytest.File):
    def __init__(self, *, lint: Lint, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._lint = lint

    def collect(self) -> Iterator[pytest.Item]:
        yield _Item.from_parent(self, name="kdacheck", lint=self._lint)


class _Item(pytest.Item):
    def __init__(self, *, lint: Lint, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._lint = lint
        self.add_marker(MARKER)

    def runtest(self) -> None:
        findings = self._lint.findings(self.path)
        if findings:
            raise _LintError(self._lint.text(findings))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, _LintError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int | None, str]:
        return self.path, None, "kdacheck"
