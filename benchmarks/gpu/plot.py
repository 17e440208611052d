#!/usr/bin/env python3
"""Draw time against tokens, as measured.

python benchmarks/gpu/plot.py            # reads benchmarks/gpu/RESULTS.md, writes docs/kernels.svg
"""

from __future__ import annotations

import math
from pathlib import Path

HERE = Path(__file__).parent
TITLE = "prefill of 16 heads by tokens"
COLOURS = {
    "kdacheck": "#0b6bcb",
    "sglang-helion": "#c2410c",
    "sglang-triton": "#a16207",
    "fla": "#15803d",
    "floor": "#6b7280",
}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 440, 70, 30, 130, 50


def series(markdown: str) -> dict[str, list[tuple[float, float]]]:
    """Microseconds by tokens, for each column of the table."""
    lines = iter(markdown.splitlines())
    names = next(
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith(f"| {TITLE} |")
    )[1:]
    next(lines)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for line in lines:
        if not line.startswith("|"):
            break
        tokens, *cells = (cell.split()[0] for cell in line.strip("|").split("|"))
        for name, cell in zip(names, cells, strict=True):
            if cell != "-":
                found[name].append((float(tokens), float(cell)))
    return {name: points for name, points in found.items() if points}


def drawn(lines: dict[str, list[tuple[float, float]]]) -> str:
    """Both axes logarithmic."""
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    first, last = math.log2(min(xs)), math.log2(max(xs))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log2(x) - first) / (last - first)
        up = (math.log10(y) - low) / (high - low)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        x, y = at(min(xs), 10**power)
        parts.append(
            f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#e5e7eb"/>'
            f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>'
        )
    for tokens in sorted(set(xs)):
        x, y = at(tokens, 10**low)
        parts.append(
            f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{tokens:,.0f}</text>'
        )
    parts.append(f'<text x="{LEFT}" y="18">microseconds</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">tokens</text>'
    )
    ends: list[float] = []
    for name, points in sorted(lines.items(), key=lambda line: -line[1][-1][1]):
        colour = COLOURS.get(name, "#000000")
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
        dash = ' stroke-dasharray="5 4"' if name == "floor" else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        x, y = at(*points[-1])
        # Names must not lie on one another where lines end close together.
        y = max(y, ends[-1] + 14) if ends else y
        ends.append(y)
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    target = HERE.parents[1] / "docs" / "kernels.svg"
    target.write_text(drawn(series((HERE / "RESULTS.md").read_text())))
    print(target.name)
