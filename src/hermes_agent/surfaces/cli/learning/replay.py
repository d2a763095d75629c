"""`hermes learning replay`: would past runs have gone better with another set, or without one heuristic?"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import datetime
from typing import Any

import click
import msgspec

from ....app import App
from ....learning.control import Control
from ....learning.estimates import ENOUGH, Comparison, Effect, Verdict
from ....learning.evidence import ACT, PairEvidence
from ....learning.past import Window
from ....learning.reexecution import Arms, Pair, done_again, evidence_of, stored_set
from ....learning.replay import (
    HeuristicReplay,
    Replay,
    Report,
    Target,
    replayed,
    set_target,
    with_target,
    without_target,
)
from ....learning.standing import telling_seed
from ....store.database import Connection
from ....store.families import find_family
from ....store.heuristics import Heuristic, active_set, read_heuristics, read_set
from ....types.base import Value
from ....types.errors import UsageError
from ..console import Console, print_json
from ..opening import opened
from ..options import json_option, yes_option
from .rerunning import Again, ask, find_tasks, reasons

_UNITS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_AGO = re.compile(r"(\d{1,6})([hdw])")
_QUIET_SECONDS = 1.0


class Asked(Value, frozen=True, kw_only=True):
    """What the user asked for on the command line."""

    version: int | None = None
    without: str = ""
    including: str = ""
    family: str = ""
    model: str = ""
    since: str = ""
    rerun: int = 0
    apply: bool = False
    yes: bool = False
    as_json: bool = False


class Rerun(Value, frozen=True, kw_only=True):
    """What doing tasks again showed. `refused` counts the runs that cannot be done again, by reason."""

    pairs: tuple[Pair, ...]
    evidence: PairEvidence
    e_helps: float
    e_harms: float
    refused: dict[str, int]


@click.command(short_help="Judge a heuristic or a set on past runs.")
@click.option("--set", "version", type=click.IntRange(0, 2**62), metavar="VERSION", help="With this set of heuristics.")
@click.option("--without", default="", metavar="ID", help="As it was, but without this heuristic.")
@click.option("--with", "including", default="", metavar="ID", help="As it was, and with this heuristic.")
@click.option("--family", default="", metavar="NAME", help="Only tasks of this family.")
@click.option("-m", "--model", default="", metavar="PROVIDER:MODEL", help="Only runs on this model.")
@click.option("--since", default="", metavar="7d|DATE", help="Only runs since then: 24h, 7d, 4w or 2026-01-31.")
@click.option(
    "--rerun", type=click.IntRange(1, 100), metavar="N", help="Do up to N resettable tasks again, twice each."
)
@click.option("--apply", is_flag=True, help="With --rerun: trust or retire the heuristic where the pairs decide it.")
@yes_option
@json_option
def command(version: int | None, rerun: int | None, **given: Any) -> None:
    """Would past runs have gone better with another set, or with or without one heuristic?

    Where the coins of the past do not support an answer, it says so instead of guessing.
    """
    asked = Asked(version=version, rerun=rerun or 0, **given)
    if sum((version is not None, bool(asked.without), bool(asked.including))) != 1:
        raise UsageError(
            "say what to replay: one of --set VERSION, --without ID, --with ID",
            remedy="`hermes learning sets` and `hermes learning show` list them",
        )
    if asked.apply and not (asked.rerun and (asked.without or asked.including)):
        raise UsageError(
            "--apply needs --rerun N and a heuristic", remedy="add --rerun 30 and --without ID or --with ID"
        )
    asyncio.run(_work(asked, Window(model=asked.model, since=parse_since(asked.since, time.time()))))


def parse_since(text: str, now: float) -> float:
    """The moment that `7d`, `24h`, `4w` or a date stands for; 0 for the beginning."""
    if not text:
        return 0.0
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return max(0.0, now - int(ago[1]) * _UNITS[ago[2]])
    try:
        return max(0.0, datetime.fromisoformat(text.strip()).timestamp())
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no time", remedy="say how long ago (24h, 7d, 4w) or a date (2026-01-31)"
        ) from error


async def _work(asked: Asked, window: Window) -> None:
    console = Console()
    async with opened(console) as app:
        target = await _target(app, asked)
        family = await _family(app, asked.family)
        window = Window(family=family, model=window.model, since=window.since)
        replay = await replayed(app.store.database, target, window, _Progress(console))
        rerun = await _rerun(app, console, asked, replay) if asked.rerun else None
        report = replay.report()
        ids = [row.id for row in report.heuristics]
        known = await app.store.database.read(lambda connection: read_heuristics(connection, ids))
    if asked.as_json:
        print_json({"replay": report, "rerun": rerun, "texts": {id: found.text for id, found in known.items()}})
    elif not report.runs:
        console.note("there are no such runs to replay: they are kept from now on, whenever `learning.mode` is on")
    else:
        _print(console, report, known)
        if rerun is not None:
            _print_rerun(console, rerun)


class _Progress:
    """How far it got, on stderr, once it takes longer than a moment."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + _QUIET_SECONDS

    def __call__(self, runs: int) -> None:
        if time.monotonic() >= self._next:
            self._console.note(f"{runs:,} runs replayed")
            self._next = time.monotonic() + _QUIET_SECONDS


