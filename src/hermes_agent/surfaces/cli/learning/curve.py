"""`hermes learning curve`: success over time, the fitted curve and the moments of learning, as table and plot."""

from __future__ import annotations

import asyncio
import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ....learning.curves import FEWEST, Fit, Interval, Measured, Reference, measured, references
from ....store.database import Connection
from ....store.heuristics import EVERY_FAMILY
from ....store.learning_views import Mark, RunPoint, entropy, family_named, known_model, marks, recent_runs
from ....types.base import Value
from ....types.errors import NotFound, UsageError
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option

_ROWS = 10
_SPARKS = "▁▂▃▄▅▆▇█"
_WIDEST = 60
_SUFFIXES = (".png", ".svg")


class Asked(Value, frozen=True, kw_only=True):
    """What the user wants to see; also the answer's beginning in JSON."""

    family: str
    model: str
    window: int
    last: int


class Found(Value, frozen=True, kw_only=True):
    """Runs, their curves, and the moments of learning among them, each with the number of runs before it."""

    asked: Asked
    runs: tuple[RunPoint, ...]
    curves: Measured
    events: tuple[tuple[int, Mark], ...]
    reference: Reference | None = None


@click.command(short_help="Success over time, with the moments of learning.")
@click.option("--family", default="", metavar="FAMILY", help="Only runs of this family, by id or name.")
@click.option("-m", "--model", default="", metavar="PROVIDER:MODEL", help="Only runs on this model.")
@click.option("--window", type=click.IntRange(2, 1000), default=20, show_default=True, help="Runs in a moving mean.")
@click.option("--last", type=click.IntRange(1, 20_000), default=2000, show_default=True, help="At most so many runs.")
@click.option("--reference", default="", metavar="DOMAIN", help="Show a seed curve beside it, such as code_debugging.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw a .png or .svg.")
@click.option("--force", is_flag=True, help="Replace the file of --plot if it exists.")
@json_option
def command(
    family: str, model: str, window: int, last: int, reference: str, plot: Path | None, force: bool, as_json: bool
) -> None:
    """How success, time, error recovery and reuse developed over runs, fitted to a - (a - i) * exp(-r n)."""
    beside = _reference(reference)
    if plot is not None:
        check_target(plot, replace=force)

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            found = await app.store.database.read(
                lambda connection: _found(
                    connection, Asked(family=family, model=model, window=window, last=last), beside
                )
            )
        if as_json:
            print_json(found)
        elif not found.runs:
            console.note(
                'no run was learned from yet: `hermes run "TEXT" --family NAME --check COMMAND` makes one, and the'
                " curve needs several"
            )
        else:
            _print(console, found)
        if plot is not None and found.runs:
            from .curve_plot import draw

            draw(found, plot)
            console.note(f"wrote {plot}")

    asyncio.run(work())


def _reference(domain: str) -> Reference | None:
    if not domain:
        return None
    if domain not in references():
        raise NotFound(f"there is no reference curve {domain!r}", remedy=f"choose one of {', '.join(references())}")
    return references()[domain]


def check_target(plot: Path, *, replace: bool) -> None:
    """Refuse at once what would only fail, or cost a file, after the drawing."""
    if plot.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{plot} is neither .png nor .svg", remedy="give the file one of these endings")
    if not plot.parent.is_dir():
        raise UsageError(f"there is no folder {plot.parent}", remedy="make it, or choose another file")
    if plot.exists() and not replace:
        raise UsageError(f"{plot} exists already", remedy="choose another name, or replace it with --force")


def _found(connection: Connection, asked: Asked, reference: Reference | None) -> Found:
    family = family_named(connection, asked.family) if asked.family else ""
    if asked.model:
        known_model(connection, asked.model)
    runs = recent_runs(connection, family=family, model=asked.model, limit=asked.last)
    learned: list[Mark] = []
    if runs:
        families = (family, EVERY_FAMILY) if family else ()
        learned = marks(connection, families=families, model=asked.model, since=runs[0].at)
    times = [run.at for run in runs]
    return Found(
        asked=asked,
        runs=tuple(runs),
        curves=measured(runs, asked.window),
        events=tuple((bisect.bisect_left(times, mark.at), mark) for mark in learned),
        reference=reference,
    )


