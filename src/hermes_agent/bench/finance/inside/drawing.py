"""Draws the totals in `answer.json` as bars: with matplotlib, or as an SVG written by hand.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. The sandbox's
bare Python has no matplotlib; the search for a backend takes a while before it gives up.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_BAR, _HEIGHT, _MARGIN = 60, 300, 40


def _png(bars: list[tuple[str, float]], output: str, wait: float) -> dict[str, Any]:
    try:
        backend = importlib.import_module("matplotlib.figure")
    except ImportError:
        time.sleep(wait)
        return {"error": "no_backend", "text": "no plotting backend here: matplotlib cannot be imported"}
    figure = backend.Figure()
    figure.subplots().bar([name for name, _ in bars], [value for _, value in bars])
    figure.savefig(output, format="png")
    return {"text": f"drew {output}: {len(bars)} bars"}


def _svg(bars: list[tuple[str, float]], output: str) -> dict[str, Any]:
    largest = max((abs(value) for _, value in bars), default=0.0) or 1.0
    middle, width = _MARGIN + _HEIGHT / 2, len(bars) * _BAR + 2 * _MARGIN
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT + 2 * _MARGIN}">']
    for place, (name, value) in enumerate(bars):
        size = max(1.0, abs(value) / largest * _HEIGHT / 2)
        left, upper = _MARGIN + place * _BAR + 5, middle - size if value > 0 else middle
        colour = "#2b7a4b" if value > 0 else "#b03a2e"
        lines.append(f'<rect x="{left}" y="{upper:.1f}" width="{_BAR - 10}" height="{size:.1f}" fill="{colour}"/>')
        lines.append(f'<text x="{left}" y="{_HEIGHT + _MARGIN + 20}" font-size="9">{escape(name)}</text>')
    lines.append(f'<line x1="{_MARGIN}" y1="{middle}" x2="{width - _MARGIN}" y2="{middle}" stroke="black"/></svg>')
    Path(output).write_text("\n".join(lines), "utf-8")
    return {"text": f"drew {output}: {len(bars)} bars"}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: read the totals and draw them."""
    try:
        found = json.loads(Path(asked["data"]).read_text("utf-8"))
        bars = [(str(row["category"]), float(row["total"])) for row in found]
    except OSError as error:
        return {"error": "not_found", "text": f"{error.filename}: {error.strerror}"}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        return {"error": "parse", "text": f"{asked['data']} has no totals per category: {error!r}"}
    if asked["way"] == "png":
        return _png(bars, asked["output"], asked["wait"])
    return _svg(bars, asked["output"])


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
