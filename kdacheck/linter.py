"""From paths to findings: read, select, analyse, suppress; in several processes where that pays."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kdacheck import suppressions
from kdacheck.config import Configuration, Overrides, Settings
from kdacheck.discovery import discover
from kdacheck.finding import Finding, Position
from kdacheck.keys import known_rules

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from kdacheck.cache import Cache
    from kdacheck.fixes import Fixed
    from kdacheck.places import Depends

# starting workers and importing the parser in each costs about as much as analysing this many bytes
POOL_PAYS_BYTES = 150_000

#: The bytes that are read of one file at most.
MAX_BYTES = 64 << 20

#: Files per worker that wait for it, held in memory.
WAITING = 32

#: How many calls of wrappers, in files of their own, are followed outwards from a kernel.
ROUNDS = 2

#: How much of such files is analysed in one round, in the order of their names.
MAX_IMPORTERS_BYTES = 2 << 20


class Outcome(NamedTuple):
    """What checking one file gave: findings, what went wrong inside, and the import paths that reach a kernel."""

    findings: list[Finding]
    error: str | None = None
    exports: frozenset[str] = frozenset()
    depends: Depends | None = None


@dataclass(slots=True)
class Result:
    """All findings in order, how many files were looked at, and what could not be done.

    exports: import paths by which files hand a kernel on to other files.
    followers: path of a file of the project -> the files that asked for it on the way.
    checked: the files that were read, with their settings. known: findings left out as the baseline knows them.
    fixed: findings that fixing removed. refused: findings whose fix did not hold, with why.
    texts: path -> (text before, text after) of the files that fixing changed.
    once: path -> text of what can be read only once, pipes and devices.
    """

    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    errors: list[str] = field(default_factory=list)
    exports: frozenset[str] = frozenset()
    followers: dict[str, set[str]] = field(default_factory=dict)
    checked: list[tuple[str, Settings]] = field(default_factory=list)
    known: list[Finding] = field(default_factory=list)
    fixed: list[Finding] = field(default_factory=list)
    refused: list[tuple[Finding, str]] = field(default_factory=list)
    texts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    once: dict[str, bytes] = field(default_factory=dict)

    @property
    def followed(self) -> AbstractSet[str]:
        """The other files of the project that were asked for on the way, by absolute path."""
        return self.followers.keys()

    def text_of(self, path: str) -> bytes:
        """What a file that was checked says now. Raises OSError."""
        if path in self.texts:
            return self.texts[path][1]
        return self.once[path] if path in self.once else read(path)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that names a kernel, with what its checking needs to know."""

    filename: str
    data: bytes
    settings: Settings
    exports: frozenset[str] = frozenset()


