"""From the bytes of a file to findings."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kdacheck.conventions import NONE, Conventions
from kdacheck.finding import Finding
from kdacheck.source import limits, select
from kdacheck.source.text import Unreadable, decode, dotted_name, outline_of

if TYPE_CHECKING:
    from kdacheck.places import Depends
    from kdacheck.source.module import Definition
    from kdacheck.source.pieces import Kept
    from kdacheck.source.run import Run


@dataclass(frozen=True, slots=True)
class Analysis:
    """The findings of one file, the import paths by which other files reach contracted callees through it, and what
    was asked of other files.
    """

    findings: list[Finding] = field(default_factory=list)
    exports: frozenset[str] = frozenset()
    depends: Depends | None = None


def analyse(filename: str, data: bytes, versions: Mapping[str, str]) -> list[Finding]:
    """The findings of one file that mentions a contracted callee.

    versions: distribution -> release, for those that are not to be taken as the newest known.
    Findings that are only likely are left out. Raises Unreadable for a file that cannot be decoded or parsed.
    """
    found = examine(filename, data, versions).findings
    return [finding for finding in found if not finding.likely]


def examine(
    filename: str,
    data: bytes,
    versions: Mapping[str, str],
    exports: frozenset[str] = frozenset(),
    seen: list[Run] | None = None,
    conventions: Conventions = NONE,
    folder: str = "",
) -> Analysis:
    """What `analyse` tells, what is only likely, and what the file hands on.

    exports: import paths of functions and classes of the project that reach a contracted callee.
    seen: takes what the interpreter saw, where somebody wants to look at it.
    conventions: what names and docstrings mean here. folder: that of the project, whose own callees count.
    """
    try:
        return _analyse(filename, data, versions, exports, seen, conventions, folder)
    except RecursionError:
        return _with_room(
            lambda: _analyse(
                filename, data, versions, exports, seen, conventions, folder, deep=True
            )
        )


#: What is tried for files nested so deeply that Python's own limit ends their analysis.
DEEP_LIMIT, DEEP_STACK = 60_000, 512 * 1024 * 1024


def _with_room(run: Callable[[], Analysis]) -> Analysis:
    """`run`, with room for deep recursion: in a thread, since only a new thread can have a larger stack."""
    found: list[Analysis] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(run())
        except (RecursionError, MemoryError):
            failed.append(Unreadable("the file is nested too deeply to be analysed"))
        except BaseException as error:
            failed.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    try:
        threading.stack_size(DEEP_STACK)
        sys.setrecursionlimit(max(limit, DEEP_LIMIT))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    except (RuntimeError, ValueError):
        raise Unreadable("the file is nested too deeply to be analysed") from None
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failed:
        raise failed[0]
    return found[0]


def _analyse(
    filename: str,
    data: bytes,
    versions: Mapping[str, str],
    exports: frozenset[str],
    seen: list[Run] | None,
    conventions: Conventions,
    folder: str,
    deep: bool = False,
) -> Analysis:
    text = decode(data)
    name = dotted_name(filename)
    if not select.may_import(data, name, exports):
        return Analysis()
    if len(data) > limits.MAX_BYTES:
        raise limits.ExceededError(f"the file is larger than {limits.MAX_BYTES >> 20} MiB")
    if limits.may_be_deep(data):
        limits.check_nesting(text)
    outline = outline_of(text, filename, name, deep, exports)
    imported = outline.handed_on if outline is not None else frozenset[str]()
    if outline is not None and not outline.relevant:
        return Analysis([], select.exported(name, imported))
    from kdacheck.source.reading import parse

    module, relevant = parse(filename, text, name, outline, _kept)

    from kdacheck.source.findings import findings_of
    from kdacheck.source.interpreter import Interpreter
    from kdacheck.source.project import Project
    from kdacheck.source.roots import run_root
    from kdacheck.source.run import Run

    project = Project(filename, name, folder)
    run = Run(project=project, conventions=conventions)
    interpreter = Interpreter(module, versions, relevant, run)
    with defaults_of(text):
        interpreter.run_module()
        for definition in module.definitions:
            if definition.is_class or definition.number not in relevant:
                continue
            if definition.owner is None or definition.owner.is_class:
                run_root(interpreter, definition, {})
    if seen is not None:
        seen.append(run)
    handed_on = {_outermost(d).name for d in run.reached if d.number in relevant}
    names = frozenset(n for n in handed_on if select.is_public(n))
    exported = select.exported(name, names | imported)
    return Analysis(list(findings_of(interpreter)), exported, project.depends)


#: What is kept of the files that were analysed, where this process analyses one text of a file after the other.
_kept: Kept | None = None

#: Characters of text of which that is kept: LibCST takes some 400 times as much memory.
KEPT = 1 << 18


def keep() -> None:
    """From now on, parse of the next text of a file only what is new in it. For a process that follows edits."""
    global _kept
    from kdacheck.source.pieces import Kept

    if _kept is None:
        _kept = Kept(KEPT)


def _outermost(definition: Definition) -> Definition:
    while definition.owner is not None:
        definition = definition.owner
    return definition


#: Ways to change what constructors do unless told otherwise.
_SETS_DTYPE = re.compile(r"\bset_default_(?:dtype|tensor_type)\b|\bdefault_dtype\b")
_SETS_DEVICE = re.compile(r"\bset_default_(?:device|tensor_type)\b|\bdefault_device\b")
_ENTERS = re.compile(r"\bwith\b|\benter_context\(")
_DEVICE = re.compile(r"\bdevice\b")


def _may_set_device(text: str) -> bool:
    if _SETS_DEVICE.search(text):
        return True
    lines = (line for line in text.split("\n") if "device" in line)
    for line in lines:
        entering = _ENTERS.search(line)
        if entering is not None and _DEVICE.search(line, entering.end()):
            return True
    return False


@contextmanager
def defaults_of(text: str) -> Iterator[None]:
    """For the time of a file that sets a default dtype or device, the default is unknown."""
    from kdacheck.source.torch_arguments import Defaults

    dtype, device = Defaults.dtype, Defaults.device
    try:
        if _SETS_DTYPE.search(text):
            Defaults.dtype = None
        if _may_set_device(text):
            Defaults.device = None
        yield
    finally:
        Defaults.dtype, Defaults.device = dtype, device
