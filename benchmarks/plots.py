"""Draw what was measured, from benchmarks/results to SVG for docs/benchmarks.md.

    python benchmarks/plots.py [--check]

One picture for each result that has something to draw. --check writes nothing; status 1 where a picture is stale.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import sys
from collections.abc import Mapping, Sequence
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import results  # noqa: E402

FOLDER = ROOT / "docs" / "images"
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 360, 64, 48, 36, 24

Points = Sequence[tuple[float, float]]


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers between two."""
    if logarithmic:
        return [
            10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        ]
    step = 10.0 ** math.floor(math.log10(high or 1))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if high / s <= 6)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def shown(number: float) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    return f"{number / 1_000:g}k" if number >= 1_000 else f"{number:g}"


def plot(
    title: str, across: str, up: str, series: Mapping[str, Points], *, logarithmic: bool = False
) -> str:
    """Lines with their points and names. logarithmic: both axes are."""
    points = [point for line in series.values() for point in line]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low_x, high_x = (min(xs), max(xs)) if logarithmic else (0.0, max(xs))
    low_y, high_y = (min(ys), max(ys)) if logarithmic else (0.0, max(ys) * 1.05)

    def place(value: float, low: float, high: float, start: float, end: float) -> float:
        if logarithmic:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return start + (value - low) / ((high - low) or 1) * (end - start)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            place(x, low_x, high_x, LEFT, WIDTH - RIGHT),
            place(y, low_y, high_y, HEIGHT - BOTTOM, TOP),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{WIDTH / 2}" y="20" text-anchor="middle" font-size="14">{escape(title)}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across)}</text>',
        f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">{escape(up)}</text>',
    ]
    for x in ticks(low_x, high_x, logarithmic):
        px, _ = at(x, high_y)
        parts.append(f'<path d="M{px:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{px:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{shown(x)}</text>'
        )
    for y in ticks(low_y, high_y, logarithmic):
        _, py = at(high_x, y)
        parts.append(f'<path d="M{LEFT} {py:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{shown(y)}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = ("#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6")[number % 4]
        placed = [at(x, y) for x, y in sorted(line)]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        parts.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed]
        parts.append(
            f'<text x="{LEFT + 10}" y="{TOP + 16 * (number + 1)}" fill="{colour}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def pictures() -> dict[str, str]:
    """File name -> SVG, for every result there is."""
    found: dict[str, str] = {}
    scale = results.load("scale")
    if scale is not None:
        rows, fit = scale["figures"]["rows"], scale["figures"]["fit"]
        line = [
            (row["lines"], fit["start"] + fit["slope"] * row["lines"])
            for row in (rows[0], rows[-1])
        ]
        seconds = {
            "measured": [(row["lines"], row["seconds"]) for row in rows],
            f"linear fit, R2 = {fit['r2']:.4f}": [(x, max(y, 0.0)) for x, y in line],
        }
        found["lint-time.svg"] = plot("Lint time against tree size", "lines", "seconds", seconds)
        memory = {
            "command and workers together": [(row["lines"], row["megabytes"]) for row in rows]
        }
        found["lint-memory.svg"] = plot("Peak memory against tree size", "lines", "MB", memory)
    runtime = results.load("runtime")
    if runtime is not None and "by_arguments" in runtime["figures"]:
        lines = {
            name: [(row[0], row[1]) for row in rows]
            for name, rows in runtime["figures"]["by_arguments"].items()
        }
        found["runtime-overhead.svg"] = plot(
            "A checked call against its tensors", "tensors", "us a call", lines
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = 0
    for name, text in pictures().items():
        path = FOLDER / name
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale += 1
        print(f"{path.relative_to(ROOT)}: {'stale' if options.check else 'written'}")
        if not options.check:
            path.write_text(text, "utf-8")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
