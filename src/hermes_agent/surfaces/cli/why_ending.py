"""How a run ended, who says so, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...harness.verdict import CHECK
from ...store.forks import own_events
from ...store.runs import Run
from ...store.usage import Used, UsedBy
from ...types.base import Value
from ...types.events import CallFinished, Decided, Judged, ModelCalled, Recorded, RunFinished
from ...types.trace import Judge, RunStatus
from .usage import line_of


class Said(Value, frozen=True, kw_only=True):
    """Somebody's word on a run: the check's, or a later judgement. `success` is None where it could not say."""

    by: str
    success: bool | None
    reason: str
    at: float


class Ending(Value, frozen=True, kw_only=True):
    """How a run ended. `success` is what counts now, `judged_by` who says so; `said` is everything that was said."""

    status: str
    success: bool | None
    judged_by: str
    reason: str
    said: tuple[Said, ...] = ()


class Cost(Value, frozen=True, kw_only=True):
    """What a run's own steps cost. `usd` is None when a price is unknown, `usd_known` what the others cost; `unpriced`
    names the models without a price. `seconds` is from beginning to end, waiting included; None while it is open."""

    model_calls: int
    failed: int
    input: int
    output: int
    cached: int
    usd: float | None
    usd_known: float
    unpriced: tuple[str, ...]
    seconds: float | None
    model_seconds: float
    tool_seconds: float


def ending_of(events: Sequence[Recorded]) -> Ending:
    """The end of a run, with every judgement; the last one counts."""
    finished = next((entry.event for entry in events if isinstance(entry.event, RunFinished)), None)
    said = tuple(one for entry in events if (one := _said(entry)) is not None)
    if finished is None:
        return Ending(status=RunStatus.OPEN.value, success=None, judged_by="", reason="", said=said)
    judged = [entry.event for entry in events if isinstance(entry.event, Judged)]
    if judged:
        last = judged[-1]
        success, by, reason = last.success, last.by, last.reason
    else:
        outcome = finished.outcome
        success, by, reason = outcome.status is RunStatus.DONE, outcome.judged_by, outcome.reason
    known = by is not Judge.INFERRED or finished.status in (RunStatus.DONE, RunStatus.FAILED)
    return Ending(
        status=finished.status.value,
        success=success if known else None,
        judged_by=by.value,
        reason=reason,
        said=said,
    )


def _said(entry: Recorded) -> Said | None:
    match entry.event:
        case Decided(subject=subject, choice=choice, reason=reason) if subject == CHECK:
            success = {"passed": True, "failed": False}.get(choice)
            return Said(by="check", success=success, reason=reason, at=entry.at)
        case Judged(success=success, by=by, reason=reason):
            return Said(by=by.value, success=success, reason=reason, at=entry.at)
        case _:
            return None


def cost_of(run: Run, events: Sequence[Recorded], home: Path) -> Cost:
    """What a run cost: what a fork copied cost it nothing."""
    own = [entry.event for entry in own_events(events)]
    asked = [event for event in own if isinstance(event, ModelCalled)]
    line = line_of("run", [_used(event) for event in asked], home)
    used = line.used
    seconds = None if run.finished_at is None else round(run.finished_at - run.started_at, 3)
    tools = sum(event.duration_ms for event in own if isinstance(event, CallFinished) and not event.parent)
    return Cost(
        model_calls=used.calls,
        failed=used.failures,
        input=used.input,
        output=used.output,
        cached=used.cached,
        usd=line.usd,
        usd_known=line.usd_known,
        unpriced=line.unpriced,
        seconds=seconds,
        model_seconds=round(sum(event.latency_ms for event in asked) / 1000, 3),
        tool_seconds=round(tools / 1000, 3),
    )


def _used(event: ModelCalled) -> UsedBy:
    usage = event.usage
    used = Used(
        calls=1,
        failures=int(event.failure is not None),
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
    )
    return UsedBy(key="run", provider=event.provider, model=event.model, used=used)
