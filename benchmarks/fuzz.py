"""Feed the linter what no one would write: random, broken and hostile files. It must neither crash nor overrun.

    python benchmarks/fuzz.py [--files N] [--jobs N] [--seed N] [--trees DIR ...] [--keep DIR] [--coverage] [--save]

Real files (those of this repository and of the folders given) are damaged, calls in them renamed to calls of kernels;
programs are made by hypothesmith, where it is installed; hostile ones are made to measure. Each is checked in this
process, or in workers forked from it, and reported in every format. Exit status 1: an error inside the linter, a file
that took more than --seconds, or a worker that grew beyond --megabytes. --coverage prints the lines of the package
that were reached, and takes one process.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import multiprocessing
import os
import pathlib
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent.parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from benchmarks import results  # noqa: E402
from kdacheck import report  # noqa: E402
from kdacheck.config import Configuration  # noqa: E402
from kdacheck.finding import Finding  # noqa: E402
from kdacheck.linter import Candidate, check  # noqa: E402
from kdacheck.source import may_matter  # noqa: E402

#: Kernels of several libraries, and where they are imported from.
KERNELS = {
    "chunk_kda": "fla.ops.kda",
    "fused_recurrent_kda": "fla.ops.kda",
    "chunk_gated_delta_rule": "fla.ops.gated_delta_rule",
    "chunk_gla": "fla.ops.gla",
    "causal_conv1d": "fla.modules.convolution",
    "helion_fused_recurrent_kda_replayssm_decode": "sglang.kernels.ops.attention.helion.kda_replayssm",
}
IMPORTS = "".join(f"from {module} import {name}\n" for name, module in KERNELS.items())
CALL = "chunk_kda(q, k, v, g, beta, cu_seqlens=cu)"

#: Packages that check no file.
LEFT_OUT = ("runtime", "kernels", "cli", "docs", "server")

#: Files of more bytes than this are left out of the seeds; of longer ones than that, a part is taken.
MAX_SEED, MAX_LINES = 100_000, 90


# Damage to real files


def excerpt(text: str, rng: random.Random) -> str:
    """A long text from one of its definitions on."""
    lines = text.splitlines(keepends=True)
    if len(lines) <= MAX_LINES:
        return text
    starts = [n for n, line in enumerate(lines) if line.startswith(("def ", "class ", "@"))]
    start = rng.choice(starts or [0])
    return "".join(lines[start : start + MAX_LINES])


def truncated(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def shuffled(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    start = rng.randrange(len(lines) + 1)
    stop = min(len(lines), start + rng.randrange(2, 40))
    part = lines[start:stop]
    rng.shuffle(part)
    return "".join([*lines[:start], *part, *lines[stop:]])


def dedented(text: str, rng: random.Random) -> str:
    """Lines take the indentation of others."""
    lines = text.splitlines(keepends=True)
    indents = [re.match(r"\s*", line)[0] for line in lines if line.strip()] or [""]  # type: ignore[index]
    for _ in range(rng.randrange(1, 6)):
        if lines:
            at = rng.randrange(len(lines))
            lines[at] = rng.choice(indents).strip("\r\n") + lines[at].lstrip()
    return "".join(lines)


_TOKEN = re.compile(r"\w+|[^\w\s]|\s+")


def thinned(text: str, rng: random.Random) -> str:
    """Tokens are lost, doubled and swapped."""
    tokens = _TOKEN.findall(text)
    for _ in range(rng.randrange(1, 8)):
        if len(tokens) > 2:
            at = rng.randrange(len(tokens) - 1)
            match rng.randrange(3):
                case 0:
                    del tokens[at]
                case 1:
                    tokens.insert(at, tokens[at])
                case _:
                    other = rng.randrange(len(tokens))
                    tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def bracketed(text: str, rng: random.Random) -> str:
    places = [match.start() for match in re.finditer(r"[()\[\]{}]", text)]
    for at in sorted(rng.sample(places, min(len(places), rng.randrange(1, 5))), reverse=True):
        text = text[:at] + text[at] * rng.choice((0, 2, 2, 40)) + text[at + 1 :]
    return text


def renamed(text: str, rng: random.Random) -> str:
    """Names take the place of other names, numbers of other numbers."""
    names = re.findall(r"[A-Za-z_]\w*", text) or ["x"]
    for _ in range(rng.randrange(1, 10)):
        old, new = rng.choice(names), rng.choice(names)
        text = re.sub(rf"\b{old}\b", new, text, count=rng.randrange(1, 5))
    number = rng.choice(
        ("0", "-1", "1", "2**70", "1e400", "9" * 30, "None", "...", "1j", "0x" + "f" * 200)
    )
    return re.sub(r"\b\d+\b", lambda m: number if rng.random() < 0.3 else m[0], text)


def repeated(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = rng.randrange(len(lines))
    stop = min(len(lines), at + rng.randrange(1, 4))
    return "".join([*lines[:at], *lines[at:stop] * rng.randrange(2, 30), *lines[stop:]])


def spliced(text: str, rng: random.Random) -> str:
    """Statements in the middle that bring tensors and kernels together with what is there."""
    lines = text.splitlines(keepends=True)
    places = [n for n, line in enumerate(lines) if line[:1] in " \t" and line.strip()] or [0]
    for at in sorted(rng.sample(places, min(len(places), 3)), reverse=True):
        indent = re.match(r"[ \t]*", lines[at])[0] if lines else ""  # type: ignore[index]
        names = re.findall(r"[A-Za-z_]\w*", lines[at] if lines else "") or ["q"]
        picked = [rng.choice(names) for _ in range(6)]
        call = "{}({}, {}, k={}, g={}, cu_seqlens={}, dt_bias={})".format(
            rng.choice(list(KERNELS)), *picked
        )
        lines.insert(at, f"{indent}{rng.choice(('', 'x = ', 'return '))}{call}\n")
    return "".join(lines)


def same(text: str, rng: random.Random) -> str:
    return text


#: Three of a kind leave most texts Python.
TEXT_DAMAGE: tuple[Callable[[str, random.Random], str], ...] = (
    *(truncated, shuffled, dedented, thinned, bracketed, repeated),
    *(renamed, spliced, same) * 3,
)


def reaching(text: str, rng: random.Random) -> str:
    """Some of the functions that a text calls become kernels, so that it is interpreted."""
    called = sorted(set(re.findall(r"\b([A-Za-z_]\w*)\(", text)) - {"print", "isinstance", "range"})
    for name in rng.sample(called, min(len(called), rng.randrange(1, 4))):
        text = re.sub(rf"(?<!def )(?<!class )\b{name}\(", rng.choice(list(KERNELS)) + "(", text)
    future = re.search(r"^from __future__ import .*\n", text, re.MULTILINE)
    at = future.end() if future else 0
    return text[:at] + IMPORTS + text[at:]


def odd_bytes(data: bytes, rng: random.Random) -> bytes:
    """The same text as other bytes, or bytes that are no text."""
    match rng.randrange(30):
        case 0:
            return b"\xef\xbb\xbf" + data
        case 1:
            return data.replace(b"\n", b"\r\n")
        case 2:
            return data.replace(b"\n", b"\r")
        case 3:
            return data.replace(b"\n\n", b"\n\x0c\n")
        case 4:
            return data.decode("utf-8", "replace").encode("utf-16")
        case 5:
            coding = rng.choice(
                ("latin-1", "utf-7", "cp1252", "shift_jis", "rot13", "utf-16", "hex", "idna")
            )
            return f"# -*- coding: {coding} -*-\n".encode() + data
        case 6:
            damaged = bytearray(data)
            for _ in range(rng.randrange(1, 10)):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            return bytes(damaged)
        case 7:
            return data.replace(b"    ", b"\t")
        case 8:
            return data.rstrip() + b"\\"
        case _:
            return data


# Hostile programs. Each takes a size; the larger, the more hostile.


def _function(body: Sequence[str]) -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return (
        f"{IMPORTS}import torch\n\ndef run(q, k, v, g, beta, cu, c):\n{lines}\n    return {CALL}\n"
    )


def _chain(left: str, right: str = "", middle: str = "q") -> Callable[[int], str]:
    return lambda n: _function([f"z = {left * n}{middle}{right * n}"])


def _lines(line: str, *before: str) -> Callable[[int], str]:
    return lambda n: _function([*before, *(line.format(i=i, j=i + 1) for i in range(n))])


def _nested_loops(n: int) -> str:
    depth = min(n, 60)
    body = [" " * i + f"for i{i} in range(c):" for i in range(depth)]
    return _function([*body, " " * depth + "q = q.view(2, -1) + i0"])


def _mutual(n: int) -> str:
    n = min(n, 2_000)
    functions = [
        f"def f{i}(x):\n    y = f{(i + 1) % n}(x)\n    z = f{(i * 7 + 3) % n}(y)\n    return {CALL.replace('q', 'z')}\n"
        for i in range(n)
    ]
    return f"{IMPORTS}{''.join(functions)}"


def _classes(n: int) -> str:
    n = min(n, 400)
    text = "".join(
        f"class C{i}({f'C{i - 1}' if i else 'object'}):\n    def m(self, q):\n        self.a{i} = q\n        return {CALL}\n"
        for i in range(n)
    )
    return f"{IMPORTS}{text}"


def _digits(n: int) -> str:
    return _function(
        [f"z = {'9' * min(n * 100, 900_000)}", "q = q.view(z, -1)", "w = z * z * z ** z"]
    )


HOSTILE: dict[str, Callable[[int], str]] = {
    "brackets": _chain("(", ")"),
    "lists": _chain("[", "]"),
    "calls in calls": _chain("f(", ")"),
    "dicts in dicts": _chain("{1: ", "}"),
    "open brackets": _chain("("),
    "closed brackets": _chain("", ")"),
    "signs": _chain("-"),
    "nots": _chain("not "),
    "lambdas": _chain("lambda: "),
    "conditions": _chain("x if y else "),
    "sums": _chain("q + "),
    "powers": _chain("q ** "),
    "attributes": _chain("", ".a"),
    "subscripts": _chain("", "[0]"),
    "calls of calls": _chain("", "(q)"),
    "methods": _chain("", ".view(1, -1)"),
    "conjunctions": _chain("q and "),
    "called conjunctions": _chain("f(q) and ", "", "g"),
    "mixed conditions": _chain("(a or not ", ")"),
    "comparisons": _chain("q < "),
    "strings": _chain("'a' "),
    "formatted": lambda n: _function([f"z = f'{'{q}' * n}'"]),
    "formatted in each other": lambda n: _function(["z = " + "f'{" * n + "q" + "}'" * n]),
    "comprehensions": lambda n: _function([f"z = [q {'for x in q ' * n}]"]),
    "nested comprehensions": _chain("[", " for x in range(64)]"),
    "patterns": lambda n: _function(["match q:", f"    case {'[' * n}{']' * n}:", "        pass"]),
    "dict patterns": lambda n: _function(
        ["match q:", f"    case {'{1: ' * n}x{'}' * n}:", "        pass"]
    ),
    "cases": lambda n: _function(
        ["match q:", *(f"    case {i}: q = q.view({i})" for i in range(n))]
    ),
    "elifs": lambda n: _function(
        ["if c: q = g", *(f"elif c == {i}: q = q.view({i})" for i in range(n))]
    ),
    "branches": _lines("if c[{i}]: q = q.view({i}, -1)"),
    "branches on names": _lines("x{j} = torch.zeros({j}, c) if c > {i} else q"),
    "branches in branches": lambda n: _function(
        [" " * i + f"if c[{i}]:" for i in range(n)] + [" " * n + "pass"]
    ),
    "loops in loops": _nested_loops,
    "with in with": lambda n: _function(
        [" " * i + f"with c[{i}] as x{i}:" for i in range(n)] + [" " * n + "pass"]
    ),
    "tries": lambda n: _function([" " * i + "try:" for i in range(n)] + [" " * n + "pass"]),
    "assignments": _lines("x{j} = q.view({j}, -1)"),
    "doubled tuples": _lines("x = (x, x)", "x = (q, k)"),
    "doubled sums of tuples": _lines("x = x + x", "x = (q, k)"),
    "doubled lists": _lines("x += x", "x = [q, k]"),
    "doubled dicts": _lines("x = dict(a=x, b=x)", "x = {{'q': q}}"),
    "doubled strings": _lines("x = x + x", "x = 'ab'"),
    "doubled formatted strings": _lines("x = f'{{x}}{{x}}'", "x = 'ab'"),
    "tuples on two paths": _lines("x = (x, x) if c[{i}] else (x, x, x)", "x = (q, k)"),
    "squares": _lines("n = n * n + n", "n = q.shape[0]"),
    "products of sums": _lines("n = n * (c.shape[{i}] + {i})", "n = 1"),
    "huge shapes": lambda n: _function(
        [f"z = torch.zeros({', '.join(['2'] * n)})", "q = z.transpose(0, 1).reshape(-1)"]
    ),
    "many views": lambda n: _function(
        [
            f"q = torch.zeros({', '.join(['c'] * min(n, 60))})",
            *["q = q.transpose(0, -1).unsqueeze(0).flatten(0, 1)"] * n,
        ]
    ),
    "long tuples": lambda n: _function(
        [f"z = ({', '.join(map(str, range(n * 10)))})", "cu = torch.tensor(z)"]
    ),
    "tuples of tensors": lambda n: _function(
        [f"z = [{'torch.zeros(1, 2), ' * n}]", "q = torch.cat(z)"]
    ),
    "long dicts": lambda n: _function(
        [f"z = {{{', '.join(f'{i}: q' for i in range(n))}}}", "z[c] = k", "q = z[0]"]
    ),
    "stars": lambda n: _function([f"z = [{'*q, ' * n}]", f"chunk_kda({'*z, ' * n})"]),
    "keywords": lambda n: _function(
        [f"chunk_kda({', '.join(f'a{i}=q' for i in range(n))})", f"chunk_kda({'**q, ' * n})"]
    ),
    "parameters": lambda n: (
        f"{IMPORTS}def run({', '.join(f'a{i}=1' for i in range(n))}):\n    return {CALL}\n"
    ),
    "recursion": _mutual,
    "classes": _classes,
    "functions in functions": lambda n: (
        IMPORTS + "".join(" " * i + f"def f{i}(q):\n" for i in range(n)) + " " * n + f"{CALL}\n"
    ),
    "classes in classes": lambda n: (
        IMPORTS + "".join(" " * i + f"class C{i}:\n" for i in range(n)) + " " * n + "pass\n"
    ),
    "decorators": lambda n: (
        f"{IMPORTS}{'@f' * 1}\n{'@g(q)' + chr(10)}" * min(n, 500) + f"def f(q):\n    {CALL}\n"
    ),
    "digits": _digits,
    "fractions": lambda n: _function([f"z = 0.{'1' * n * 100}e{n}"]),
    "shifts": _lines("n = n << n | 1 << {i}", "n = 1 << 61"),
    "repeats": _lines("x = [x] * 4096", "x = [q] * 4096"),
    "ranges": _lines("x = list(range(10 ** {i})) + x", "x = []"),
    "einops": lambda n: _function([f"q = einops.rearrange(q, '{'a ' * n}-> {'(b ' * n}')"]).replace(
        "import torch", "import torch, einops"
    ),
    "annotations": lambda n: (
        f"{IMPORTS}from jaxtyping import Float\ndef run(q: Float[Tensor, '{'b ' * n}{'(' * n}'], k: \"{'(' * n}\"):\n    return {CALL}\n"
    ),
    "annotation code": lambda n: (
        f"{IMPORTS}def run(q: Float[Tensor, '{'__import__(1).a**' * n}b'], k: 'exec(1)'):\n    return {CALL}\n"
    ),
    "imports": lambda n: (
        "".join(f"from {'a.' * i}b import chunk_kda as k{i}\n" for i in range(min(n, 500)))
        + IMPORTS
        + CALL
        + "\n"
    ),
    "spaces after from": lambda n: f"from{' ' * n * 50}x\n{IMPORTS}{CALL}\n",
    "with words": lambda n: f"{IMPORTS}# {'with ' * n * 20}\n{CALL}\n",
    "parametrized": lambda n: (
        f"{IMPORTS}import pytest\n"
        + "".join(f"@pytest.mark.parametrize('q{i}', [1, 2, 3])\n" for i in range(min(n, 100)))
        + f"def test_x({', '.join(f'q{i}' for i in range(min(n, 100)))}):\n    {CALL}\n"
    ),
    "aliases": _lines("x{j} = x{i}; x{i} = x{j}", "x0 = q"),
    "cycles": _lines("x.append(x); x[{i}] = x; x.self = x", "x = []"),
    "globals": _lines("global g{i}; g{i} = g{j} = q"),
    "walruses": _lines("(x{i} := x{j}) and (x{j} := x{i})"),
    "suppressions": lambda n: (
        f"{IMPORTS}{CALL}" + "  # kdacheck: ignore[KDA001]  # noqa: KDA1" * n + "\n"
    ),
    "many calls": _lines("chunk_kda(q[:, {i}], k, v, g, beta, cu_seqlens=cu[{i}:])"),
    "many wrong calls": _lines(
        "chunk_kda(torch.zeros(2, {j}, 1, 16), k, v, g, beta, cu_seqlens=cu)"
    ),
}

#: Where `at` in the size of a hostile program lies: most are small, some are far too large.
SIZES = (1, 3, 8, 20, 45, 100, 190, 300, 1_000, 3_000, 10_000)


# One file


@dataclass
class Tally:
    """What came of many files."""

    files: int = 0
    bytes: int = 0
    interpreted: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_name: str = ""
    megabytes: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.bytes += other.bytes
        self.interpreted += other.interpreted
        self.seconds += other.seconds
        if other.slowest > self.slowest:
            self.slowest, self.slowest_name = other.slowest, other.slowest_name
        self.megabytes = max(self.megabytes, other.megabytes)
        for mine, theirs in (
            *((self.kinds, other.kinds), (self.codes, other.codes), (self.limits, other.limits)),
        ):
            mine.update(theirs)
        self.bad += other.bad


@dataclass(frozen=True)
class Plan:
    """What one run does. Files are numbered; `made` tells what each is."""

    seeds: tuple[pathlib.Path, ...]
    programs: tuple[str, ...]
    seed: int
    seconds: float
    megabytes: float
    keep: pathlib.Path | None
    sizes: tuple[int, ...] = SIZES

    def made(self, number: int) -> tuple[str, bytes]:
        """(what it is, its bytes) of the file of a number."""
        rng = random.Random(f"{self.seed} {number}")
        draw = rng.random()
        if draw < 0.01:
            name = rng.choice(list(HOSTILE))
            size = rng.choice(self.sizes[: rng.choice((6, 9, len(self.sizes)))])
            return f"hostile: {name}, {size}", HOSTILE[name](size).encode()[: 3 << 20]
        if draw < 0.11 and self.programs:
            text = rng.choice(self.programs)
            if rng.random() < 0.7:
                text = reaching(text, rng)
            return "generated", odd_bytes(_encoded(text), rng)
        path = rng.choice(self.seeds)
        data = path.read_bytes()
        text = excerpt(data.decode("utf-8", "replace"), rng)
        if rng.random() < 0.7:
            text = reaching(text, rng)
        what = []
        for damage in rng.choices(TEXT_DAMAGE, k=rng.choice((1, 1, 2, 3))):
            text = damage(text, rng)
            what.append(damage.__name__)
        return f"damaged: {what[0]}", odd_bytes(_encoded(text), rng)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def findings_digest(findings: Sequence[Finding]) -> str:
    return hashlib.sha256(repr(findings).encode("utf-8", "surrogatepass")).hexdigest()


def try_one(plan: Plan, number: int, tally: Tally) -> None:
    """Make the file of a number, check it, and report what is found in every format."""
    kind, data = plan.made(number)
    name = os.path.join(os.curdir, "fuzz", f"f{number}.py")
    settings = Configuration().fallback
    begin = time.process_time()
    wrong = ""
    try:
        findings: list[Finding] = []
        if may_matter(data):
            outcome = check(Candidate(name, data, settings))
            findings = outcome.findings
            tally.interpreted += outcome.depends is not None
            wrong = outcome.error or ""
            if number % 50 == 0 and not wrong:
                again = check(Candidate(name, data, settings))
                if findings_digest(again.findings) != findings_digest(findings):
                    wrong = "another answer the second time"
        if findings and number % 5 == 0:
            for form in report.FORMATS:
                report.write(form, findings[:20], io.StringIO(), report.Run(texts={name: data}))
        for finding in findings:
            tally.codes[finding.code] += 1
            if finding.code == "KDA901":
                tally.limits[re.sub(r":.*|not \S+", "", finding.message)[:60]] += 1
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    took = time.process_time() - begin
    if took > plan.seconds:
        wrong = wrong or f"{took:.1f} s"
    tally.files += 1
    tally.bytes += len(data)
    tally.seconds += took
    tally.kinds[kind.partition(",")[0]] += 1
    if took > tally.slowest:
        tally.slowest, tally.slowest_name = took, f"{number} ({kind})"
    if wrong:
        tally.bad.append(f"{number} ({kind}): {wrong}")
        if plan.keep is not None:
            plan.keep.mkdir(parents=True, exist_ok=True)
            (plan.keep / f"f{number}.py").write_bytes(data)


# All files


def run_chunk(plan: Plan, numbers: range) -> Tally:
    tally = Tally()
    for number in numbers:
        try_one(plan, number, tally)
    tally.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if tally.megabytes > plan.megabytes:
        tally.bad.append(f"{numbers.start}-{numbers.stop - 1}: {tally.megabytes:.0f} MB")
    return tally


def _chunk(pipe: multiprocessing.connection.Connection, plan: Plan, numbers: range) -> None:  # type: ignore[name-defined]
    pipe.send(run_chunk(plan, numbers))
    pipe.close()


def in_workers(plan: Plan, count: int, jobs: int, size: int = 250) -> Iterator[Tally]:
    """The tally of one chunk after another, each in a process of its own, so that a crash names its chunk."""
    context = multiprocessing.get_context("fork")
    chunks = iter([range(at, min(at + size, count)) for at in range(0, count, size)])
    running: dict[multiprocessing.connection.Connection, tuple[multiprocessing.Process, range]] = {}  # type: ignore[name-defined]
    while True:
        while len(running) < jobs and (numbers := next(chunks, None)) is not None:
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_chunk, args=(theirs, plan, numbers))
            process.start()
            theirs.close()
            running[mine] = process, numbers  # type: ignore[assignment]
        if not running:
            return
        for pipe in multiprocessing.connection.wait(list(running)):  # type: ignore[attr-defined]
            process, numbers = running.pop(pipe)
            try:
                yield pipe.recv()
            except EOFError:
                process.join()
                died = (
                    f"{numbers.start}-{numbers.stop - 1}: the process ended with {process.exitcode}"
                )
                yield Tally(files=len(numbers), bad=[died])
            process.join()


def seeds_of(folders: Sequence[pathlib.Path]) -> tuple[pathlib.Path, ...]:
    found = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if ".venv" not in path.parts and path.stat().st_size <= MAX_SEED
    ]
    return tuple(found)


def generated(count: int, seed: int) -> tuple[str, ...]:
    """Programs made by hypothesmith, none where it is not installed; in a process of its own, since it grows large."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_generated, (count, seed))


