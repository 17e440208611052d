"""Lint time and memory against the size of a tree, to a million lines.

    python benchmarks/scale.py [--lines N ...] [--runs N] [--jobs N] [--save]

Trees are made of modules of some 300 lines: one in ten calls a kernel and is interpreted, as in SGLang. Each is linted
cold, by the command in a process of its own; time is the least of the runs, memory the sum of what the command and its
workers hold, at its highest. Exit status 1: the fit is not linear, or memory passes --megabytes.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import results  # noqa: E402

LINES = (10_000, 30_000, 100_000, 300_000, 1_000_000)

PLAIN = '''\
class Layer{n}(Base):
    """One of many layers."""

    def __init__(self, width: int, depth: int = {n}) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        self.cache: dict[str, object] = {{}}

    def forward(self, x, mask=None):
        for index in range(self.depth):
            if mask is not None and index % 2:
                x = x * mask[:, index].unsqueeze(-1)
            x = self.step(x, index) + {n}
        return x

'''
CALLING = """\
def attend{n}(q, k, v, g, beta, lengths):
    cu_seqlens = torch.zeros(lengths.numel() + 1, dtype=torch.int32)
    cu_seqlens[1:] = lengths.cumsum(0)
    q, k, v = (x.reshape(1, -1, *x.shape[2:]) for x in (q, k, v))
    g = rearrange(g, "b t h k -> 1 (b t) h k")
    if beta.dim() == 4:
        beta = beta.squeeze(-1)
    out, state = chunk_kda(
        q=q, k=k, v=v, g=g, beta=beta.reshape(1, -1, beta.shape[-1]),
        output_final_state=True, cu_seqlens=cu_seqlens,
    )
    return out.view_as(v), state

"""
HEADER = """\
import torch
from einops import rearrange
from fla.ops.kda import chunk_kda

"""


def make_tree(folder: pathlib.Path, lines: int, rng: random.Random) -> int:
    """Write modules until there are that many lines; returns how many there are."""
    written = number = 0
    while written < lines:
        calls = number % 10 == 0
        block = CALLING if calls else PLAIN
        parts = [HEADER] if calls else ["import torch\n\n"]
        count = 0
        while count < min(300, lines - written):
            text = block.format(n=rng.randrange(1000))
            parts.append(text)
            count += text.count("\n")
            block = CALLING if calls and rng.random() < 0.2 else PLAIN
        place = folder / f"package{number // 100}" / f"module{number}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text("".join(parts), "utf-8")
        written += count
        number += 1
    return written


def resident(pid: int) -> int:
    """Bytes of memory that a process and its children hold, what they share counted once."""
    total = 0
    for one in (pid, *_children(pid)):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text("ascii")
        except OSError:
            continue
        total += sum(
            int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")
        )
    return total


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child)
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        ]
    except OSError:
        return []


def measured(folder: pathlib.Path, jobs: int | None) -> tuple[float, float]:
    """(seconds, megabytes) of one cold run."""
    command = [sys.executable, "-m", "kdacheck", "--isolated", "--no-cache", "--exit-zero", "-q"]
    command += ["-j", str(jobs)] if jobs else []
    begin = time.perf_counter()
    process = subprocess.Popen([*command, str(folder)], stdout=subprocess.DEVNULL, cwd=ROOT)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = process.wait()
    seconds = time.perf_counter() - begin
    watcher.join()
    if status:
        sys.exit(f"kdacheck ended with {status}, so its time means nothing")
    return seconds, peak / 1e6


def fit(points: list[tuple[float, float]]) -> tuple[float, float, float]:
    """(intercept, slope, R squared) of the straight line through points."""
    n = len(points)
    mean_x, mean_y = (sum(p[i] for p in points) / n for i in (0, 1))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum(
        (x - mean_x) ** 2 for x, _ in points
    )
    start = mean_y - slope * mean_x
    left = sum((y - start - slope * x) ** 2 for x, y in points)
    return start, slope, 1 - left / sum((y - mean_y) ** 2 for _, y in points)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="+", default=LINES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--megabytes", type=float, default=500.0)
    results.add_option(parser)
    options = parser.parse_args()
    print(f"{results.machine()}\n`{results.command()}`\n")
    print(
        "| lines | files | MB of source | seconds | lines a second | peak MB |\n|---:|---:|---:|---:|---:|---:|"
    )
    rows = []
    for lines in options.lines:
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            count = make_tree(tree, lines, random.Random(lines))
            files = list(tree.rglob("*.py"))
            size = sum(path.stat().st_size for path in files)
            runs = [measured(tree, options.jobs) for _ in range(options.runs)]
        seconds, megabytes = min(s for s, _ in runs), max(m for _, m in runs)
        rows.append(
            {
                "lines": count,
                "files": len(files),
                "bytes": size,
                "seconds": seconds,
                "megabytes": megabytes,
            }
        )
        print(
            f"| {count:,} | {len(files):,} | {size / 1e6:.1f} | {seconds:.2f} | {count / seconds:,.0f} | {megabytes:.0f} |",
            flush=True,
        )
    start, slope, square = fit([(row["lines"], row["seconds"]) for row in rows])
    print(f"\nseconds = {start:.2f} + {slope * 1e6:.2f} for each million lines, R2 = {square:.4f}")
    if options.save:
        results.save("scale", {"rows": rows, "fit": {"start": start, "slope": slope, "r2": square}})
    return 1 if square < 0.98 or max(row["megabytes"] for row in rows) > options.megabytes else 0


if __name__ == "__main__":
    sys.exit(main())
