"""What happens when a check itself fails: a call is not lost for that, and a test is."""

from __future__ import annotations

import contextlib
import logging
import os
import traceback
from collections.abc import Callable
from typing import Any

from kdacheck.runtime.levels import VALUES

_log = logging.getLogger("kdacheck")


class Faults:
    """The failures of the check of one function.

    at_start: the guard could not be made, so that there is nothing to check with.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._logged = False
        self.at_start = False

    def met(self, level: int, *, at_start: bool) -> None:
        """Raise the exception being handled where faults are looked for, else log the first one.

        They are looked for at `values` and under pytest, which sets its variable since 8.2.
        """
        if level & VALUES or "PYTEST_VERSION" in os.environ:
            raise
        self.at_start = self.at_start or at_start
        if self._logged:
            return
        # telling of it may fail as well, where the stack is full, say
        with contextlib.suppress(Exception):
            name = getattr(self._function, "__qualname__", repr(self._function))
            # as text: a record with the exception would keep the arguments alive wherever records are kept
            text = traceback.format_exc()
            self._logged = True
            _log.error(
                "kdacheck failed to check a call of `%s`, which went through unchecked, as will others that it fails on;"
                " please report it:\n%s",
                name,
                text,
            )
