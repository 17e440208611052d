"""From the bytes of a file to findings."""

from __future__ import annotations

import ast
import codecs
import io
import re
import sys
import threading
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from kdacheck.finding import Finding, Origin, Position
from kdacheck.source import select


class Unreadable(Exception):  # noqa: N818 - it names what the file is
    """A file that cannot be decoded or parsed, with where and why."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def decode(data: bytes) -> str:
    """The text of a file, by its byte order mark or coding line, else UTF-8. Raises Unreadable."""
    if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        at = data.index(b"\0")
        row = data.count(b"\n", 0, at) + 1
        raise Unreadable("the file holds a null byte, which Python does not read", row)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Unreadable(f"the file cannot be decoded: {error.msg}") from None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"the file is not {encoding}: {error.reason} (name its encoding in a coding line)", row
        ) from None
    except LookupError:
        raise Unreadable(f"the file names an unknown encoding: {encoding}") from None


def _outline(text: str, filename: str, name: str, deep: bool) -> select.Outline | None:
    """The outline of a file, None where the running Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename)
        return select.outline(tree, name)
    except (SyntaxError, ValueError, MemoryError):
        return None
    except RecursionError:
        if deep:
            return None
        raise


def analyse(filename: str, data: bytes, versions: Mapping[str, str]) -> list[Finding]:
    """The findings of one file that mentions a contracted callee.

    versions: distribution -> release, for those that are not to be taken as the newest known.
    Raises Unreadable for a file that cannot be decoded or parsed.
    """
    try:
        return _analyse(filename, data, versions)
    except RecursionError:
        return _with_room(lambda: _analyse(filename, data, versions, deep=True))


#: What is tried for files nested so deeply that Python's own limit ends their analysis.
DEEP_LIMIT, DEEP_STACK = 60_000, 512 * 1024 * 1024


def _with_room(run: Callable[[], list[Finding]]) -> list[Finding]:
    """`run`, with room for deep recursion: in a thread, since only a new thread can have a larger stack."""
    found: list[Finding] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.extend(run())
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
    return found


def _analyse(
    filename: str, data: bytes, versions: Mapping[str, str], deep: bool = False
) -> list[Finding]:
    from kdacheck.source.module import dotted_name

    text = decode(data)
    name = dotted_name(filename)
    if not select.may_import(data, name):
        return []
    outline = _outline(text, filename, name, deep)
    if outline is not None and not outline.relevant:
        return []

    import libcst as cst

    try:
        tree = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise Unreadable(
            f"the file cannot be parsed: {_reason(error)}", error.raw_line, error.raw_column + 1
        ) from None
    except (ValueError, MemoryError) as error:
        raise Unreadable(f"the file cannot be parsed: {type(error).__name__}") from None

    from kdacheck.source.interpreter import Interpreter
    from kdacheck.source.module import Module
    from kdacheck.source.roots import run_root

    module = Module(
        filename,
        tree,
        name,
        has_walrus=":=" in text,
        changes=outline.changes if outline is not None else None,
        writes_names=_WRITES_NAMES.search(text) is not None,
    )
    relevant = (
        outline.relevant if outline is not None else frozenset(range(len(module.definitions) + 1))
    )
    interpreter = Interpreter(module, versions, relevant)
    with defaults_of(text):
        interpreter.run_module()
        for definition in module.definitions:
            if definition.is_class or definition.number not in relevant:
                continue
            if definition.owner is None or definition.owner.is_class:
                run_root(interpreter, definition, {})
    return list(_findings(interpreter))


#: Ways to bind the names of a module that are no statement.
_WRITES_NAMES = re.compile(r"\bglobals\(\)|\bexec\(|\bsys\.modules\[")

#: Ways to change what constructors do unless told otherwise.
_SETS_DTYPE = re.compile(r"\bset_default_(?:dtype|tensor_type)\b|\bdefault_dtype\b")
_SETS_DEVICE = re.compile(
    r"\bset_default_(?:device|tensor_type)\b|\bdefault_device\b"
    r"|\bwith\b[^\n]*\bdevice\b|\benter_context\([^\n]*\bdevice\b"
)


