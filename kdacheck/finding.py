"""What a checker reports: a broken law, where it stands, where the fact that breaks it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file; row and column count from 1."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The line that gave an argument the property that is wrong."""

    message: str
    filename: str
    location: Position
    end_location: Position


@dataclass(frozen=True, slots=True)
class Edit:
    """The text between two places, end excluded, becomes `content`."""

    content: str
    location: Position
    end_location: Position


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead.

    applicability: "safe" where a right program computes the same, "unsafe" where that is for a person to see.
    message: what the edits do, in the imperative.
    """

    applicability: Literal["safe", "unsafe"]
    message: str
    edits: tuple[Edit, ...]

    def is_on(self, unsafe: bool) -> bool:
        """Whether `--fix` applies it, alone or with `--unsafe-fixes`."""
        return unsafe or self.applicability == "safe"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken law at one place.

    `span` holds the first and last row of the whole call statement: a suppression comment on any of them counts.
    `inner` is the kernel call itself where the finding stands at the call of a wrapper.
    `likely` marks strong evidence that has an innocent reading as well.
    """

    code: str
    name: str
    message: str
    remedy: str
    filename: str
    location: Position
    end_location: Position
    callee: str | None = None
    version: str | None = None
    parameter: str | None = None
    origins: tuple[Origin, ...] = ()
    span: tuple[int, int] | None = None
    inner: tuple[Origin, ...] = ()
    fix: Fix | None = None
    likely: bool = False
