"""What the analysis of one file shares, however many modules of the project it follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from kdacheck.conventions import NONE, Conventions
from kdacheck.source import limits
from kdacheck.source.boundaries import Wiring
from kdacheck.source.frames import BUDGET, Frame
from kdacheck.source.module import Definition, Module
from kdacheck.source.state import Sizes

if TYPE_CHECKING:
    from kdacheck.source.interpreter import Interpreter
    from kdacheck.source.judge import Found, Scene
    from kdacheck.source.project import Project


@dataclass(eq=False)
class Run:
    """Attributes: sizes of unknown objects, the functions being followed (`chain`: the calls that led there, with
    the module each stands in), what was found, the calls that were judged (`scenes`),
    what names and docstrings mean, and how far the budget goes.
    """

    sizes: Sizes = field(default_factory=Sizes)
    frames: list[Frame] = field(default_factory=list)
    chain: list[tuple[cst.CSTNode, str, Module]] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    wiring: Wiring = field(default_factory=Wiring)
    silence: int = 0
    #: Loops of which the first round is interpreted; calls that were told of there, and whether others were put off.
    first_rounds: int = 0
    told: set[tuple[cst.CSTNode, ...]] = field(default_factory=set)
    put_off: bool = False
    steps: int = 0
    limit: int = BUDGET
    serial: int = 0
    interpreters: dict[Module, Interpreter] = field(default_factory=dict)
    project: Project | None = None
    conventions: Conventions = NONE
    #: Functions that led to the judging of a contracted call when they were interpreted on their own.
    reached: set[Definition] = field(default_factory=set)

    def __post_init__(self) -> None:
        limits.Steps.left = limits.MAX_STEPS
