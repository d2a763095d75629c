"""The first description's table of convergence, with what was measured beside it.

Success of the first ten and of the last third of the iterations is counted; the curve is fitted to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...learning.curves import Fit, Reference, references
from ...types.base import Value
from ...types.errors import UsageError
from ..report import ArmReport, Gain
from ..study import Arm, TaskRecord

FAMILIES = {
    "reports": "report_generation",
    "debugging": "code_debugging",
    "analysis": "data_analysis",
    "research": "web_research",
    "administration": "system_admin",
    "open-ended": "",
}
"""The families in the order of that table, and the reference curve of each; the control has none."""
_WITHOUT_CURVE = "60+"
_FEWEST = 3


class Convergence(Value, frozen=True, kw_only=True):
    """One family under one arm. `reference` is what the first description says and nobody measured; `stated` how many
    iterations to 80 % its table has. `first_ten` and `last_third` are shares of success; None where there are not
    enough tasks."""

    family: str
    arm: Arm
    seeds: int
    tasks: int
    reference: Reference | None
    stated: str
    curve: Fit | None
    first_ten: float | None
    last_third: float | None
    gain: Gain | None


def chosen(only: str) -> tuple[str, ...]:
    """The families that are named, in the order of the table; all of them when none is."""
    named = {part.strip() for part in only.split(",") if part.strip()}
    if unknown := sorted(named - FAMILIES.keys()):
        raise UsageError(f"there is no family {unknown[0]!r}", remedy=f"there are: {', '.join(FAMILIES)}")
    if only and not named:
        raise UsageError("no family is named", remedy=f"there are: {', '.join(FAMILIES)}")
    return tuple(name for name in FAMILIES if name in named or not named)


def convergence(family: str, arm: ArmReport, lived: Sequence[Sequence[TaskRecord]], iterations: int) -> Convergence:
    """What the histories of an arm come to."""
    domain = FAMILIES[family]
    reference = references()[domain] if domain else None
    return Convergence(
        family=family,
        arm=arm.arm,
        seeds=len(lived),
        tasks=sum(map(len, lived)),
        reference=reference,
        stated=str(reference.stated_iterations_to_80) if reference else _WITHOUT_CURVE,
        curve=arm.curve,
        first_ten=_share([record for history in lived for record in history[:10]]),
        last_third=_last_third(lived, iterations),
        gain=arm.gain,
    )


def _last_third(lived: Sequence[Sequence[TaskRecord]], iterations: int) -> float | None:
    """Of the iterations that were asked for; a history that did not get there says nothing about it."""
    if iterations < _FEWEST:
        return None
    return _share([record for history in lived for record in history[iterations - iterations // 3 :]])


def _share(records: Sequence[TaskRecord]) -> float | None:
    return round(fmean(record.success for record in records), 4) if records else None
