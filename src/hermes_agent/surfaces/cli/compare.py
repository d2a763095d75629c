"""`hermes compare`: two runs side by side, where they part, and whether they decided alike."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from ...app import App
from ...runtime.comparison import Call, Comparison, DecisionLine, Match, Row, Side, compare
from ...store.forks import erased
from ...store.runs import Run
from ...store.usage import Used, UsedBy
from ...types.errors import NotFound
from ...types.events import ModelCalled, Recorded
from ...types.text import one_line, visible
from ...types.trace import CallStatus
from .console import Console, print_json
from .fork import meant_run
from .opening import opened
from .options import json_option
from .progress import shown
from .usage import UsageLine, line_of

_MARKS = {Match.SAME: "=", Match.CHANGED: "≠", Match.LEFT: "<", Match.RIGHT: ">"}
_LABEL = 9
_GAP = "  "
_NARROWEST = 60


@click.command(short_help="Two runs side by side.")
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
@json_option
def command(left: str, right: str, as_json: bool) -> None:
    """Compare two runs: request, model, heuristic set, calls beside each other, decisions, outcome, cost. A RUN is a
    run, a session (its last run) or `last`.

    Two runs with the same --pin and --seed must make the same decisions; those that differ are listed.
    """

    async def work() -> None:
        console = Console()
        async with opened(console) as app:
            one, other = await _read(app, left), await _read(app, right)
            home = app.environment.home
        compared = compare(one, other)
        costs = (_cost(one[1], home), _cost(other[1], home))
        if as_json:
            told = msgspec.to_builtins(compared)
            told["left"]["usd"], told["right"]["usd"] = costs[0].usd, costs[1].usd
            print_json(told)
        else:
            _Page(console).show(compared, costs)

    asyncio.run(work())


async def _read(app: App, name: str) -> tuple[Run, list[Recorded]]:
    run = await meant_run(app, name)
    try:
        await app.store.sessions.get(run.session_id)
    except NotFound as error:
        raise erased(run) from error
    return run, await app.store.journal.run_events(run.id)


def _cost(events: Sequence[Recorded], home: Path) -> UsageLine:
    """What a run's own model calls cost; what a fork copied cost it nothing."""
    parts = [
        UsedBy(
            key="run",
            provider=event.provider,
            model=event.model,
            used=Used(calls=1, input=event.usage.input, output=event.usage.output, cached=event.usage.cached),
        )
        for event in (entry.event for entry in events)
        if isinstance(event, ModelCalled)
    ]
    return line_of("run", parts, home)


