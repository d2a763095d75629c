"""The learning curve as a picture: success with its fit above, entropy below, learning events as vertical lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....types.errors import MissingExtra, StoreUnwritable
from ....types.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .curve import Found

_COLOURS = {"activated": "tab:green", "retired": "tab:gray", "rolled back": "tab:red"}


def draw(found: Found, target: Path) -> None:
    """Draw into `target`, as its ending says."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "drawing needs the package matplotlib", remedy="pip install 'hermes-harness[data]'"
        ) from error
    matplotlib.rcParams["text.parse_math"] = False
    figure = Figure(figsize=(9, 6), dpi=110, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    _success(above, found)
    below.plot([n + 1 for n, _ in found.curves.entropy], [bits for _, bits in found.curves.entropy], color="tab:purple")
    below.set_ylabel("entropy, bits")
    below.set_xlabel("run")
    below.set_ylim(bottom=0)
    for axes in (above, below):
        _events(axes, found)
        axes.grid(alpha=0.3)
    above.legend(loc="lower right", fontsize="small")
    above.set_title(one_line(_title(found), 120))
    try:
        figure.savefig(target, format=target.suffix.lower().removeprefix("."))
    except OSError as error:
        raise StoreUnwritable(f"cannot write {target}: {error.strerror}", remedy="choose another file") from error


def _success(axes: Axes, found: Found) -> None:
    series = found.curves.success
    numbers = [n + 1 for n, _ in series.window]
    axes.plot(numbers, [rate for _, rate in series.window], label=f"measured, mean of {found.curves.window} runs")
    if series.fit is not None:
        curve = series.fit.curve
        fitted = f"measured, fitted: {curve.initial:.2f} to {curve.asymptote:.2f}, rate {curve.rate:.3g}"
        axes.plot(numbers, [curve.at(n - 1) for n in numbers], linestyle="--", label=fitted)
    if found.reference is not None:
        reference = found.reference
        axes.plot(
            numbers,
            [reference.curve.at(n - 1) for n in numbers],
            linestyle=":",
            color="black",
            label=f"{reference.label}: {reference.domain}",
        )
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("success rate")


def _events(axes: Axes, found: Found) -> None:
    """One line for each kind of change between two runs, however many heuristics it was."""
    named = set()
    for place, change in sorted({(place, mark.change) for place, mark in found.events}):
        label = "_" if change in named else change
        named.add(change)
        axes.axvline(place + 0.5, color=_COLOURS[change], linewidth=0.9, alpha=0.7, label=label)


def _title(found: Found) -> str:
    on = f" on {found.asked.model}" if found.asked.model else ""
    return f"{found.asked.family or 'all families'}{on}: {len(found.runs)} runs"