@contextmanager
def defaults_of(text: str) -> Iterator[None]:
    """For the time of a file that sets a default dtype or device, the default is unknown."""
    from kdacheck.source.torch_arguments import Defaults

    dtype, device = Defaults.dtype, Defaults.device
    try:
        if _SETS_DTYPE.search(text):
            Defaults.dtype = None
        if _SETS_DEVICE.search(text):
            Defaults.device = None
        yield
    finally:
        Defaults.dtype, Defaults.device = dtype, device


def _reason(error: object) -> str:
    return str(getattr(error, "message", error)).strip().rstrip(".").split("\n")[-1]


def _findings(interpreter: object) -> Iterable[Finding]:
    from kdacheck.source.interpreter import Interpreter

    assert isinstance(interpreter, Interpreter)
    to_fail = interpreter.called_to_fail - interpreter.called
    found = [f for f in interpreter.found if f.root not in to_fail]
    direct = {(f.rule.code, f.call) for f in found if not f.chain}
    seen: set[tuple[object, ...]] = set()
    for item in found:
        if item.chain and (item.rule.code, item.call) in direct:
            continue
        finding = _finding(item, getattr(interpreter.versions, "reasons", {}))
        key = (finding.code, finding.location, finding.parameter)
        if key not in seen:
            seen.add(key)
            yield finding


#: Last components that say nothing without the one before.
_PLAIN = (".fwd", ".forward")


def _finding(item: object, reasons: Mapping[str, str]) -> Finding:
    from kdacheck.source.judge import Found

    assert isinstance(item, Found)
    violation, rule = item.violation, item.rule
    node, call = item.node, item.call
    module = item.module
    if item.chain:
        node = call = item.chain[0][0]
    start, end = module.position(node)
    first, last = module.position(call)
    release = " ".join(filter(None, (item.contract.package, item.version)))
    reason = reasons.get(item.contract.package)
    label = ".".join(item.path.split(".")[-2:]) if item.path.endswith(_PLAIN) else item.path
    where = f"`{label.rpartition('.')[2] if label == item.path else label}`"
    if release:
        where += f" ({release}{f', {reason}' if reason else ''})"
    message = f"{where}: {violation.message}"
    if item.chain:
        message += f" (via {' -> '.join(name for _, name in item.chain)})"
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        remedy=violation.remedy or rule.remedy,
        filename=module.filename,
        location=Position(*start),
        end_location=Position(*end),
        callee=item.path,
        version=item.version or None,
        parameter=violation.parameter or violation.keyword,
        origins=tuple(_origins(item)),
        span=(first[0], last[0]),
    )


def _origins(item: object) -> Iterable[Origin]:
    from kdacheck.source.judge import Found
    from kdacheck.source.origins import Made

    assert isinstance(item, Found)
    origins = getattr(item.facts, "origins", None) or {}
    made = origins.get(item.violation.aspect or "")
    if isinstance(made, Made) and made.node is not item.node:
        start, end = made.module.position(made.node)
        yield Origin(
            f"`{item.violation.parameter}`: {made.what} made it {describe(item)}",
            made.module.filename,
            Position(*start),
            Position(*end),
        )
    if item.chain:
        start, end = item.module.position(item.call)
        yield Origin("the call is here", item.module.filename, Position(*start), Position(*end))


def describe(item: object) -> str:
    """What the origin made of the argument, by the aspect at fault."""
    from kdacheck.facts import TensorFacts, show
    from kdacheck.source.judge import Found

    assert isinstance(item, Found)
    assert isinstance(item.facts, TensorFacts)
    facts = item.facts
    match item.violation.aspect:
        case "dtype":
            return " or ".join(sorted(facts.dtypes or ()))
        case "device":
            return f"on {facts.device}"
        case "layout" if facts.strides is not None:
            strides = ", ".join("?" if s is None else show(s) for s in facts.strides)
            return f"{facts.describe_shape()} with strides ({strides})"
        case "layout":
            return f"{facts.describe_shape()}, not dense"
        case "values" if facts.values is not None and len(facts.values) <= 16:
            return str(list(facts.values))
        case _:
            return facts.describe_shape()
