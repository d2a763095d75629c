"""A study as a PNG, where matplotlib is installed."""

from __future__ import annotations

from pathlib import Path

from ....bench.report import Report

_COLOURS = {"on": "tab:green", "off": "tab:gray", "shuffled": "tab:orange"}


def draw(found: Report, target: Path) -> None:
    """Draw success by iteration. Raises ImportError without matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["text.parse_math"] = False
    figure = Figure(figsize=(9, 5), dpi=110, layout="constrained")
    axes = figure.subplots()
    for arm in found.arms:
        colour = _COLOURS[arm.arm.value]
        label = f"{arm.arm.value}, {arm.seeds} seeds"
        axes.plot([n + 1 for n, _ in arm.points], [100 * share for _, share in arm.points], color=colour, label=label)
        if arm.curve is not None:
            fitted = [100 * arm.curve.curve.at(n) for n in range(found.iterations)]
            axes.plot(range(1, found.iterations + 1), fitted, color=colour, linestyle="--", linewidth=0.8)
    kind = "simulated policy" if found.simulated else "policy"
    axes.set_title(f"{found.name}: success by iteration, mean of ten; {kind} {found.policy}")
    axes.set_ylim(0, 100)
    axes.set_xlabel("iteration")
    axes.set_ylabel("success, %")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(target)
