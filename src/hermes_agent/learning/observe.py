"""What one run was worth: five figures of a trace, against the best that its family has done so far. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..store.learning_views import Best
from ..types.base import Value
from ..types.text import one_line
from ..types.tools import Label
from ..types.trace import CallStatus, RunStatus, ToolRecord, Trace

_FAILED = (CallStatus.ERROR, CallStatus.TIMEOUT)
_INSIGHTS = 5
_DISTINCT_TOOLS = 3
_TELLING = 3


class ErrorRecovery(Value, frozen=True, kw_only=True):
    """Failed calls of a run. One is recovered when the same tool worked later, or the run succeeded all the same.

    `new_pitfalls` are failures ("tool:error class") that this family had not met before."""

    errors: int = 0
    recovered: int = 0
    new_pitfalls: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        """Recovered of all; None without any error."""
        return self.recovered / self.errors if self.errors else None


class Observed(Value, frozen=True, kw_only=True):
    """A run observed. `success` is None when nobody can say: an outage, or a run that was interrupted."""

    success: bool | None
    efficiency_score: float
    error_recovery: ErrorRecovery
    learning_value: float
    key_insights: tuple[str, ...]


def observe(trace: Trace, best: Best) -> Observed:
    """Score a run against the best of its family before it (`store.learning_views.best_of`)."""
    success = _success(trace)
    recovery = _recovery(trace, best, success)
    return Observed(
        success=success,
        efficiency_score=round(_efficiency(trace, best), 4),
        error_recovery=recovery,
        learning_value=round(_value(trace, best, success, recovery), 4),
        key_insights=tuple(_insights(trace, best, success, recovery))[:_INSIGHTS],
    )


def generalisable(trace: Trace, best: Best) -> bool:
    """Whether the way it was done can serve other requests: the family has succeeded before, or a value of the request
    went into a call that worked, so that another value can take its place. Never after strangers' text was read."""
    if any(Label.UNTRUSTED in call.labels for call in trace.calls):
        return False
    if best.calls is not None:
        return True
    request = trace.request.casefold()
    return any(text.casefold() in request for call in trace.calls if _worked(call) for text in _texts(call.input))


def _success(trace: Trace) -> bool | None:
    if trace.outage or trace.outcome.status in (RunStatus.OPEN, RunStatus.INTERRUPTED):
        return None
    return trace.outcome.status is RunStatus.DONE


def _recovery(trace: Trace, best: Best, success: bool | None) -> ErrorRecovery:
    recovered, errors, met = 0, 0, dict[str, None]()
    for place, call in enumerate(trace.calls):
        if call.status not in _FAILED:
            continue
        errors += 1
        met[_signature(call)] = None
        recovered += success is True or _mended(trace.calls, place) is not None
    fresh = tuple(signature for signature in met if signature not in best.pitfalls)
    return ErrorRecovery(errors=errors, recovered=recovered, new_pitfalls=fresh)


def _mended(calls: Sequence[ToolRecord], place: int) -> ToolRecord | None:
    """The later call of the same tool that worked."""
    failed = calls[place]
    return next((call for call in calls[place + 1 :] if call.tool == failed.tool and _worked(call)), None)


def _efficiency(trace: Trace, best: Best) -> float:
    """The mean of two ratios, each at most 1: the fewest steps and the shortest time over this run's. The answer counts
    as a step, so that a run without calls is comparable. The first success of a family is its own best."""
    steps = trace.summary.tool_calls_count + 1
    by_steps = 1.0 if best.calls is None else min(1.0, (best.calls + 1) / steps)
    seconds = trace.summary.total_time
    by_time = 1.0 if best.seconds is None or seconds <= 0 else min(1.0, best.seconds / seconds)
    return (by_steps + by_time) / 2


def _value(trace: Trace, best: Best, success: bool | None, recovery: ErrorRecovery) -> float:
    tools = {call.tool for call in trace.calls if _worked(call)}
    return (
        0.4 * (success is True)
        + 0.2 * (len(tools) >= _DISTINCT_TOOLS)
        + 0.2 * (recovery.recovered > 0)
        + 0.2 * generalisable(trace, best)
    )


def _insights(trace: Trace, best: Best, success: bool | None, recovery: ErrorRecovery) -> Iterator[str]:
    for signature in recovery.new_pitfalls:
        tool, _, error = signature.partition(":")
        yield one_line(f"new: {tool} fails with {error}", 160)
    told = set()
    for place, call in enumerate(trace.calls):
        then = _mended(trace.calls, place) if call.status in _FAILED else None
        if then is not None and _signature(call) not in told:
            told.add(_signature(call))
            changed = ", ".join(sorted(_changed(call.input, then.input))) or "nothing"
            yield one_line(f"after {_signature(call)}, {then.tool} worked with changed {changed}", 160)
    if success is True:
        plan = " > ".join(call.tool for call in trace.calls if _worked(call) and not call.parent)
        if plan and (best.calls is None or trace.summary.tool_calls_count < best.calls):
            yield one_line(f"{'first' if best.calls is None else 'shortest'} way that worked: {plan}", 160)
        if best.seconds is not None and trace.summary.total_time < best.seconds:
            yield f"fastest so far: {trace.summary.total_time:.3g} s, before {best.seconds:.3g} s"
    if success is False and recovery.errors > recovery.recovered:
        yield f"{recovery.errors - recovery.recovered} failed calls were not made good"


def _changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _signature(call: ToolRecord) -> str:
    return f"{call.tool}:{call.error or call.status.value}"


def _worked(call: ToolRecord) -> bool:
    return call.status is CallStatus.OK


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for part in value.values():
                yield from _texts(part)
        case list() | tuple():
            for part in value:
                yield from _texts(part)
        case str() if len(value.strip()) >= _TELLING:
            yield value.strip()
        case _:
            return
