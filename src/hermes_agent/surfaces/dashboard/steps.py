"""Events of the journal as steps that a person can read. One shape for every kind, so that one list shows all."""

from __future__ import annotations

import msgspec

from ...types.base import Value
from ...types.events import (
    AdviceGiven,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Compacted,
    Decided,
    DeliveryFinished,
    DeliveryIntended,
    Fragment,
    Judged,
    ModelCalled,
    PlanChanged,
    PrefixFrozen,
    ProcessSpawned,
    Recorded,
    Recovered,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ...types.text import clean_json, head_and_tail, one_line, visible
from ...types.tools import ToolCall
from ...types.trace import CallStatus, RunStatus

LONGEST = 4000


class ShownStep(Value, frozen=True, kw_only=True):
    """One event: `title` in a few words, `text` what was said or printed, `state` how it went (ok, warn, bad or "")."""

    run_id: str
    seq: int
    at: float
    kind: str
    title: str
    text: str = ""
    state: str = ""


def steps_of(events: list[Recorded], longest: int = LONGEST) -> list[ShownStep]:
    """All of them, in order."""
    return [step_of(entry, longest) for entry in events]


def step_of(entry: Recorded, longest: int = LONGEST) -> ShownStep:
    """One event as a step; texts are cut in the middle."""
    title, text, state = _told(entry)
    return ShownStep(
        run_id=entry.run_id,
        seq=entry.seq,
        at=entry.at,
        kind=str(type(entry.event).__struct_config__.tag),
        title=one_line(title, 200),
        text=visible(head_and_tail(text, longest)) if text else "",
        state=state,
    )


def _told(entry: Recorded) -> tuple[str, str, str]:
    """(title, text, state)"""
    match entry.event:
        case RunStarted(model=model):
            return f"run begun on {model}", "", ""
        case UserMessage(text=text, mode=mode):
            return ("you" if mode == "queue" else f"you ({mode})"), text, ""
        case Fragment(source=source, text=text):
            return f"told the model: {source}", text, ""
        case Compacted(summary=summary, dropped=dropped):
            return f"{dropped} messages summed up", summary, ""
        case PrefixFrozen(prefix_epoch=epoch, reason=reason):
            return f"prefix {epoch}: {reason}", "", ""
        case ModelCalled() as called:
            return _called(called)
        case AssistantMessage(text=text, calls=calls):
            asked = ", ".join(call.name for call in calls)
            lines = [text] if text else []
            return (f"asks for {asked}" if calls else "answer"), "\n".join(lines + [_call(call) for call in calls]), ""
        case CallFinished() as done:
            state = {CallStatus.OK: "ok", CallStatus.STEERED: "warn", CallStatus.IN_DOUBT: "bad"}.get(
                done.status, "warn"
            )
            error = f", {done.error}" if done.error else ""
            return f"{done.tool}: {done.status.value}{error} ({done.duration_ms / 1000:.2f} s)", done.text, state
        case RunFinished(answer=answer, status=status, outcome=outcome):
            good = status is RunStatus.DONE
            said = outcome.reason if not good else ""
            return f"{status.value}, judged by {outcome.judged_by.value}", said or answer, "ok" if good else "bad"
        case _:
            return _around(entry)


def _around(entry: Recorded) -> tuple[str, str, str]:
    """What happens around the conversation."""
    match entry.event:
        case AdviceGiven() as advice:
            applied = sum(item.applied for item in advice.items)
            about = f" (family {advice.family})" if advice.family else ""
            lines = [f"{'applied' if item.applied else 'withheld'} {item.id}: {item.text}" for item in advice.items]
            return (
                f"advice{about}: {applied} applied, {len(advice.items) - applied} withheld",
                "\n".join([*lines, *advice.hints]),
                "",
            )
        case PlanChanged(plan=plan, reason=reason):
            return f"plan: {reason}", " > ".join(plan.pending), ""
        case CallIntended(tool=tool, effect=effect):
            return f"{tool} begins (effect {effect.value})", "", ""
        case ProcessSpawned(process=process, command=command, identity=identity):
            return f"process {process}, pid {identity.pid}", command, ""
        case Decided(subject=subject, choice=choice, reason=reason):
            return f"decided: {choice} ({subject})", reason, "warn" if choice in ("refuse", "abort") else ""
        case Recovered() as taken:
            doubt = f"in doubt: {', '.join(taken.in_doubt)}" if taken.in_doubt else ""
            return "taken up again after an interruption", doubt, "warn"
        case Judged(success=success, by=by, reason=reason):
            return f"judged {'good' if success else 'bad'} by {by.value}", reason, "ok" if success else "bad"
        case DeliveryIntended(surface=surface):
            return f"answer is being shown on {surface}", "", ""
        case DeliveryFinished(surface=surface):
            return f"answer shown on {surface}", "", ""
        case other:
            return str(type(other).__struct_config__.tag), "", ""


def _called(called: ModelCalled) -> tuple[str, str, str]:
    used = called.usage
    cached = f", {used.cached / used.input:.0%} cached" if used.input and used.cached else ""
    figures = f"{used.input:,} in{cached}, {used.output:,} out, {called.latency_ms / 1000:.2f} s"
    if called.failure is None:
        return f"{called.provider}:{called.model}: {figures}", "", ""
    return f"{called.provider}:{called.model} failed: {called.failure.value}", called.reason, "warn"


def _call(call: ToolCall) -> str:
    arguments = msgspec.json.encode(clean_json(call.arguments)).decode()
    return f"{call.name} {head_and_tail(arguments, 1500)}"
