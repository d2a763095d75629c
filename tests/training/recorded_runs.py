"""Runs written straight into the journal, and the tools they were told of."""

import json
from collections.abc import Sequence

from hermes_agent.safety.redact import Redactor
from hermes_agent.store.open import Store
from hermes_agent.store.runs import Run
from hermes_agent.training.trajectories import Export, Selection, Trajectory
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Fragment,
    InboxMode,
    PrefixFrozen,
    RunFinished,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import CallStatus, Judge, Outcome, RunStatus

SYSTEM = "You are an agent. Grüße."
TOOLS = [
    {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "name": "sum_column",
        "description": "Add numbers up.",
        "parameters": {"type": "object", "properties": {"path": {"type": "integer"}, "rows": {"type": "array"}}},
    },
]
DECLARED = [{"type": "function", "function": tool} for tool in TOOLS]


def calls(*made: ToolCall, text: str = "") -> list[AnyEvent]:
    """An answer with calls, and their intents."""
    intents = [
        CallIntended(call_id=call.id, tool=call.name, effect=Effect.NONE, key=call.id, digest=call.id) for call in made
    ]
    return [AssistantMessage(text=text, calls=made, stop="tool_calls"), *intents]


def result(call_id: str, text: str, tool: str = "read_file", status: CallStatus = CallStatus.OK) -> CallFinished:
    """What a call came to."""
    error = "" if status is CallStatus.OK else "not_found"
    return CallFinished(call_id=call_id, tool=tool, status=status, text=text, error=error)


def ended(
    answer: str, status: RunStatus = RunStatus.DONE, judge: Judge = Judge.INFERRED, reason: str = ""
) -> list[AnyEvent]:
    """The last answer and the end of the run."""
    outcome = Outcome(status=status, judged_by=judge, reason=reason)
    said: list[AnyEvent] = [AssistantMessage(text=answer, stop="stop")] if answer else []
    return [*said, RunFinished(answer=answer, status=status, outcome=outcome)]


def worked(answer: str = "42") -> list[AnyEvent]:
    """A run with two calls at once, one of which failed and was made good, and a notice."""
    first = ToolCall(id="c1", name="read_file", arguments={"path": "a.csv"})
    second = ToolCall(id="c2", name="sum_column", arguments={"path": 3, "rows": [1, "two", None]})
    third = ToolCall(id="c3", name="read_file", arguments={"path": "b.csv"})
    return [
        Fragment(source="advice", text="b.csv is the file"),
        *calls(first, second, text="I look."),
        result("c2", "not steered", "sum_column", CallStatus.STEERED),
        result("c1", "no such file", status=CallStatus.ERROR),
        *calls(third),
        result("c3", "40\n2\n"),
        *ended(answer),
    ]


async def session(store: Store, system: str = SYSTEM) -> str:
    """A session with its prefix frozen."""
    made = await store.sessions.create(agent="main", surface="cli", workspace="/w", title="t")
    payload = json.dumps({"system": system, "tools": TOOLS})
    await store.prefixes.freeze(made.id, 1, payload, "scripted:a", "9.9", "new session")
    return made.id


async def run(
    store: Store, events: Sequence[AnyEvent], request: str = "Add b.csv up", at: str = "", model: str = "scripted:a"
) -> Run:
    """One finished run, in a new session or behind the others of one."""
    where = at or await session(store)
    await store.inbox.put(where, request, InboxMode.QUEUE)
    begun = await store.runs.begin(where, "me", model)
    assert begun is not None
    current = await store.prefixes.current(where)
    assert current is not None
    frozen = PrefixFrozen(prefix_epoch=1, fingerprint=current.fingerprint, reason="")
    await store.journal.append(begun.id, begun.epoch, [frozen, *events])
    return begun


async def exported(store: Store, chosen: Selection | None = None, *secrets: str) -> list[Trajectory]:
    """What an export of these runs holds."""
    export = Export(store, Redactor(secrets))
    return [one async for one in export.trajectories(chosen or Selection())]
