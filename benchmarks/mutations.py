"""Break real call sites one law at a time, and count what the linter finds.

    python benchmarks/mutations.py [--wheels DIR] [--show] [--rule CODE] [--save] [NAME ...]

Call sites are those of the trees of `benchmarks/trees.py` that call a kernel directly. Each mutant rewrites one of them
by source: a reshape or an expand is inserted, an argument is dropped, a dtype changed, a keyword drifts. A mutant counts
only where the fault can be seen in the file: one that needs offsets is made only where they are certainly given. Exit
status 1: fewer than 85 % are found, or a site is flagged before it is broken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import results
from benchmarks.trees import TREES, unpacked
from kdacheck.contracts.clauses import (
    Boundaries,
    Dense,
    Needs,
    Open,
    Packed,
    PoolPair,
    ReadOnlyWith,
)
from kdacheck.source import Unreadable, may_matter
from kdacheck.source.analyse import examine
from kdacheck.source.judge import Scene
from kdacheck.source.run import Run

BAR = 0.85


@dataclass(frozen=True)
class Mutant:
    """One broken law: the codes of which one must be found, and the edits (argument -> new text, None drops it)."""

    codes: tuple[str, ...]
    edits: dict[str, str | None]
    added: str = ""


def wrapped(text: str, how: str) -> str:
    return f"({text}){how}"


def _ranks(scene: Scene, name: str) -> frozenset[int]:
    return scene.contract.by_name[name].annotation.ranks or frozenset()


def certainly(scene: Scene, name: str) -> bool:
    return all(call.given(name) is True for call in scene.calls)


def mutants(scene: Scene, text_of: Callable[[str], str | None]) -> Iterator[Mutant]:
    """The mutants of one call site."""
    contract, roles = scene.contract, scene.contract.roles
    for name in scene.given:
        text = text_of(name)
        if text is None or text == "None":
            continue
        role, ranks = roles[name], _ranks(scene, name)
        dtypes = contract.by_name[name].annotation.dtypes
        if role == "operand" and ranks == {4}:
            yield Mutant(("KDA204",), {name: wrapped(text, ".reshape(-1, 8, 64)")})
            if dtypes is not None and "int64" not in dtypes:
                yield Mutant(("KDA205",), {name: wrapped(text, ".reshape(1, -1, 8, 64).long()")})
        if role == "gate" and ranks and not ranks & {2}:
            yield Mutant(("KDA104",), {name: "torch.rand(64, 8)"})
        if role == "gate parameter":
            dense = [
                law for law in contract.each(Dense) if name in law.parameters and not law.unless
            ]
            if dense:
                strided = wrapped(text, ".reshape(-1)[None].expand(3, -1)")
                yield Mutant(("KDA101", "KDA102"), {name: strided})
        if role == "offsets" and ranks:
            yield Mutant(("KDA305",), {name: wrapped(text, ".reshape(2, -1)")})
            yield Mutant(("KDA304",), {name: wrapped(text, ".float()")})
            yield Mutant(("KDA302",), {name: "torch.tensor([3, 9])"})
            yield Mutant(("KDA301",), {name: "torch.tensor([5, 3])"})
            yield Mutant(("KDA308",), {name: "torch.tensor([0, 9, 5])"})
            yield Mutant(("KDA303",), {name: "torch.tensor([0, 5, 12]) // 2"})
        if role == "index" and ranks == {1}:
            yield Mutant(("KDA405",), {name: wrapped(text, ".reshape(2, -1)")})
        if role == "state" and dtypes == {"float32"}:
            yield Mutant(("KDA402",), {name: wrapped(text, ".to(torch.bfloat16)")})
        if role == "cursor":
            yield Mutant(("KDA406",), {name: wrapped(text, ".long()")})
    yield from _by_clause(scene, text_of)


def _by_clause(scene: Scene, text_of: Callable[[str], str | None]) -> Iterator[Mutant]:
    contract = scene.contract
    keywords = [n for n in scene.given if text_of(n) is not None and _is_keyword(scene, n)]
    for law in contract.each(Packed):
        if certainly(scene, law.by):
            for name in law.operands:
                text = text_of(name)
                if text is not None and _ranks(scene, name) == {4}:
                    yield Mutant(("KDA001",), {name: wrapped(text, ".reshape(2, -1, 8, 64)")})
        for name in law.operands:
            text = text_of(name)
            if text is not None and _ranks(scene, name) == {4}:
                cut = wrapped(text, ".reshape(1, -1, 8, 64)[:17]")
                yield Mutant(("KDA002",), {name: cut})
    names = contract.by_name
    q, k = text_of("q"), text_of("k")
    heads = all("H" in names[n].text for n in ("q", "k") if n in names)
    if (
        q is not None
        and k is not None
        and heads
        and _ranks(scene, "q") == _ranks(scene, "k") == {4}
    ):
        pair = {
            "q": wrapped(q, ".reshape(1, -1, 2, 32)"),
            "k": wrapped(k, ".reshape(1, -1, 3, 32)"),
        }
        yield Mutant(("KDA203",), dict(pair))
    for law in contract.each(PoolPair):
        if law.indices in keywords and certainly(scene, law.pool):
            yield Mutant(("KDA404",), {law.indices: None})
    for law in contract.each(ReadOnlyWith):
        if law.flag in keywords and any(
            certainly(scene, p) for p in law.parameters if p in scene.given
        ):
            yield Mutant(("KDA105",), {law.flag: None})
    for law in contract.each(Needs):
        missing = [c for c in law.companions if c in scene.given]
        if len(law.flags) == 1 and not missing and law.flags[0] not in scene.given:
            yield Mutant(("KDA503",), {}, f"{law.flags[0]}=True")
    if keywords and scene.calls[0].complete and contract.first(Open) is None:
        yield Mutant(("KDA501",), {}, f"{keywords[0]}_drifted=None")
    by = contract.first(Boundaries)
    if by is not None and by.by in keywords and by.by in names:
        yield Mutant(("KDA003",), {by.by: None})


def _is_keyword(scene: Scene, name: str) -> bool:
    assert isinstance(scene.node, cst.Call)
    return any(arg.keyword is not None and arg.keyword.value == name for arg in scene.node.args)


class Site:
    """One direct call in one file."""

    def __init__(
        self, filename: str, text: str, scene: Scene, parents: Mapping[cst.CSTNode, cst.CSTNode]
    ) -> None:
        assert isinstance(scene.node, cst.Call)
        self.filename, self.text, self.scene, self.node = filename, text, scene, scene.node
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.rows = tuple(row for row, _ in scene.module.position(scene.node))
        self.parents = parents

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        (row, column), (end_row, end_column) = self.scene.module.position(node)
        return self.starts[row - 1] + column - 1, self.starts[end_row - 1] + end_column - 1

    def arg(self, name: str) -> cst.Arg | None:
        """The argument that passes a parameter by itself, not through a star."""
        argument = self.scene.given.get(name)
        for arg in self.node.args:
            if argument is not None and arg.value is argument.node and not arg.star:
                return arg
        return None

    def text_of(self, name: str) -> str | None:
        arg = self.arg(name)
        if arg is None:
            return None
        start, end = self.span(arg.value)
        return self.text[start:end]

    def broken(self, mutant: Mutant) -> str | None:
        """The text of the file with the mutant in it."""
        edits: list[tuple[int, int, str]] = []
        for name, new in mutant.edits.items():
            arg = self.arg(name)
            if arg is None:
                return None
            start, end = self.span(arg.value if new is not None else arg)
            edits.append((start, end, new if new is not None else "**{}"))
        if mutant.added:
            _, end = self.span(self.node.args[-1].value)
            edits.append((end, end, f", {mutant.added}"))
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


@dataclass(frozen=True)
class Wires:
    """What a reader sees of a call that takes boundaries.

    function: the function it stands in. branches: the blocks of compound statements around it, outermost first.
    names: the variables that hold its operands and results.
    """

    function: cst.FunctionDef
    branches: tuple[tuple[cst.CSTNode, cst.CSTNode], ...]
    names: frozenset[str]


def wires_of(site: Site) -> Wires | None:
    """None for a call that gets no boundaries, or stands in no function."""
    law = site.scene.contract.first(Boundaries)
    passed = site.arg(law.by) if law is not None else None
    if law is None or passed is None:
        return None
    operands = [arg.value for name in law.operands if (arg := site.arg(name)) is not None]
    branches: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    node: cst.CSTNode = site.node
    while not isinstance(node, cst.FunctionDef):
        parent = site.parents.get(node)
        if parent is None:
            return None
        if isinstance(parent, cst.Assign):
            operands.extend(target.target for target in parent.targets)
        if isinstance(parent, (cst.If, cst.Try, cst.Match)):
            branches.insert(0, (parent, node))
        node = parent
    held = passed.value.value if isinstance(passed.value, cst.Name) else ""
    names = frozenset(n for operand in operands for n in names_in(operand)) - {held, "self"}
    return Wires(node, tuple(branches), names)


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """The variables in an expression, less what is only called."""
    if isinstance(node, cst.Name):
        yield node.value
    for child in node.children:
        called = isinstance(node, cst.Call) and child is node.func
        if not (called and isinstance(child, cst.Name)):
            yield from names_in(child)


def is_visible(site: Site, sites: list[Site]) -> bool:
    """Whether a reader of the file can see that a call without boundaries lacks them.

    Another contracted call of the function is given boundaries, shares a variable with it (an operand or a result), and
    does not stand in another branch of the same statement: what is dense in one branch may be packed in the other.
    """
    own = wires_of(site)
    if own is None:
        return False
    for other in sites:
        wires = wires_of(other) if other is not site else None
        if wires is None or wires.function is not own.function or not wires.names & own.names:
            continue
        if not any(a[0] is b[0] and a[1] is not b[1] for a in own.branches for b in wires.branches):
            return True
    return False


def parents_in(body: Sequence[cst.CSTNode]) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    stack = [*body]
    while stack:
        node = stack.pop()
        for child in node.children:
            yield child, node
            stack.append(child)


def sites_of(filename: str, data: bytes) -> list[Site]:
    seen: list[Run] = []
    text = data.decode()
    findings = examine(filename, data, {}, seen=seen).findings
    flagged = {row for f in findings for row in range(f.location.row, f.end_location.row + 1)}
    sites: dict[tuple[int, ...], Site] = {}
    parents: dict[cst.CSTNode, cst.CSTNode] = {}
    for run in seen:
        callees = Counter((scene.node, scene.path) for scene in run.scenes)
        ambiguous = {n for n, _ in callees if sum(n is m for m, _ in callees) > 1}
        for scene in run.scenes:
            if scene.node in ambiguous:
                continue  # one of several callees, by the path taken
            direct = not scene.chain and scene.module.filename == filename
            if direct and isinstance(scene.node, cst.Call):
                parents = parents or dict(parents_in(scene.module.body))
                site = Site(filename, text, scene, parents)
                if not flagged & set(range(site.rows[0], site.rows[1] + 1)):
                    sites.setdefault(site.rows, site)
    return list(sites.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="distributions (all of them)")
    parser.add_argument("--wheels", type=Path, help="where wheels are kept")
    parser.add_argument("--show", action="store_true", help="print every mutant that is missed")
    parser.add_argument("--rule", help="make the mutants of this code only")
    results.add_option(parser)
    options = parser.parse_args()
    wheels = options.wheels or Path(
        os.environ.get("KDACHECK_WHEELS") or Path(tempfile.gettempdir(), "kdacheck-wheels")
    )
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    count = 0
    for name in options.names or TREES:
        folder = unpacked(name, TREES[name], wheels)
        for path in sorted(folder.resolve().rglob("*.py")) if folder is not None else ():
            data = path.read_bytes()
            if not may_matter(data) or b"import torch" not in data:
                continue
            sites = sites_of(str(path), data)
            count += len(sites)
            for site in sites:
                for mutant in mutants(site.scene, site.text_of):
                    if options.rule is not None and options.rule not in mutant.codes:
                        continue
                    if mutant.codes == ("KDA003",) and not is_visible(site, sites):
                        continue
                    text = site.broken(mutant)
                    if text is None:
                        continue
                    label = "/".join(mutant.codes)
                    made[label] += 1
                    try:
                        findings = examine(str(path), text.encode(), {}).findings
                    except Unreadable:
                        made[label] -= 1
                        continue
                    rows = range(site.rows[0], site.rows[1] + 1)
                    codes = {f.code for f in findings if f.location.row in rows}
                    if codes & set(mutant.codes):
                        found[label] += 1
                    elif options.show:
                        print(
                            f"missed {label} {path}:{site.rows[0]} {mutant.edits or mutant.added}"
                        )
    print(f"\n{count} call sites\n\n| rule | mutants | found | rate |\n|---|---:|---:|---:|")
    for label in sorted(made):
        print(f"| {label} | {made[label]} | {found[label]} | {found[label] / made[label]:.0%} |")
    total, hits = made.total(), found.total()
    print(f"| all | {total} | {hits} | {hits / max(1, total):.1%} |")
    if options.save:
        rates = {label: [made[label], found[label]] for label in sorted(made)}
        results.save("mutations", {"sites": count, "mutants": total, "found": hits, "rules": rates})
    return 0 if total and hits / total >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