def _generated(count: int, seed: int) -> tuple[str, ...]:
    try:
        import hypothesis
        import hypothesmith  # type: ignore[import-not-found]
    except ImportError:
        return ()
    made: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=[*hypothesis.HealthCheck],  # type: ignore[misc]
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(hypothesmith.from_node() | hypothesmith.from_grammar())
    def collect(source: str) -> None:
        made.append(source)

    collect()
    return tuple(made)


def lines_reached(plan: Plan, count: int) -> tuple[Tally, float, dict[str, float]]:
    """(tally, share of the lines of the linter that were run, the same by package)."""
    import coverage

    measured = coverage.Coverage(data_file=None, source_pkgs=["kdacheck"], config_file=False)
    for module in [name for name in sys.modules if name.partition(".")[0] == "kdacheck"]:
        del sys.modules[module]
    measured.start()
    import benchmarks.fuzz as again

    tally = again.run_chunk(plan, range(count))
    measured.stop()
    total: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for filename in measured.get_data().measured_files():
        _, statements, _, missing, _ = measured.analysis2(filename)
        package = pathlib.Path(filename).resolve().relative_to(HERE).parent.as_posix()
        if statements and package.split("/")[-1] not in LEFT_OUT:
            total[package] += len(statements)
            missed[package] += len(missing)
    shares = {name: 1 - missed[name] / total[name] for name in sorted(total)}
    return tally, 1 - sum(missed.values()) / sum(total.values()), shares