async def _target(app: App, asked: Asked) -> Target:
    explore = app.settings.learning.explore
    if asked.version is None:
        heuristic = await app.store.heuristics.get(asked.without or asked.including)
        return without_target(heuristic) if asked.without else with_target(heuristic, explore)
    version = asked.version

    def unit(connection: Connection) -> dict[str, Heuristic]:
        return read_heuristics(connection, read_set(connection, version).members)

    return set_target(version, (await app.store.database.read(unit)).values(), explore)


async def _family(app: App, name: str) -> str:
    """The id of a family that is given by id or name."""
    if not name:
        return ""
    return (await app.store.database.read(lambda connection: find_family(connection, name))).id


async def _rerun(app: App, console: Console, asked: Asked, replay: Replay) -> Rerun:
    arms = await _arms(app, asked)
    candidates = {run.run_id: run for run in reversed(replay.differing)}
    tasks, refused = await find_tasks(app, candidates.values(), asked.rerun)
    for reason, count in reasons(refused).items():
        console.note(f"{count:,} runs cannot be done again: {reason}", "yellow")
    if not tasks:
        why = "none can begin again" if candidates else "nothing would have been decided differently"
        raise UsageError(
            f"there is no run to do again: {why}", remedy='make runs with `hermes run "TEXT" --check CMD --reset CMD`'
        )
    ask(console, tasks, yes=asked.yes)
    one = asked.without or asked.including
    heuristic = await app.store.heuristics.get(one) if one else None
    if heuristic is not None:
        tasks = [msgspec.structs.replace(task, seed=telling_seed(heuristic, task.seed)) for task in tasks]
    pairs: list[Pair] = []
    async for pair in done_again(tasks, arms, Again(app)):
        pairs.append(pair)
        console.note(f"{len(pairs)} of {len(tasks)}: {pair.run_id} {_pair(pair)}")
        outcome = (pair.lacking if asked.without else pair.having).success
        if outcome is not None:
            replay.reexecuted(candidates[pair.run_id], outcome)
    evidence = evidence_of(pairs)
    helps, harms = evidence.e_helps(), evidence.e_harms()
    if asked.apply and heuristic is not None:
        settled = await Control(app.store.database, app.settings.learning).settle(heuristic.id, evidence)
        console.note(f"{settled.id} is {settled.stage.value}; `hermes learning audit` has the evidence", "bold")
    return Rerun(pairs=tuple(pairs), evidence=evidence, e_helps=helps, e_harms=harms, refused=reasons(refused))


async def _arms(app: App, asked: Asked) -> Arms:
    """The set with what is asked about and the one without: one of them is in force."""
    database = app.store.database
    active = await database.read(active_set)
    if asked.version is not None:
        arms = Arms(having=asked.version, lacking=active.version)
    else:
        heuristic = await app.store.heuristics.get(asked.without or asked.including)
        members = set(active.members) ^ {heuristic.id}
        if (heuristic.id in active.members) != bool(asked.without):
            where = "not in the set in force" if asked.without else "in the set in force already"
            raise UsageError(
                f"{heuristic.id} is {where}: both runs of a pair would be alike",
                remedy=f"ask with {'--with' if asked.without else '--without'} {heuristic.id}",
            )
        cause = f"replay {'without' if asked.without else 'with'} {heuristic.id}"
        other = await database.write(
            lambda connection: stored_set(connection, database.backend, members, active.version, cause)
        )
        arms = (
            Arms(having=active.version, lacking=other) if asked.without else Arms(having=other, lacking=active.version)
        )
    if arms.having == arms.lacking:
        raise UsageError(
            f"set {arms.having} is in force already: both runs of a pair would be alike",
            remedy="name another one; `hermes learning sets` lists them",
        )
    return arms