class _Page:
    """Prints a comparison in two columns as wide as the terminal allows."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = max(_NARROWEST, shutil.get_terminal_size().columns)

    def show(self, compared: Comparison, costs: tuple[UsageLine, UsageLine]) -> None:
        """The whole comparison."""
        left, right = compared.left, compared.right
        self._pair("run", left.run, right.run, "bold")
        for label, one, other in _facts(left, right, costs):
            if one or other:
                self._pair(label, one or "-", other or "-", "" if one == other else "yellow")
        self._say("")
        self._say("calls (= same, ≠ another one, < > only on that side)" if compared.rows else "no calls", "bold")
        for row in compared.rows:
            self._row(row)
        self._say("")
        self._say(f"they part {compared.parts}" if compared.parts else "they do not part: same calls, same answer")
        self._decisions(compared)

    def _decisions(self, compared: Comparison) -> None:
        pin = f"both pinned to set {compared.left.pin} with seed {compared.left.seed}: " if compared.pinned else ""
        count = len(compared.left.decisions)
        if compared.same_decisions:
            self._say(f"{pin}same decisions ({count})", "green" if pin else "")
            for line in compared.left.decisions:
                self._say(f"  = {_told(line)}")
            return
        self._say(f"{pin}different decisions", "red" if pin else "yellow")
        for mark, lines in (("<", compared.only_left), (">", compared.only_right)):
            for line in lines:
                self._say(f"  {mark} {_told(line)}")
        self._shared(compared)

    def _shared(self, compared: Comparison) -> None:
        """What both decided: learned things are named, the rest is counted."""
        both = list(compared.left.decisions)
        for line in compared.only_left:
            both.remove(line)
        for line in both:
            if line.kind == "advice":
                self._say(f"  = {_told(line)}")
        rest = sum(line.kind != "advice" for line in both)
        if rest:
            self._say(f"  {rest} more {'is' if rest == 1 else 'are'} the same")

    def _pair(self, label: str, left: str, right: str, style: str = "") -> None:
        room = (self._width - _LABEL - 2 * len(_GAP)) // 2
        self._say(_GAP.join((label.ljust(_LABEL), one_line(left, room).ljust(room), one_line(right, room))), style)

    def _row(self, row: Row) -> None:
        room = (self._width - 1 - 2 * len(_GAP)) // 2
        cells = (_cell(row.left, room).ljust(room), _cell(row.right, room))
        ended = [(call.status, call.error) for call in (row.left, row.right) if call is not None]
        differs = row.match is not Match.SAME or ended[0] != ended[1]
        self._say(_GAP.join((_MARKS[row.match], *cells)), "yellow" if differs else "")

    def _say(self, text: str, style: str = "") -> None:
        out = self._console.out
        line = visible(_cut(text, self._width))
        print(self._console.styled(line, style, out) if style else line, file=out)


def _cut(text: str, width: int) -> str:
    """`text` cut to a line; blanks inside it stay."""
    line = text.rstrip()
    return line if len(line) <= width else line[: width - 1] + "…"


def _facts(left: Side, right: Side, costs: tuple[UsageLine, UsageLine]) -> list[tuple[str, str, str]]:
    return [
        ("request", left.request, right.request),
        ("said", " / ".join(left.said), " / ".join(right.said)),
        ("forked", _origin(left), _origin(right)),
        ("model", left.model, right.model),
        ("family", left.family, right.family),
        ("set", _set(left), _set(right)),
        ("learned", _learned(left), _learned(right)),
        ("status", left.status.value, right.status.value),
        ("outcome", _outcome(left), _outcome(right)),
        ("answer", left.answer, right.answer),
        ("steps", str(left.steps), str(right.steps)),
        ("calls", _calls(left), _calls(right)),
        ("tokens", _tokens(left), _tokens(right)),
        ("time", f"{left.seconds:.1f} s", f"{right.seconds:.1f} s"),
        ("cost", _money(costs[0]), _money(costs[1])),
    ]


def _origin(side: Side) -> str:
    return f"from {side.forked_from.run} at step {side.forked_from.step}" if side.forked_from else ""


def _set(side: Side) -> str:
    pinned = [] if side.pin is None else [f"pinned to {side.pin}"]
    seeded = [] if side.seed is None else [f"seed {side.seed}"]
    return ", ".join([str(side.set_version), *pinned, *seeded])


def _learned(side: Side) -> str:
    advice = [line.choice for line in side.decisions if line.kind == "advice"]
    return f"{advice.count('applied')} applied, {advice.count('withheld')} withheld" if advice else ""


def _outcome(side: Side) -> str:
    reason = f": {side.outcome.reason}" if side.outcome.reason else ""
    return f"{side.outcome.status.value} ({side.outcome.judged_by.value}){reason}"


def _calls(side: Side) -> str:
    return f"{side.calls}, {side.errors} failed" if side.errors else str(side.calls)


def _tokens(side: Side) -> str:
    return f"{side.usage.input:,} in, {side.usage.output:,} out"


def _money(cost: UsageLine) -> str:
    return "unknown" if cost.usd is None else f"${cost.usd:,.4f}"


def _cell(call: Call | None, room: int) -> str:
    if call is None:
        return ""
    end = "no result" if call.status is None else call.status.value
    ended = "" if call.status is CallStatus.OK else f" {call.error or end}"
    start = f"{call.step} "
    return start + one_line(shown(call.call, 200), max(8, room - len(start) - len(ended))) + ended


def _told(line: DecisionLine) -> str:
    place = f" at {line.call}" if line.call else ""
    text = f": {one_line(line.text, 200)}" if line.text else ""
    return f"{line.kind}{place}: {one_line(line.subject, 60)} {one_line(line.choice, 120)}{text}"
