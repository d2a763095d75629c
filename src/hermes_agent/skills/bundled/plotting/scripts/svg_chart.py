"""Draw a line or bar chart of a CSV file as SVG, with nothing but the standard library.

    svg_chart.py FILE --x COLUMN --y COLUMN[,COLUMN] [--kind line|bar] [--title TEXT] [--unit TEXT] --out FILE.svg

Points are drawn in the order of the file. Rows without a number are left out and counted.
"""

import argparse
import csv
import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 450, 70, 20, 50, 60
COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6f5f90", "#444444")


def ticks(low: float, high: float) -> list[float]:
    """Round numbers that cover the range."""
    rough = (high - low) / 5 or 1.0
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    first = math.floor(low / step) * step
    return [first + step * count for count in range(math.ceil((high - first) / step) + 1)]


def text(x: float, y: float, said: str, anchor: str = "middle", size: int = 12) -> str:
    """A piece of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(said)}</text>'


class Chart:
    """Series over common labels, in a fixed frame."""

    def __init__(self, labels: list[str], series: dict[str, list[float]], *, bars: bool) -> None:
        self.labels, self.series, self.bars = labels, series, bars
        values = [value for each in series.values() for value in each]
        low, high = min(values), max(values)
        self.ticks = ticks(min(low, 0.0) if bars else low, max(high, 0.0) if bars else high)

    def x(self, place: float) -> float:
        """Where a point lies from left to right."""
        return LEFT + (place + 0.5) * (WIDTH - LEFT - RIGHT) / len(self.labels)

    def y(self, value: float) -> float:
        """Where a value lies from top to bottom."""
        low, high = self.ticks[0], self.ticks[-1]
        return TOP + (high - value) / ((high - low) or 1) * (HEIGHT - TOP - BOTTOM)

    def frame(self, title: str, unit: str, x_name: str) -> list[str]:
        """Title, axes, grid and labels."""
        parts = [text(WIDTH / 2, 24, title, size=16), text(WIDTH / 2, HEIGHT - 12, x_name)]
        parts.append(text(LEFT, TOP - 10, unit, "start"))
        for tick in self.ticks:
            y = self.y(tick)
            parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(text(LEFT - 8, y + 4, f"{tick:.6g}", "end", 11))
        every = math.ceil(len(self.labels) / 10)
        for place, label in enumerate(self.labels):
            if place % every == 0:
                parts.append(text(self.x(place), HEIGHT - BOTTOM + 20, label[:12], size=11))
        return parts

    def marks(self) -> list[str]:
        """The data and its legend."""
        parts = []
        wide = 0.8 * (WIDTH - LEFT - RIGHT) / len(self.labels) / len(self.series)
        for number, (name, values) in enumerate(self.series.items()):
            colour = COLOURS[number % len(COLOURS)]
            if self.bars:
                shift = (number - len(self.series) / 2) * wide
                for place, value in enumerate(values):
                    top, bottom = sorted((self.y(value), self.y(0.0)))
                    box = f'x="{self.x(place) + shift:.1f}" y="{top:.1f}" width="{wide:.1f}"'
                    parts.append(f'<rect {box} height="{bottom - top:.1f}" fill="{colour}"/>')
            else:
                points = " ".join(f"{self.x(place):.1f},{self.y(value):.1f}" for place, value in enumerate(values))
                parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            x = LEFT + 120 * number
            parts.append(f'<rect x="{x}" y="32" width="10" height="10" fill="{colour}"/>')
            parts.append(text(x + 14, 41, name[:16], "start"))
        return parts


def read(path: Path, x: str, names: list[str]) -> tuple[list[str], dict[str, list[float]], int]:
    """Labels, series, and how many rows had no number."""
    labels: list[str] = []
    series: dict[str, list[float]] = {name: [] for name in names}
    skipped = 0
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in (x, *names) if name not in (reader.fieldnames or ())]
        if missing:
            raise SystemExit(f"no such column: {', '.join(missing)}; there are: {', '.join(reader.fieldnames or ())}")
        for row in reader:
            try:
                values = [float(row[name]) for name in names]
            except (TypeError, ValueError):
                skipped += 1
                continue
            if not all(map(math.isfinite, values)):
                skipped += 1
                continue
            labels.append(row[x] or "")
            for name, value in zip(names, values, strict=True):
                series[name].append(value)
    return labels, series, skipped


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--x", required=True)
    parser.add_argument("--y", required=True)
    parser.add_argument("--kind", choices=("line", "bar"), default="line")
    parser.add_argument("--title", default="")
    parser.add_argument("--unit", default="")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    labels, series, skipped = read(given.file, given.x, given.y.split(","))
    if not labels:
        print("there is no row with a number in it", file=sys.stderr)
        return 1
    chart = Chart(labels, series, bars=given.kind == "bar")
    title = given.title or f"{given.y} by {given.x}"
    parts = [*chart.frame(title, given.unit, given.x), *chart.marks()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    given.out.write_text("\n".join([head, background, *parts, "</svg>", ""]), encoding="utf-8")
    print(f"{given.out}: {len(labels)} points, {len(series)} series, {skipped} rows left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
