"""`hermes bench families`: the case study for other families of tasks, against the first description's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ....bench.families.convergence import Convergence, chosen, convergence
from ....bench.living import simulated
from ....bench.records import done
from ....bench.report import Report
from ....config.load import read_environment
from ....types.errors import UsageError
from ..console import Console, print_json
from ..options import json_option
from .studying import Wanted, study

_SEED = ("seed: initial", "asymptote", "rate", "to 80 %")
_MEASURED = ("measured: initial", "asymptote", "rate", "to 80 %", "first ten", "last third")


@click.command(short_help="The same for other families of tasks, against the curves of the first description.")
@click.option("--policy", default="apprentice", metavar="POLICY", help="apprentice (simulated), local, provider:model.")
@click.option("--only", default="", metavar="NAMES", help="Which families, parted by commas; all of them otherwise.")
@click.option("--arms", default="on", show_default=True, metavar="ARMS", help="Which arms (off, on, shuffled).")
@click.option("--seeds", type=click.IntRange(1, 100), default=3, show_default=True, help="How many histories per arm.")
@click.option("--first-seed", type=click.IntRange(0, 2**31), default=3000, show_default=True, help="The first of them.")
@click.option("--iterations", type=click.IntRange(1, 1000), default=60, show_default=True, help="Tasks per history.")
@click.option("--workers", type=click.IntRange(1, 64), default=None, help="Histories at a time; one for each core.")
@click.option("--plot", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Where the pictures go.")
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on with what is on record.")
@json_option
def command(as_json: bool, only: str, plot: Path | None, **given: object) -> int:
    """Report generation, code debugging, data analysis, web research on a local site, system administration, and
    open-ended tasks, which are the control: nothing can be learned there.

    Interrupt it whenever you like: the same command goes on where it stopped. Everything is kept under the home.
    """
    console = Console()
    names = chosen(only)
    if plot is not None and plot.exists() and not plot.is_dir():
        raise UsageError(f"{plot} is no folder", remedy="name a folder: there is one picture for each family")
    wanted = [Wanted.of(name, dict(given)) for name in names]
    found = [_studied(console, one, plot) for one in wanted]
    if as_json:
        print_json({"policy": wanted[0].policy, "simulated": simulated(wanted[0].policy), "families": found})
    else:
        _show(console, wanted[0], [one for family in found for one in family["convergence"]])
        for family in found:
            console.note(f"{family['family']}: {family['picture']}")
    return 0 if all(family["report"].finished for family in found) else 1


def _studied(console: Console, wanted: Wanted, plot: Path | None) -> dict[str, Any]:
    """Run what is left of one family, and what it comes to."""
    home = read_environment().home
    console.note(f"{wanted.name}: {len(wanted.arms) * len(wanted.seeds)} histories of {wanted.iterations} tasks")
    report: Report
    report, picture = study(console, wanted, home, plot / f"{wanted.name}.svg" if plot else None)
    by_arm = wanted.studies(home)
    figures = [
        convergence(wanted.name, arm, [done(one)[: wanted.iterations] for one in by_arm[arm.arm]], wanted.iterations)
        for arm in report.arms
    ]
    return {"family": wanted.name, "convergence": figures, "report": report, "picture": str(picture)}


def _show(console: Console, wanted: Wanted, figures: list[Convergence]) -> None:
    """The table of each arm."""
    kind = "a simulated policy, not a language model" if simulated(wanted.policy) else "a model"
    console.say(f"families, policy {wanted.policy} ({kind}), {wanted.iterations} iterations")
    for arm in wanted.arms:
        seeds = f"seeds {wanted.seeds[0]} to {wanted.seeds[-1]}"
        console.say(f"\nlearning {arm.value}, {seeds}; 'seed' is the first description's, which was not measured here")
        console.table(("family", *_SEED, *_MEASURED), [_row(one) for one in figures if one.arm is arm])


def _row(one: Convergence) -> tuple[str, ...]:
    said: tuple[str, ...] = ("-", "-", "-")
    if one.reference is not None:
        curve = one.reference.curve
        said = (_percent(curve.initial), _percent(curve.asymptote), f"{curve.rate:.3f}")
    seen: tuple[str, ...] = ("-", "-", "-", "-")
    if one.curve is not None:
        curve, reached = one.curve.curve, one.curve.iterations_to_80
        to_80 = f"{reached:.0f}" if reached is not None else "not reached"
        seen = (_percent(curve.initial), _percent(curve.asymptote), f"{curve.rate:.3f}", to_80)
    return (one.family, *said, one.stated, *seen, _percent(one.first_ten), _percent(one.last_third))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
