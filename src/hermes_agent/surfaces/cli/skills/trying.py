"""`hermes skills test`: the test inputs of a skill, run in the sandbox."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click

from ....learning.health import HealthReport
from ....skills.trials import TrialResult
from ....types.errors import UsageError
from ....types.text import visible
from ..console import Console, print_json
from ..options import directory_option, json_option
from .opening import complete_name, opened_skills

_OUTPUT = 20


@click.command(short_help="Run a skill's test inputs in the sandbox.")
@click.argument("name", required=False, default="", shell_complete=complete_name)
@click.option("--all", "everything", is_flag=True, help="Every skill in use.")
@directory_option
@json_option
def command(name: str, everything: bool, directory: Path, as_json: bool) -> int:
    """Each test input in a folder of its own that is thrown away, in the sandbox, without network; what fails is tried
    once more. What comes of it is recorded: a skill that fails is left out of the prompt until it passes again. Exit
    code 1 when a test fails, or none could be tried."""
    if bool(name) == everything:
        raise UsageError("say what to test", remedy="give one NAME, or --all")

    async def work() -> int:
        console = Console(quiet=as_json)
        reports = []
        async with opened_skills(console, directory) as desk:
            held = await desk.library.all(desk.workspace) if everything else [await desk.on_a_shelf(name)]
            health = desk.health(time.time)
            for number, one in enumerate(held, 1):
                place = f" ({number} of {len(held)})" if everything else ""
                console.note(f"trying {one.name}{place}: {len(one.skill.trials)} tests")
                reports.append(await health.check(one))
                if not as_json:
                    say_report(console, reports[-1])
        if as_json:
            print_json(reports)
        return 1 if any(one.problem for one in held) else _code(reports)

    return asyncio.run(work())


def _code(reports: Sequence[HealthReport]) -> int:
    """0 unless something failed, or was to be tried and could not be."""
    trials = [trial for report in reports for trial in report.trials]
    failed = any(trial.tried and not trial.ok for trial in trials)
    return 1 if failed or (trials and not any(trial.ok for trial in trials)) else 0


def say_report(console: Console, report: HealthReport) -> None:
    """A skill's tests, one line each, with the end of what a failed one printed."""
    for trial in report.trials:
        mark, style = _mark(trial)
        why = f": {visible(trial.why)}" if trial.why else ""
        line = f"{mark} {report.name}, {visible(trial.name)} ({trial.seconds:.1f} s){why}"
        print(console.styled(line, style, console.out), file=console.out, flush=True)
        if trial.tried and not trial.ok:
            for said in visible(trial.output).splitlines()[-_OUTPUT:]:
                console.note(f"    {said}")
    if not report.trials:
        console.say(f"– {report.name}: {visible(report.note)}")
    elif report.changed:
        console.note(f"{report.name}: {report.note}; nothing was recorded", "yellow")
    if report.broke:
        console.note(f"{report.name} is left out of the prompt until it passes again", "red")
    elif report.restored:
        console.note(f"{report.name} works again and is offered again", "green")


def _mark(trial: TrialResult) -> tuple[str, str]:
    if not trial.tried:
        return "–", "yellow"
    return ("✓", "green") if trial.ok else ("✗", "red")
