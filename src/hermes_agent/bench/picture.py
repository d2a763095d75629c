"""A study as a picture that needs no library: success by iteration, one line for each arm."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from .report import ArmReport, Report

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 380, 56, 44, 46
_COLOURS = {"on": "#1a7f5a", "off": "#8a8f98", "shuffled": "#b3541e"}


def svg(report: Report) -> str:
    """The picture. It reads on light and on dark pages."""
    kind = "simulated policy" if report.simulated else "policy"
    title = f"{report.name}: success by iteration, mean of ten; {kind} {report.policy}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15" fill="#1c1f24">{escape(title)}</text>',
        *_axes(report.iterations),
    ]
    for place, arm in enumerate(report.arms):
        parts += _line(arm, report.iterations, place)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(number: float, iterations: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - 20) * number / max(1, iterations)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def _axes(iterations: int) -> list[str]:
    parts = []
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e5e8"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555b63">{percent} %</text>')
    step = max(1, iterations // 10)
    for number in range(0, iterations + 1, step):
        x = _x(number, iterations)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle" fill="#555b63">{number}</text>'
        )
    return parts


def _line(arm: ArmReport, iterations: int, place: int) -> list[str]:
    colour = _COLOURS[arm.arm.value]
    x = _LEFT + 12 + 120 * place
    parts = [
        f'<rect x="{x}" y="{_HEIGHT - 16}" width="18" height="4" fill="{colour}"/>',
        f'<text x="{x + 24}" y="{_HEIGHT - 9}" fill="#1c1f24">{arm.arm.value}, {arm.seeds} seeds</text>',
    ]
    if arm.points:
        parts.append(_path([(number + 1, value) for number, value in arm.points], iterations, colour, "2.2"))
    if arm.curve is not None:
        fitted = [(number + 1, arm.curve.curve.at(number)) for number in range(iterations)]
        parts.append(_path(fitted, iterations, colour, "1", dashed=True))
    return parts


def _path(
    points: Sequence[tuple[float, float]], iterations: int, colour: str, width: str, *, dashed: bool = False
) -> str:
    drawn = " ".join(f"{_x(number, iterations):.1f},{_y(share):.1f}" for number, share in points)
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<polyline fill="none" stroke="{colour}" stroke-width="{width}"{dashes} points="{drawn}"/>'