def _print(console: Console, found: Found) -> None:
    head = ("runs", "success", "seconds", "recovered", "advised", "entropy", "learning events")
    console.table(head, list(_rows(found)))
    curves = found.curves
    console.say("")
    rates = [value for _, value in curves.success.window]
    if rates:
        console.say(f"success, mean of {curves.window} runs: {sparkline(rates)} {rates[-1]:.0%}{_trend(curves.trend)}")
    for series in (curves.success, curves.seconds, curves.recovery, curves.reuse):
        console.say(f"{series.name + ':':<10}{_in_words(series.name, series.fit, len(series.points))}")
    if found.reference is not None:
        console.say(_reference_in_words(found.reference))


def _rows(found: Found) -> Iterator[tuple[str, ...]]:
    """The runs in up to ten parts."""
    size = max(1, -(-len(found.runs) // _ROWS))
    for start in range(0, len(found.runs), size):
        part = found.runs[start : start + size]
        last = start + size >= len(found.runs)
        changes = Counter(
            mark.change for n, mark in found.events if start <= n < start + size or (last and n >= start + size)
        )
        judged = [float(run.success) for run in part if run.success is not None]
        with_errors = [float(run.recovered) for run in part if run.errors]
        yield (
            f"{start + 1}-{start + len(part)}",
            _share(judged),
            f"{sum(run.seconds for run in part) / len(part):.3g}",
            _share(with_errors),
            _share([float(run.advised) for run in part]),
            f"{entropy(Counter(run.plan for run in part).values()):.2f}",
            ", ".join(f"{count} {change}" for change, count in sorted(changes.items())) or "-",
        )


def sparkline(values: Sequence[float]) -> str:
    """Values between 0 and 1 as a line of bars, at most as wide as a terminal likes."""
    size = max(1, -(-len(values) // _WIDEST))
    means = [sum(part) / len(part) for part in (values[at : at + size] for at in range(0, len(values), size))]
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int(mean * len(_SPARKS)))] for mean in means)


def _share(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.0%}" if values else "-"


def _trend(trend: float | None) -> str:
    return "" if trend is None else f" ({100 * trend:+.0f} points against the window before)"


def _in_words(name: str, fit: Fit | None, points: int) -> str:
    if fit is None:
        return f"too few runs for a curve ({points} of {FEWEST})"
    curve = fit.curve
    unit, scale = ("s", 1.0) if name == "seconds" else ("%", 100.0)
    text = (
        f"measured, from {curve.initial * scale:.3g} {unit} {_span(fit.initial, scale)} towards"
        f" {curve.asymptote * scale:.3g} {unit} {_span(fit.asymptote, scale)},"
        f" rate {curve.rate:.3g} {_span(fit.rate, 1.0)} over {fit.runs} runs"
    )
    if name == "success":
        text += f"; 80 % {_reached(fit.iterations_to_80)} {_span(fit.iterations_to_80_interval, 1.0)}"
        text += "" if fit.rises else "; no rise can be told from chance"
    return text


def _span(interval: Interval, scale: float) -> str:
    low, high = ("never" if end is None else f"{end * scale:.3g}" for end in (interval.low, interval.high))
    return f"[{low}..{high}]"


def _reached(iterations: float | None) -> str:
    return "is not reached" if iterations is None else f"after {iterations:.0f} runs"


def _reference_in_words(reference: Reference) -> str:
    curve = reference.curve
    return (
        f"{reference.label}, {reference.domain}: from {curve.initial:.0%} towards {curve.asymptote:.0%}, rate"
        f" {curve.rate:g}; 80 % {_reached(curve.iterations_to(0.8))} (its own table says"
        f" {reference.stated_iterations_to_80})"
    )
