"""How a run that ended is shown: as text, or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...app import App
from ...runtime.engine import Finished
from ...store.traces import tool_records
from ...types.events import ModelCalled, Recorded
from ...types.trace import CallStatus, RunStatus
from .checking import check_of, show_check
from .console import Console
from .progress import Progress
from .stopping import INTERRUPTED

EXIT_CODES = {RunStatus.DONE: 0, RunStatus.FAILED: 1, RunStatus.INTERRUPTED: INTERRUPTED, RunStatus.OPEN: 1}


async def show_answer(app: App, finished: Finished, console: Console, progress: Progress) -> None:
    """Print the answer, unless it was streamed already, and what the user should know about the run."""
    progress.end_text()
    answer = finished.result.answer
    if answer and not progress.streamed.get(finished.run_id):
        console.say(answer)
    if finished.result.status is not RunStatus.DONE:
        console.note(f"{finished.result.status.value}: {finished.result.outcome.reason}", "red")
    events = await app.store.journal.run_events(finished.run_id)
    for record in tool_records(events):
        if record.status is CallStatus.IN_DOUBT:
            console.note(f"in doubt: {record.tool} may or may not have had its effect; check before repeating", "red")
    if found := check_of(events):
        show_check(found, console)


def report(finished: Finished, events: Sequence[Recorded]) -> dict[str, Any]:
    """A finished run as JSON: session, run, answer, outcome, calls, usage."""
    usage = [entry.event.usage for entry in events if isinstance(entry.event, ModelCalled)]
    records = tool_records(events)
    return {
        "session": finished.session_id,
        "run": finished.run_id,
        "answer": finished.result.answer,
        "outcome": finished.result.outcome,
        "resumed": finished.resumed,
        "calls": records,
        "in_doubt": [record.call_id for record in records if record.status is CallStatus.IN_DOUBT],
        "usage": {
            "model_calls": len(usage),
            "input_tokens": sum(one.input for one in usage),
            "output_tokens": sum(one.output for one in usage),
            "cached_tokens": sum(one.cached for one in usage),
        },
    }