def lint(
    paths: Iterable[str],
    settings: Configuration | Overrides | None = None,
    *,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Check files and folders. Raises ConfigError for settings that cannot be used.

    progress: told, whenever one of them grows, how many files were read and how many were analysed.
    """
    configuration = settings if isinstance(settings, Configuration) else Configuration(settings)
    result = Result()
    jobs = _job_limit() if jobs is None else jobs
    files = result.checked
    outcomes: dict[str, Outcome] = {}

    def tell() -> None:
        if progress is not None:
            progress(result.files, len(outcomes))

    def check_all(candidates: Iterator[Candidate]) -> None:
        pending: dict[str, Candidate] = {}
        if cache is not None:
            candidates = _not_cached(candidates, cache, outcomes, pending)
        for path, outcome in _outcomes(candidates, jobs):
            outcomes[path] = outcome
            tell()
            if cache is not None:
                cache.keep(pending[path], outcome)

    check_all(_candidates(paths, configuration, result, cache, tell))
    known: frozenset[str] = frozenset()
    for _ in range(ROUNDS):
        exports = known.union(*(outcome.exports for outcome in outcomes.values()))
        if len(files) < 2 or exports <= known:
            break
        check_all(importers(files, exports, known, cache, result.once))
        known = exports
    result.exports = known
    for path, outcome in outcomes.items():
        _add(result, path, outcome)
    if cache is not None:
        cache.save()
    return _sorted(result)


def _add(result: Result, path: str, outcome: Outcome) -> None:
    result.findings.extend(outcome.findings)
    if outcome.depends is not None:
        for followed in filter(None, outcome.depends.places.values()):
            result.followers.setdefault(followed, set()).add(path)
    if outcome.error is not None:
        result.errors.append(outcome.error)


def _not_cached(
    candidates: Iterator[Candidate],
    cache: Cache,
    outcomes: dict[str, Outcome],
    pending: dict[str, Candidate],
) -> Iterator[Candidate]:
    """The candidates of which the cache does not know the outcome, noted in `pending`."""
    for candidate in candidates:
        known = cache.outcome(candidate)
        if known is not None:
            outcomes[candidate.filename] = known
        else:
            pending[candidate.filename] = candidate
            yield candidate


def importers(
    files: Iterable[tuple[str, Settings]],
    exports: frozenset[str],
    known: frozenset[str],
    cache: Cache | None,
    once: Mapping[str, bytes],
) -> Iterator[Candidate]:
    """Files that import a wrapper of the project that was not known before; read anew, not kept in memory.

    once: the texts of those that cannot be read anew.
    """
    names = {path.rpartition(".")[2].encode() for path in exports - known}
    left = MAX_IMPORTERS_BYTES
    folders = [path for path, _ in files if path.endswith("__init__.py")]
    asked = (*sorted(exports - known), "", *sorted(known), "", *sorted(folders))
    before = cache.importers(asked) if cache is not None else None
    found: list[str] = []
    for path, settings in sorted(files, key=lambda file: file[0]):
        if before is not None and path not in before and cache and cache.is_unchanged(path):
            continue
        try:
            data = once[path] if path in once else read(path)
        except OSError:
            continue
        if not any(name in data for name in names) or not _imports_from(path, data, exports):
            continue
        found.append(path)
        if len(data) <= left:
            left -= len(data)
            yield Candidate(path, data, settings, exports)
    if cache is not None:
        cache.note_importers(asked, found)


def _imports_from(path: str, data: bytes, exports: frozenset[str]) -> bool:
    from kdacheck.source import dotted_name, imports_from

    return imports_from(data, dotted_name(path), exports)


def lint_text(
    filename: str, data: bytes, configuration: Configuration, project: Result | None = None
) -> Result:
    """Check one text that belongs to a file of this name, which need not exist.

    project: what linting the files around it gave, by the same kind of name, for a verdict as among them.
    """
    settings = configuration.of_folder(os.path.dirname(filename) or os.curdir)
    result = Result(files=1, checked=[(filename, settings)])
    if configuration.overrides.force_exclude and settings.excludes(filename):
        return Result()
    from kdacheck.source import may_matter

    exports = project.exports if project is not None else frozenset[str]()
    if may_matter(data) or (exports and _imports_from(filename, data, exports)):
        outcome = check(Candidate(filename, data, settings, exports))
        result.exports = outcome.exports
        _add(result, filename, outcome)
    others = project.findings if project is not None else ()
    return _sorted(result, [finding for finding in others if finding.filename != filename])


def forget(path: str | None = None) -> None:
    """Take what was read of one file, or of all files and folders, no more from memory.

    For a process that outlives the files it reads: call it when a file was written, made, moved or removed, and
    without a path when anything may have changed, pins of releases included.
    """
    from kdacheck import places, releases
    from kdacheck.source import project

    places.forget()
    if path is not None:
        project.forget(path)
    else:
        project.forget_all()
        releases.forget()


def _told_at_the_call(findings: list[Finding], others: Iterable[Finding]) -> list[Finding]:
    """Without findings at calls of a wrapper that is wrong by itself, and told there. others: those of other files."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for finding in (*findings, *others):
        if finding.span is not None and not finding.inner and not finding.likely:
            path = os.path.abspath(finding.filename)
            spans.setdefault((finding.code, path), []).append(finding.span)
    return [
        finding
        for finding in findings
        if not any(
            first <= place.location.row <= last
            for place in finding.inner
            for first, last in spans.get((finding.code, os.path.abspath(place.filename)), ())
        )
    ]


def fix(result: Result, configuration: Configuration, *, unsafe: bool, write: bool) -> None:
    """Fix what can be fixed in the files of a result, and bring the result up to date.

    `write` puts the new texts in the place of the files; otherwise they are only told.
    """
    from kdacheck import fixes
    from kdacheck.followers import Followers

    by_file: dict[str, list[Finding]] = {}
    for finding in result.findings:
        by_file.setdefault(finding.filename, []).append(finding)
    with Followers(result, configuration) as followers:
        for path, findings in by_file.items():
            if any(finding.fix is not None and finding.fix.is_on(unsafe) for finding in findings):
                try:
                    data = result.text_of(path)
                    done = followers.fix(path, data, findings, unsafe=unsafe)
                    if write and done.data != data:
                        fixes.write(path, data, done.data)
                except OSError as error:
                    result.errors.append(f"{path}: not fixed: {error.strerror or error}")
                else:
                    by_file[path] = done.findings
                    _take(result, path, data, done)
                    if done.data != data:
                        followers.take(path, done.data)
        by_file |= followers.changed()
    result.findings = [finding for findings in by_file.values() for finding in findings]
    _sorted(result)


def fix_text(
    filename: str,
    data: bytes,
    findings: list[Finding],
    configuration: Configuration,
    exports: frozenset[str] = frozenset(),
    *,
    unsafe: bool,
    beside: Callable[[bytes], list[Finding]] | None = None,
) -> Fixed:
    """Fix what can be fixed in one text.

    exports: those of `Result`. beside: what is found in other files when this one has some text.
    """
    from kdacheck import fixes

    settings = configuration.of_folder(os.path.dirname(filename) or os.curdir)

    def again(text: bytes) -> tuple[list[Finding], str | None]:
        outcome = check(Candidate(filename, text, settings, exports))
        others = beside(text) if beside is not None else ()
        return [*sorted(outcome.findings, key=_place), *others], outcome.error

    # the text may have changed since it was checked
    found, error = again(data)
    if error is not None:
        return fixes.Fixed(data, findings)
    done = fixes.fix(data, found, again, unsafe=unsafe)
    done.findings = [finding for finding in done.findings if finding.filename == filename]
    return done


def _take(result: Result, path: str, data: bytes, done: Fixed) -> None:
    result.fixed.extend(done.fixed)
    result.refused.extend(done.refused)
    if done.data != data:
        result.texts[path] = data, done.data


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    place = finding.location
    return finding.filename, place.row, place.column, finding.code, finding.message


def _sorted(result: Result, others: Iterable[Finding] = ()) -> Result:
    result.findings = _told_at_the_call(result.findings, others)
    result.findings.sort(key=_place)
    result.errors.sort()
    return result


def _candidates(
    paths: Iterable[str],
    configuration: Configuration,
    result: Result,
    cache: Cache | None,
    tell: Callable[[], None],
) -> Iterator[Candidate]:
    files = result.checked
    paths = list(paths)
    named = set(map(os.path.normpath, paths))
    for path, settings in discover(paths, configuration, result.errors):
        result.files += 1
        tell()
        before = None
        # a walk takes regular files only
        is_regular = path not in named or os.path.isfile(path)
        if cache is not None and is_regular:
            if cache.mentions_none(path):
                files.append((path, settings))
                continue
            before = cache.status_of(path)
        try:
            data = read(path)
        except OSError as error:
            reason = error.strerror or str(error)
            finding = unreadable(path, f"cannot be read: {reason}", "make the file readable")
            if settings.rule_filter(path)(finding.code, finding.name):
                result.findings.append(finding)
                result.errors.append(f"{path}: {reason}")
            continue
        files.append((path, settings))
        if not is_regular:
            result.once[path] = data
        candidate = Candidate(path, data, settings)
        if (cache is not None and cache.knows(candidate)) or _may_matter(data):
            yield candidate
        elif cache is not None and is_regular:
            cache.note_plain(path, before)


def _may_matter(data: bytes) -> bool:
    from kdacheck.source import may_matter

    return may_matter(data)


def read(path: str) -> bytes:
    """The bytes of a file. Raises OSError, also for one of more than MAX_BYTES."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        data = os.read(descriptor, 1 << 16)
        more = os.read(descriptor, 1 << 16)
        if not more:
            return data
        parts, size = [data, more], 0
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
            size += len(part)
            if size > MAX_BYTES:
                raise OSError(0, f"larger than {MAX_BYTES >> 20} MiB")
        return b"".join(parts)
    finally:
        os.close(descriptor)


def unreadable(path: str, message: str, remedy: str, row: int = 1, column: int = 1) -> Finding:
    """A KDA901 finding."""
    position = Position(row, column)
    return Finding(
        code=suppressions.UNREADABLE_FILE,
        name=suppressions.UNREADABLE_FILE_NAME,
        message=message,
        remedy=remedy,
        filename=path,
        location=position,
        end_location=position,
    )


def check(candidate: Candidate) -> Outcome:
    """The findings of one file after suppression and selection, and what went wrong inside, if anything did."""
    from kdacheck import releases, source

    filename, data, settings = candidate.filename, candidate.data, candidate.settings
    error = None
    exports: frozenset[str] = frozenset()
    depends: Depends | None = None
    try:
        versions = releases.resolve(settings.versions, settings.root)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, about the strings of the file
            analysis = source.examine(
                filename,
                data,
                versions,
                candidate.exports,
                conventions=settings.conventions,
                folder=settings.root,
            )
        findings, exports, depends = analysis.findings, analysis.exports, analysis.depends
    except source.Unreadable as problem:
        at = problem.row, problem.column
        findings = [unreadable(filename, problem.message, problem.remedy, *at)]
    except RecursionError:
        findings = [unreadable(filename, "is nested too deeply to be analysed", "exclude the file")]
    except MemoryError:
        findings = [unreadable(filename, "needs more memory than there is", "exclude the file")]
    except Exception as problem:
        findings = []
        error = f"{filename}: kdacheck itself failed here, please report it: {_failure(problem)}"
    selected = settings.rule_filter(filename)
    if error is None and not any(f.code == suppressions.UNREADABLE_FILE for f in findings):
        findings = suppressions.apply(filename, data, findings, selected, known_rules)
        findings = [f for f in findings if settings.likely or not f.likely]
        return Outcome(findings, None, exports, depends)
    return Outcome([f for f in findings if selected(f.code, f.name)], error)


def _failure(problem: BaseException) -> str:
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = ""
    if frame is not None:
        where = f" at {os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
    return f"{type(problem).__name__}{where}: {problem}"


def _job_limit() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def _outcomes(candidates: Iterator[Candidate], jobs: int) -> Iterator[tuple[str, Outcome]]:
    """(file, outcome) for every candidate."""
    waiting: list[Candidate] = []
    size = 0
    if jobs > 1:
        for candidate in candidates:
            waiting.append(candidate)
            size += len(candidate.data)
            if size >= POOL_PAYS_BYTES and len(waiting) > 1:
                yield from _in_parallel(waiting, candidates, jobs)
                return
    else:
        waiting.extend(candidates)
    for candidate in waiting:
        yield candidate.filename, check(candidate)


def _in_parallel(
    first: Sequence[Candidate], more: Iterable[Candidate], jobs: int
) -> Iterator[tuple[str, Outcome]]:
    """Files are handed out while the tree is still being read; only findings travel back."""
    from collections import deque
    from concurrent.futures.process import BrokenProcessPool

    pool = _pool(jobs)
    pending: deque[tuple[Candidate, Future[Outcome]]] = deque()
    unfinished: list[Candidate] = []

    def done(left: int) -> Iterator[tuple[str, Outcome]]:
        while len(pending) > left:
            candidate, future = pending.popleft()
            try:
                yield candidate.filename, future.result()
            except BrokenProcessPool:
                unfinished.append(candidate)

    try:
        for candidate in itertools.chain(first, more):
            try:
                pending.append((candidate, _submit(pool, candidate)))
            except BrokenProcessPool:
                unfinished.append(candidate)
            yield from done(WAITING * jobs)
        yield from done(0)
        pool.shutdown()
    except BaseException:
        _abandon(pool)
        raise
    if unfinished:
        yield from _one_by_one(unfinished)


def _pool(jobs: int) -> ProcessPoolExecutor:
    import multiprocessing
    import sys
    import threading
    from concurrent.futures import ProcessPoolExecutor

    # forking is the quicker start, and safe on Linux while there is one thread
    fork = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if fork else "spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)


def _submit(pool: ProcessPoolExecutor, candidate: Candidate) -> Future[Outcome]:
    """Hand a file to the workers. The first of all starts them, and they are born deaf to Ctrl-C."""
    if getattr(pool, "_processes", None):
        return pool.submit(check, candidate)
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        return pool.submit(check, candidate)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        return pool.submit(check, candidate)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_on_sigterm() -> None:
    """Let SIGTERM end the program like Ctrl-C: what is half done is cleaned up, and the workers end."""
    import signal
    import sys
    import threading

    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    ):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def _start_worker() -> None:
    import gc
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # syntax trees are large and mostly live until their file is done
    gc.set_threshold(100_000, 20, 50)


def _end_with_parent() -> None:
    """A worker whose parent was killed has nobody to tell."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _abandon(pool: ProcessPoolExecutor) -> None:
    processes: Mapping[int, object] = getattr(pool, "_processes", None) or {}
    for process in list(processes.values()):
        process.terminate()  # pyright: ignore[reportAttributeAccessIssue]
    pool.shutdown(wait=False, cancel_futures=True)


def _one_by_one(candidates: Iterable[Candidate]) -> Iterator[tuple[str, Outcome]]:
    """A second try for what was in work or in line when a worker died; now it shows whose fault it is."""
    from concurrent.futures.process import BrokenProcessPool

    pool = _pool(1)
    try:
        for candidate in candidates:
            try:
                yield candidate.filename, _submit(pool, candidate).result()
            except BrokenProcessPool:
                pool.shutdown()
                pool = _pool(1)
                yield candidate.filename, _killed(candidate)
        pool.shutdown()
    except BaseException:
        _abandon(pool)
        raise


def _killed(candidate: Candidate) -> Outcome:
    name = candidate.filename
    message = "the process that analysed this file was killed"
    finding = unreadable(name, message, "exclude the file, or report it")
    selected = candidate.settings.rule_filter(name)(finding.code, finding.name)
    return Outcome([finding] if selected else [], f"{name}: {message}, twice")