def show(tally: Tally, elapsed: float) -> None:
    print(
        f"\n{tally.files:,} files, {tally.bytes / 1e6:,.0f} MB, {tally.interpreted:,} of them interpreted, "
        f"in {elapsed:,.0f} s: {tally.files / elapsed:,.0f} a second"
    )
    print(
        f"slowest: {tally.slowest:.1f} s, {tally.slowest_name}; largest process: {tally.megabytes:.0f} MB\n"
    )
    for title, counts in (
        ("kind", tally.kinds),
        ("code", tally.codes),
        ("unreadable", tally.limits),
    ):
        print(f"| {title} | |\n|---|---:|")
        for name, number in counts.most_common():
            print(f"| {name} | {number:,} |")
        print()
    for line in tally.bad:
        print(f"BAD {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1_000, help="programs made by hypothesmith")
    parser.add_argument(
        "--trees", type=pathlib.Path, nargs="*", default=[], help="folders of seeds"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="the most one file may take")
    parser.add_argument(
        "--megabytes", type=float, default=1_000.0, help="the most a process may take"
    )
    parser.add_argument("--keep", type=pathlib.Path, help="where bad files are kept")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--only", type=int, help="the file of this number alone")
    results.add_option(parser)
    options = parser.parse_args()
    seeds = seeds_of([HERE / "tests", HERE / "examples", HERE / "kdacheck", *options.trees])
    begin = time.perf_counter()
    programs = generated(options.programs, options.seed)
    print(
        f"{len(seeds):,} seeds, {len(programs):,} generated programs in {time.perf_counter() - begin:.0f} s"
    )
    plan = Plan(seeds, programs, options.seed, options.seconds, options.megabytes, options.keep)
    if options.only is not None:
        sys.stdout.buffer.write(plan.made(options.only)[1])
        return 0
    begin = time.perf_counter()
    total = Tally()
    if options.coverage:
        total, share, packages = lines_reached(plan, options.files)
        show(total, time.perf_counter() - begin)
        print(
            f"{share:.1%} of the lines of the linter were run: "
            + ", ".join(f"{name} {part:.0%}" for name, part in packages.items())
        )
        return 1 if total.bad else 0
    for tally in in_workers(plan, options.files, options.jobs):
        total.add(tally)
        for line in tally.bad:
            print(f"BAD {line}", flush=True)
        if total.files % 5_000 == 0:
            print(
                f"{total.files:,} files, {total.files / (time.perf_counter() - begin):.0f} a second",
                flush=True,
            )
    elapsed = time.perf_counter() - begin
    show(total, elapsed)
    if options.save:
        figures = {
            "files": total.files,
            "interpreted": total.interpreted,
            "seconds": elapsed,
            "slowest": total.slowest,
            "megabytes": total.megabytes,
            "bad": total.bad,
            "unreadable": dict(total.limits),
        }
        results.save("fuzz", figures)
    return 1 if total.bad else 0


if __name__ == "__main__":
    sys.exit(main())
