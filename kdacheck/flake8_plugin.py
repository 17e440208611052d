"""kdacheck as a plugin of flake8: its findings among those of others, under codes that begin with KDA."""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from typing import ClassVar

from kdacheck.finding import Finding


class Plugin:
    """What flake8 makes for each file. The paths it was started with are linted once, as one project."""

    _project: ClassVar[dict[str, list[Finding]]] = {}

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename = filename
        self.lines = lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Lint the project; flake8 calls this before it starts its workers, and again in those that inherit nothing."""
        from kdacheck.config import ConfigError
        from kdacheck.hosts import lint_paths

        cls._project = {}
        paths = [path for path in options.filenames or [os.curdir] if path != "-"]
        is_worker = multiprocessing.current_process().daemon
        try:
            result = lint_paths(paths, jobs=1 if is_worker else None)
        except ConfigError as error:
            from flake8.exceptions import ExecutionError

            raise ExecutionError(f"kdacheck: {error}") from None
        for error in result.errors:
            sys.stderr.write(f"kdacheck: error: {error}\n")
        for finding in result.findings:
            cls._project.setdefault(os.path.abspath(finding.filename), []).append(finding)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """(row from 1, column from 0, code and message, this class) for every finding of the file."""
        path = os.path.abspath(self.filename)
        findings = self._project.get(path, []) if os.path.isfile(path) else self._of_text()
        for finding in findings:
            likely = "(likely) " if finding.likely else ""
            text = f"{finding.code} {likely}{finding.message}"
            yield finding.location.row, finding.location.column - 1, text, type(self)

    def _of_text(self) -> list[Finding]:
        """The findings of standard input, or of a file that is gone."""
        from kdacheck.hosts import configuration, leave_out_known
        from kdacheck.linter import lint_text

        data = "".join(self.lines).encode("utf-8", "surrogatepass")
        result = lint_text(self.filename, data, configuration())
        leave_out_known(result, {self.filename: data})
        return result.findings
