"""Logged runs, made up or simulated, for the tests of replay."""

import random
from collections.abc import Iterable
from typing import Any

from hermes_agent.learning.past import Logged
from hermes_agent.learning.replay import Replay, Report
from hermes_agent.store.heuristics import Heuristic, Kind, Stage
from hermes_agent.types.trace import AdviceItem, Judge

MODEL, FAMILY = "scripted:m", "f1"


def rule(id: str, **more: Any) -> Heuristic:
    told = {"kind": Kind.HINT, "model": MODEL, "family": FAMILY, "subject": "read", "text": id, "stage": Stage.TRUSTED}
    return Heuristic(id=id, **{**told, **more})


def coin(id: str, applied: bool, chance: float, call: str = "") -> AdviceItem:
    """An item whose heuristic acted with `chance`."""
    return AdviceItem(id=id, text=id, applied=applied, propensity=chance if applied else 1 - chance, call_id=call)


def run(number: int = 0, success: bool | None = True, *items: AdviceItem, **more: Any) -> Logged:
    told = {"family": FAMILY, "model": MODEL, "judged_by": Judge.VERIFIER, "set_version": 1}
    return Logged(run_id=f"r{number}", success=success, items=items, **{**told, **more})


def report_of(replay: Replay, runs: Iterable[Logged]) -> Report:
    for one in runs:
        replay.add(one)
    return replay.report()


def simulated(seed: int, n: int, chance: float, on: float, off: float, judge: Judge = Judge.VERIFIER) -> list[Logged]:
    """Runs whose success is `on` where the coin let h act and `off` where not, with other coins beside it."""
    rng = random.Random(seed)
    runs = []
    for place in range(n):
        acted = rng.random() < chance
        noise = coin("noise", rng.random() < 0.5, 0.5)
        success = rng.random() < (on if acted else off)
        runs.append(run(place, success, coin("h", acted, chance), noise, judged_by=judge))
    return runs
