"""What the change of one file does to what is found in those that follow calls into it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

from kdacheck.config import Configuration
from kdacheck.finding import Finding
from kdacheck.fixes import Fixed, kind
from kdacheck.linter import Candidate, Outcome, Result, check, fix_text
from kdacheck.source import project


class Followers:
    """The files of a result by what they follow, with texts in the place of files that are about to change.

    A fix changes arguments of calls, and no names: whoever did not ask for a file before does not afterwards.
    """

    def __init__(self, result: Result, configuration: Configuration) -> None:
        self._result = result
        self._configuration = configuration
        self._texts: dict[str, bytes] = {}

    def __enter__(self) -> Followers:
        return self

    def __exit__(self, *_: object) -> None:
        project.take_unsaved({})

    def take(self, path: str, data: bytes) -> None:
        """Read a file as it will be, from now on."""
        self._texts[os.path.abspath(path)] = data
        project.take_unsaved(self._texts)

    def fix(self, path: str, data: bytes, findings: list[Finding], *, unsafe: bool) -> Fixed:
        """Fix a file as far as that makes for no finding in another file that was not there."""
        args = path, data, findings, self._configuration, self._result.exports
        done = fix_text(*args, unsafe=unsafe)
        # one look at the end shows in most cases that all was well on the way
        if done.data == data or not self._are_worse(path, data, done.data):
            return done
        return fix_text(*args, unsafe=unsafe, beside=lambda text: self._findings(path, text))

    def changed(self) -> dict[str, list[Finding]]:
        """File -> what is found there now, for those that follow one that was changed."""
        others = {other for path in self._texts for other in self._of(path)}
        outcomes = {path: self._outcome(path) for path in sorted(others)}
        return {path: found.findings for path, found in outcomes.items() if found.error is None}

    def _are_worse(self, path: str, before: bytes, after: bytes) -> bool:
        if not self._of(path):
            return False
        now, known = self._findings(path, after), self._findings(path, before)
        return bool(Counter(map(kind, now)) - Counter(map(kind, known)))

    def _findings(self, path: str, data: bytes) -> list[Finding]:
        """What is found in those that follow a file when it says this, none of it to be fixed."""
        project.take_unsaved({**self._texts, os.path.abspath(path): data})
        try:
            outcomes = list(map(self._outcome, self._of(path)))
        finally:
            project.take_unsaved(self._texts)
        return [replace(finding, fix=None) for each in outcomes for finding in each.findings]

    def _of(self, path: str) -> list[str]:
        path = os.path.abspath(path)
        found = self._result.followers.get(path, ())
        return sorted(other for other in found if os.path.abspath(other) != path)

    def _outcome(self, path: str) -> Outcome:
        settings = self._configuration.of_folder(os.path.dirname(path) or os.curdir)
        data = self._texts.get(os.path.abspath(path))
        if data is None:
            try:
                data = self._result.text_of(path)
            except OSError as error:
                return Outcome([], error.strerror or str(error))
        return check(Candidate(path, data, settings, self._result.exports))
