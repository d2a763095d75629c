"""From a trace to a lesson: which calls worked in which circumstances, what mended a failure, in which order it went.

Pure. What a run says only because of a slip of the model, a missing program or a stranger's text is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..store.codec import plain
from ..store.lessons import Lesson, Mending, Observation, PlanStep
from ..types.base import Value
from ..types.tools import Effect, Label
from ..types.trace import CallStatus, Judge, RunStatus, ToolRecord, Trace
from .context import NEVER_LEARNED, error_class, features_of, is_about_arguments

_TOLD = (CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT)
REPLAYED = "replay"
"""The surface of runs that replay made itself: they are pairs of an experiment, not part of the past."""
_SHORT = 60
_MOST_CALLS = 200
_MOST_MENDINGS = 30
_BEFORE_IT_RAN = frozenset({"bad_arguments", "unknown_tool", "unavailable"})
_NEVER_STEPS = frozenset({"plan", "todo", "clarify", "tool_search"})


class _Told(Value, frozen=True, kw_only=True):
    """A call that says something about its tool."""

    record: ToolRecord
    worked: bool
    error: str
    previous: str


def lesson_of(trace: Trace, family: str, *, tainted: bool) -> Lesson:
    """What a run teaches. O(trace). A run that replay made again was chosen, not come by: it teaches nothing."""
    told = list(_told(trace.calls[:_MOST_CALLS]))
    success, judge = success_of(trace)
    if trace.surface == REPLAYED:
        tainted, success = True, None
    return Lesson(
        run_id=trace.run_id,
        session_id=trace.session_id,
        family=family,
        model=trace.model,
        at=trace.started_at + trace.summary.total_time,
        surface=trace.surface,
        set_version=trace.advised_by,
        success=success,
        judged_by=judge,
        tainted=tainted,
        observations=() if tainted else tuple(_observations(told)),
        mendings=() if tainted else tuple(_mendings(told))[:_MOST_MENDINGS],
        steps=() if tainted else tuple(_steps(told)),
        items=trace.advice,
        calls=len(trace.calls),
        errors=sum(call.status in (CallStatus.ERROR, CallStatus.TIMEOUT) for call in trace.calls),
        seconds=trace.summary.total_time,
    )


def success_of(trace: Trace) -> tuple[bool | None, Judge]:
    """Whether a run succeeded, and who says so. Nobody can say after an outage or an interruption."""
    outcome = trace.outcome
    if outcome.judged_by is not Judge.INFERRED:
        return outcome.status is RunStatus.DONE, outcome.judged_by
    if trace.outage or outcome.status not in (RunStatus.DONE, RunStatus.FAILED):
        return None, Judge.INFERRED
    return outcome.status is RunStatus.DONE, Judge.INFERRED


def strangers_texts(trace: Trace) -> list[str]:
    """What strangers wrote in a run: it is searched for instructions before anything is learned from the run."""
    return [call.output for call in trace.calls if Label.UNTRUSTED in call.labels]


def _told(calls: Sequence[ToolRecord]) -> Iterator[_Told]:
    previous = ""
    for record in calls:
        if record.status not in _TOLD:
            continue
        worked = record.status is CallStatus.OK
        error = "" if worked else error_class(record.error or record.status.value, record.output)
        ran = worked or record.digest or record.error not in _BEFORE_IT_RAN
        if ran and error not in NEVER_LEARNED:
            yield _Told(record=record, worked=worked, error=error, previous=previous)
        previous = f"{record.tool}:{'ok' if worked else record.error or record.status.value}"


def _observations(told: Sequence[_Told]) -> Iterator[Observation]:
    """One for each tool and arguments: what the last attempt came to. Attempts before something else had an effect were
    another matter: to run the tests again after an edit is no retry."""
    same: dict[str, list[_Told]] = {}
    effects = 0
    seen_at: dict[str, int] = {}
    for call in told:
        key = call.record.digest or f"{call.record.tool}:{call.record.call_id}"
        if seen_at.get(key, effects) != effects:
            same[key] = []
        same.setdefault(key, []).append(call)
        effects += call.worked and call.record.effect is not Effect.NONE
        seen_at[key] = effects
    for tries in same.values():
        first, last = tries[0], tries[-1]
        error = next((call.error for call in tries if call.error), "")
        yield Observation(
            tool=last.record.tool,
            worked=last.worked,
            features=features_of(last.record.input, first.previous),
            error=error,
            tries=sum(call.record.attempts for call in tries),
            repeats=len(tries) - 1,
            call_id=last.record.call_id,
            once=last.record.effect is Effect.ONCE,
        )


def _mendings(told: Sequence[_Told]) -> Iterator[Mending]:
    """After each failed call: what was tried in its place until something worked."""
    seen: set[tuple[str, ...]] = set()
    for place, failed in enumerate(told):
        if failed.worked:
            continue
        for then in told[place + 1 :]:
            instead = then.record
            if instead.tool == failed.record.tool and instead.digest == failed.record.digest:
                continue
            if not _same_job(failed.record.input, instead.input):
                continue
            change = _change(failed.record, instead)
            key = (failed.record.tool, failed.error, instead.tool, change, instead.digest)
            if key not in seen:
                seen.add(key)
                yield Mending(
                    tool=failed.record.tool,
                    error=failed.error,
                    then=instead.tool,
                    worked=then.worked,
                    change=change,
                    features=features_of(failed.record.input),
                )
            if then.worked:
                break


def _same_job(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two calls are about the same thing: they share a value, or neither has any."""
    if not one or not other:
        return not one and not other
    ours, theirs = set(_texts(one)), set(_texts(other))
    return any(a == b or (len(a) > 3 and a in b) or (len(b) > 3 and b in a) for a in ours for b in theirs)


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    for value in list(arguments.values())[:8]:
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            yield str(value).strip()[:200]
        elif isinstance(value, list | tuple):
            yield from (str(item)[:200] for item in value[:8])


def _change(failed: ToolRecord, mended: ToolRecord) -> str:
    """What is different about a call of the same tool, where it is one short value."""
    if failed.tool != mended.tool:
        return ""
    names = sorted(set(failed.input) | set(mended.input))
    changed = [name for name in names if failed.input.get(name) != mended.input.get(name)]
    if len(changed) != 1:
        return "other arguments"
    name = plain(str(changed[0]))[:30]
    if changed[0] not in mended.input:
        return f"without {name}"
    value = plain(str(mended.input[changed[0]])[:100])
    return f"{name}={value}" if len(value) <= 30 and "\n" not in value else f"another {name}"


def _steps(told: Sequence[_Told]) -> Iterator[PlanStep]:
    """The run as a plan: each tool with the one that had worked before it. A repeated attempt is the same step."""
    after = ""
    last: tuple[str, str] | None = None
    for place, call in enumerate(told):
        record = call.record
        if record.tool in _NEVER_STEPS or record.parent or (not call.worked and is_about_arguments(call.error)):
            continue
        following = told[place + 1] if place + 1 < len(told) else None
        again = following is not None and following.record.digest == record.digest and not call.worked
        if not again and (record.tool, record.digest) != last:
            yield PlanStep(tool=record.tool, after=after, worked=call.worked, arguments=_short(record.input))
        last = (record.tool, record.digest) if not again else last
        if call.worked:
            after = record.tool


def _short(arguments: Mapping[str, Any]) -> dict[str, str]:
    kept = {}
    for name, value in list(arguments.items())[:6]:
        text = plain(str(value)[: _SHORT + 1])
        kept[plain(str(name))[:30]] = text if len(text) <= _SHORT and "\n" not in text else "…"
    return kept