def _pair(pair: Pair) -> str:
    if not pair.judged:
        return f"says nothing: {pair.having.reason or pair.lacking.reason}"
    if not pair.differs:
        return "succeeded both times" if pair.having.success else "failed both times"
    return "succeeded only with it" if pair.having.success else "succeeded only without it"


def _print(console: Console, report: Report, known: dict[str, Heuristic]) -> None:
    if report.heuristics:
        console.table(
            ["heuristic", "verdict", "effect", "sample", "same", "again", "weighed", "not judged", "what it says"],
            [_row(row, known.get(row.id)) for row in report.heuristics],
        )
    for line in in_words(report):
        console.say(line)


def _row(row: HeuristicReplay, heuristic: Heuristic | None) -> tuple[str, ...]:
    labels = row.labels
    text = f"{heuristic.kind.value}: {heuristic.text}" if heuristic else "(not stored any more)"
    return (
        row.id,
        row.verdict.value,
        _points(row.effect),
        f"{row.effect.ess:.0f}",
        *(f"{labels[name]:,}" for name in ("same", "reexecuted", "weighted")),
        f"{row.unsupported:.0%}",
        text,
    )


def _points(found: Effect | Comparison) -> str:
    """A difference in points with its interval; nothing where there are too few runs for a number to mean anything."""
    if found.difference is None or found.low is None or found.high is None or found.ess < ENOUGH:
        return "-"
    return f"{100 * found.difference:+.0f} [{100 * found.low:+.0f}, {100 * found.high:+.0f}]"


def in_words(report: Report) -> list[str]:
    """The answer to "would it have gone better?", and what it rests on."""
    labels = report.labels
    counted = report.runs - report.left_out
    lines = [
        f"{report.runs:,} runs {report.target}: {labels['same']:,} decided the same,"
        f" {labels['reexecuted']:,} done again, {labels['weighted']:,} weighed,"
        f" {labels['unsupported']:,} cannot be judged ({labels['unsupported'] / (counted or 1):.0%})"
        + (f"; {report.left_out:,} have no known outcome" if report.left_out else "")
    ]
    lines.append(_answer(report, report.judged, report.verdict))
    if report.inferred.runs:
        found = report.inferred
        lines.append(
            f"apart from these, {found.runs:,} runs whose success was only inferred: "
            + (f"{_points(found)} points" if _points(found) != "-" else "too few differ for a figure")
            + " (decides nothing)"
        )
    return lines


def _answer(report: Report, found: Comparison, verdict: Verdict) -> str:
    question = f"would they have gone better {report.target}?"
    if not found.runs or found.as_logged is None or found.under_target is None:
        return f"{question} nobody can say: no run with a verdict of a check or a person can be judged"
    if not found.ess and found.copied == found.runs:
        return f"{question} no difference: the {found.runs:,} runs with a verdict were decided just so"
    if found.ess < ENOUGH:
        return f"{question} unknown: the effective sample is {found.ess:.0f} runs, and {ENOUGH:.0f} are needed"
    means = f"{found.under_target:.0%} instead of {found.as_logged:.0%} of {found.runs:,} judged runs"
    figures = f"{means}, {_points(found)} points at 95 %, effective sample {found.ess:.0f}"
    said = {Verdict.HELPS: "yes", Verdict.HARMS: "no, worse", Verdict.UNKNOWN: "unknown, the interval has zero in it"}
    return f"{question} {said[verdict]}: {figures}"


def _print_rerun(console: Console, rerun: Rerun) -> None:
    evidence = rerun.evidence
    judged = sum(pair.judged for pair in rerun.pairs)
    sure = "it helps" if rerun.e_helps >= ACT else "it harms" if rerun.e_harms >= ACT else "no verdict yet"
    console.say(
        f"{judged} tasks done twice: {evidence.wins} succeeded only with it, {evidence.losses} only without;"
        f" e-values {rerun.e_helps:.2g} for, {rerun.e_harms:.2g} against ({ACT:.0f} is a verdict): {sure}"
    )
