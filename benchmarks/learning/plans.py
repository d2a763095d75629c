"""A workflow one of whose steps cannot work where it stands: how soon it is lost or moved, and how soon it is back.

Four services, a, b, c and d, each with one tool. `c` fails whenever `b` has succeeded before it in the same request.
Two worlds: in `order` the request needs all four, and `c` works before `b`; in `optional` the request is right without
`c`, which works nowhere. After some runs `c` is repaired.
Simulated are the four services and the model; the rest is the product.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.learning.arms import Arm, Rig
from benchmarks.learning.stats import Figure
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import AnyEvent, CallFinished
from hermes_agent.types.tools import ToolResult
from hermes_agent.types.trace import CallStatus

HERMES = Path(sys.executable).with_name("hermes")
STEPS = ("collect_rows", "freeze_ledger", "stamp_totals", "publish_report")
_BLOCKING, _FRAGILE = STEPS[1], STEPS[2]
_BEFORE, _AFTER = 40, 120
_STEADY = 3
_SUBJECTS = ("rent", "fuel", "wages", "travel", "paper", "power", "water", "tools")


class Office:
    """The four services of one request. `repaired` heals the third."""

    def __init__(self, *, optional: bool, seed: int) -> None:
        self.optional = optional
        self.repaired = False
        self.done: list[str] = []
        self._rng = random.Random(f"office:{seed}")

    def begin(self, number: int) -> str:
        """The next request."""
        self.done = []
        subject = self._rng.choice(_SUBJECTS)
        lines = [f"Close the month for {subject}, account {number}.", ""]
        lines += [f'{place}. {step} {{"account": "{subject}-{number}"}}' for place, step in enumerate(STEPS, 1)]
        return "\n".join(lines)

    def solved(self) -> bool:
        """Whether everything that must be done was done."""
        return all(step in self.done for step in STEPS if not (self.optional and step == _FRAGILE))

    def tools(self) -> list[Tool]:
        """One tool for each service."""
        return [self._tool(step) for step in STEPS]

    def _tool(self, step: str) -> Tool:
        async def run(account: str) -> ToolResult:
            blocked = self.optional or _BLOCKING in self.done
            if step == _FRAGILE and blocked and not self.repaired:
                return ToolResult(ok=False, text="the ledger is frozen", error="ledger_frozen")
            self.done.append(step)
            return ToolResult(text=f"{step} done for {account}")

        return Tool(step, run, step.replace("_", " "), capabilities=[], effect="idempotent")


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One history: runs until the step was lost or moved, and runs after its repair until it was back."""

    lost: float
    left_out: float
    back: float
    solved_before: float
    solved_after: float


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did about the fragile step: whether it was tried behind the other, and whether it worked. A run that
    never came so far did not try it either, but that happens to none of these: the steps before always work."""

    tried_behind: bool
    tried: bool
    worked: bool
    solved: bool


def _read(events: Sequence[AnyEvent], solved: bool) -> _Run:
    blocked = behind = tried = worked = False
    for event in events:
        if isinstance(event, CallFinished) and event.status is not CallStatus.STEERED:
            blocked = blocked or (event.tool == _BLOCKING and event.status is CallStatus.OK)
            if event.tool == _FRAGILE and event.error != "bad_arguments":
                tried, behind = True, behind or blocked
                worked = worked or event.status is CallStatus.OK
    return _Run(tried_behind=behind, tried=tried, worked=worked, solved=solved)


async def lived(seed: int, *, optional: bool, approved_by_hand: bool) -> Life:
    """One history: broken, then repaired."""
    office = Office(optional=optional, seed=seed)
    rig = Rig(office, Arm.ON, seed, "" if approved_by_hand else ", approve: []")
    try:
        broken, mended = [], []
        for number in range(_BEFORE):
            broken.append(_read(*await rig.run(office.begin(number), number, "months")))
            if approved_by_hand:
                waiting = await asyncio.to_thread(rig.waiting)
                await asyncio.to_thread(_approve, rig.home, waiting)
        office.repaired = True
        for number in range(_BEFORE, _BEFORE + _AFTER):
            mended.append(_read(*await rig.run(office.begin(number), number, "months")))
            if len(mended) >= _STEADY and all(run.worked for run in mended[-_STEADY:]):
                break
    finally:
        await asyncio.to_thread(rig.close)
    lost = next((n for n, run in enumerate(broken) if not run.tried_behind), math.inf)
    steady = len(mended) >= _STEADY and all(run.worked for run in mended[-_STEADY:])
    late = broken[_BEFORE // 2 :]
    return Life(
        lost=lost,
        left_out=next((n for n, run in enumerate(broken) if not run.tried), math.inf),
        back=len(mended) - _STEADY if steady else math.inf,
        solved_before=sum(run.solved for run in late) / len(late),
        solved_after=sum(run.solved for run in mended) / len(mended),
    )


def _approve(home: Path, waiting: Sequence[str]) -> None:
    """Say yes to what waits, as a person would: with the command."""
    environment = {**os.environ, "HERMES_HOME": str(home)}
    for heuristic in waiting:
        command = [str(HERMES), "learning", "approve", heuristic]
        subprocess.run(command, capture_output=True, check=True, env=environment)


def figures(seeds: Sequence[int] = range(201, 221)) -> list[Figure]:
    """Both worlds over seeds, and one more row with approval given by hand."""
    table: list[Figure] = []
    for name, optional in (("the step works nowhere", True), ("the step works earlier", False)):
        lives = asyncio.run(_all(seeds, optional=optional, approved_by_hand=False))
        lost, back = median(life.lost for life in lives), median(life.back for life in lives)
        kept = sum(life.solved_before for life in lives) / len(lives)
        left_out = median(life.left_out for life in lives)
        table += [
            Figure(
                what=f"plans, {name}: runs until lost or moved, median",
                measured=f"{lost:g}",
                goal="<= 10",
                reached=lost <= 10,
            ),
            Figure(what=f"plans, {name}: runs until it is not tried any more, median", measured=f"{left_out:g}"),
            Figure(what=f"plans, {name}: success in runs 21-40", measured=f"{kept:.2f}"),
            Figure(
                what=f"plans, {name}: runs until back, median", measured=f"{back:g}", goal="<= 60", reached=back <= 60
            ),
        ]
    (life,) = asyncio.run(_all(seeds[:1], optional=True, approved_by_hand=True))
    what = "plans, skipping approved by hand: runs until it is not tried any more"
    table.append(Figure(what=what, measured=f"{life.left_out:g}"))
    return table


async def _all(seeds: Sequence[int], *, optional: bool, approved_by_hand: bool) -> list[Life]:
    return await asyncio.gather(*(lived(s, optional=optional, approved_by_hand=approved_by_hand) for s in seeds))


if __name__ == "__main__":
    for figure in figures():
        print(figure.what, figure.measured, figure.goal, figure.reached)
