"""`hermes bench finance`: the case study of a hundred tasks on financial exports."""

from __future__ import annotations

from pathlib import Path

import click

from ....bench.report import SEED_TABLE, ArmReport, Report, Row
from ....config.load import read_environment
from ..console import Console, print_json
from ..options import json_option
from .studying import Wanted, arms_option, study

_HEAD = ("iterations", "success", "seconds", "of them tools", "skill reuse", "skills a task", "error recovery")


@click.command(short_help="A hundred tasks on financial exports: success, time, reuse, recovery.")
@click.option("--policy", default="apprentice", metavar="POLICY", help="apprentice (simulated), local, provider:model.")
@arms_option
@click.option("--seeds", type=click.IntRange(1, 100), default=5, show_default=True, help="How many histories per arm.")
@click.option("--first-seed", type=click.IntRange(0, 2**31), default=3000, show_default=True, help="The first of them.")
@click.option("--iterations", type=click.IntRange(1, 1000), default=100, show_default=True, help="Tasks per history.")
@click.option("--workers", type=click.IntRange(1, 64), default=None, help="Histories at a time; four for each core.")
@click.option("--plot", type=click.Path(path_type=Path), default=None, help="Where the picture goes (.svg or .png).")
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on with what is on record.")
@json_option
def command(as_json: bool, plot: Path | None, **given: object) -> int:
    """Generated exports of fictional banks, real tools in the sandbox, answers checked against the generator's truth.

    Interrupt it whenever you like: the same command goes on where it stopped. Everything is kept under the home.
    """
    console = Console()
    wanted = Wanted.of("finance", given)
    environment = read_environment()
    found, picture = study(console, wanted, environment.home, plot)
    if as_json:
        print_json({"report": found, "picture": str(picture)})
    else:
        show(console, found)
        console.note(f"picture: {picture}; the page: `hermes dashboard`")
    return 0 if found.finished else 1


def show(console: Console, found: Report) -> None:
    """The report as tables."""
    kind = "a simulated policy, not a language model" if found.simulated else "a model"
    console.say(f"{found.name}, policy {found.policy} ({kind}), {found.iterations} iterations")
    for arm in found.arms:
        console.say(f"\nlearning {arm.arm.value}, {arm.seeds} seeds")
        console.table(_HEAD, [_row(row) for row in arm.rows])
        for line in _words(arm):
            console.say(line)
    console.say("\nthe first description's table, for comparison; not measured here")
    console.table(
        (_HEAD[0], _HEAD[1], _HEAD[2], _HEAD[5], _HEAD[6]),
        [
            (f"{first}-{last}", f"{100 * success:.0f} %", f"{seconds:.0f}", f"{skills:.1f}", f"{100 * recovery:.0f} %")
            for (first, last), (success, seconds, skills, recovery) in SEED_TABLE.items()
        ],
    )


def _row(row: Row) -> tuple[str, ...]:
    return (
        f"{row.first}-{row.last}",
        _percent(row.success),
        _number(row.seconds),
        _number(row.tool_seconds),
        _percent(row.reuse),
        _number(row.skills),
        _percent(row.recovery),
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _words(arm: ArmReport) -> list[str]:
    lines = []
    if arm.gain is not None:
        sure = "" if arm.gain.real else ", which chance explains"
        lines.append(f"gain {arm.gain.points:+.1f} points [{arm.gain.low:+.1f}, {arm.gain.high:+.1f}]{sure}")
    if arm.curve is not None:
        curve, ends = arm.curve.curve, arm.curve.asymptote
        reached = arm.curve.iterations_to_80
        to_80 = f"80 % after {reached:.0f} iterations" if reached is not None else "80 % is not reached"
        low, high = (_percent(ends.low), _percent(ends.high))
        lines.append(f"curve: asymptote {_percent(curve.asymptote)} [{low}, {high}], rate {curve.rate:.3f}; {to_80}")
    return lines
