"""What learning says to a run at its start, and what a run tells learning at its end. Learning that breaks costs its
advice, never the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..store.forks import own_events
from ..store.traces import trace_of
from ..types.advice import Advice
from ..types.errors import LeaseLost
from ..types.events import AdviceGiven, AnyEvent, Decided, Fragment, PlanChanged

if TYPE_CHECKING:
    from .turn import Turn


async def take_advice(turn: Turn) -> None:
    """Ask once, at the start of a run, and journal what was said."""
    try:
        advice = await turn.harness.advisor.advise(turn.scene.situation)
        given = _given(turn, advice)
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001 - supervises whatever advises
        await _skip(turn, "advice", error)
        return
    turn.scene.situation = msgspec.structs.replace(turn.scene.situation, family=advice.family)
    if given:
        await turn.commit(given)


def _given(turn: Turn, advice: Advice) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    if advice.items or advice.hints or advice.behind or advice.version or advice.family:
        events.append(
            AdviceGiven(
                items=advice.items,
                hints=advice.hints,
                behind=advice.behind,
                family=advice.family,
                set_version=advice.version,
            )
        )
    plan = turn.harness.build_plan(turn.state.request, advice)
    if plan.pending:
        events.append(PlanChanged(plan=plan, reason=advice.plan_reason or "learned workflow"))
    if advice.hints:
        events.append(Fragment(source="advice", text="\n".join(advice.hints)))
    return events


async def stand_as_before(turn: Turn) -> None:
    """Let learning stand where it stood before a run was interrupted."""
    try:
        await turn.harness.advisor.resume(turn.scene.situation, turn.state.advised_by or 0)
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001 - supervises whatever advises
        await _skip(turn, "advice", error)


async def learn(turn: Turn) -> None:
    """Learning comes after every run, and its failure is its own: the answer stands."""
    try:
        own = own_events(turn.record.events)
        await turn.harness.advisor.learn(trace_of(own, turn.session.id, turn.session.surface))
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001 - supervises whatever learns
        await _skip(turn, "learning", error)


async def _skip(turn: Turn, subject: str, error: Exception) -> None:
    reason = turn.harness.redactor.redact(f"{type(error).__name__}: {error}")
    await turn.commit([Decided(subject=subject, choice="skip", reason=reason)])
