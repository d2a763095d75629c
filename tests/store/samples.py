"""One event of every kind with every field set, and short ways to a running run."""

import threading
from collections.abc import Callable
from typing import Any, get_args

import msgspec

from hermes_agent.store.open import Store
from hermes_agent.store.runs import Run
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import (
    AdviceGiven,
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Compacted,
    Decided,
    DeliveryFinished,
    DeliveryIntended,
    Fragment,
    InboxMode,
    Judged,
    ModelCalled,
    PlanChanged,
    PrefixFrozen,
    ProcessSpawned,
    Recovered,
    RunFinished,
    RunStarted,
    Usage,
    UserMessage,
)
from hermes_agent.types.plan import ActivePlan
from hermes_agent.types.text import clean
from hermes_agent.types.tools import Effect, Label, ProcessIdentity, ToolCall
from hermes_agent.types.trace import AdviceItem, CallStatus, Judge, Outcome, RunStatus

KINDS: tuple[type[Any], ...] = get_args(AnyEvent)
SAMPLES: tuple[AnyEvent, ...] = (
    RunStarted(inbox_id="in-1", model="openai:small", options={"base_url": "http://127.0.0.1:1", "yes": True}),
    UserMessage(text="Grüße, 世界 👋 and NUL \x00", inbox_id="in-1", mode=InboxMode.STEER),
    Fragment(source="plan", text="step 2 of 3"),
    Compacted(summary="so far: ünïcode", dropped=7, by="list (refused)"),
    PrefixFrozen(prefix_epoch=3, fingerprint="f00d", reason="upgrade"),
    AdviceGiven(
        items=(
            AdviceItem(id="h1", text="prefer grep", applied=False, propensity=0.5, kind="prefer_tool", call_id="c1"),
        ),
        hints=("read first",),
        behind=("slow_tool",),
        family="ledgers",
        set_version=4,
    ),
    PlanChanged(plan=ActivePlan(step=1, pending=("b", "c"), retries_left=2), reason="step done"),
    ModelCalled(
        provider="openai",
        model="small",
        latency_ms=12.5,
        usage=Usage(input=100, output=20, cached=80),
        failure=ModelFailure.RATE_LIMIT,
        reason="429",
        decision="wait 2 s",
    ),
    AssistantMessage(
        text="Let me look.",
        calls=(
            ToolCall(id="c1", name="read_file", arguments={"path": "a.txt", "deep": [1, 2.5, None, {"k": "ä"}]}),
            ToolCall(id="c2", name="odd", problem="the arguments are not JSON"),
        ),
        stop="tool_calls",
    ),
    CallIntended(
        call_id="c1", tool="read_file", effect=Effect.IDEMPOTENT, key="key-1", digest="d1", before={"a.txt": "beef"}
    ),
    ProcessSpawned(
        call_id="c1",
        process="p1",
        identity=ProcessIdentity(boot_id="b", pid=7, started=1.25, group=7, host="here"),
        background=True,
        command="sleep 1",
        log="p1.log",
    ),
    CallFinished(
        call_id="c1",
        tool="read_file",
        status=CallStatus.ERROR,
        text="no such file",
        duration_ms=3.5,
        error="not_found",
        attempts=2,
        blob="0123456789abcdef",
        refusals=("network",),
    ),
    Decided(subject="read_file", choice="retry", reason="transient", call_id="c1"),
    Recovered(by="host:1", in_doubt=("c1",), rerun=("c2",), ended=("p1",), adopted=("p2",)),
    RunFinished(
        answer="done",
        status=RunStatus.DONE,
        outcome=Outcome(status=RunStatus.DONE, judged_by=Judge.VERIFIER, reason="checked"),
    ),
    Judged(success=False, by=Judge.USER, reason="wrong file"),
    DeliveryIntended(surface="cli"),
    DeliveryFinished(surface="cli"),
)
GROWN: tuple[AnyEvent, ...] = (
    Fragment(
        source="memory",
        text="the ledger is in euros",
        labels=(Label.PRIVATE, Label.UNTRUSTED),
        origin="honcho",
    ),
    AdviceGiven(
        items=(AdviceItem(id="h2", text="fits", applied=True, propensity=0.9, kind="skill", subject="csv-analysis"),)
    ),
)
"""Events with fields that came later; `SAMPLES` has them as they were first written."""


def cleaned(value: Any) -> Any:
    """What a database may give back for a JSON value: the same, with lone surrogates replaced."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): cleaned(item) for key, item in value.items()}
        case list() | tuple():
            return [cleaned(item) for item in value]
        case _:
            return value


def as_stored(event: AnyEvent) -> AnyEvent:
    """The event that must come back for one that was appended."""
    return msgspec.convert(cleaned(msgspec.to_builtins(event)), type(event))


async def new_session(store: Store, title: str = "a task") -> str:
    """The id of a fresh session."""
    session = await store.sessions.create(agent="main", surface="cli", workspace="/w", title=title)
    return session.id


async def begun(store: Store, text: str = "hello", holder: str = "me", title: str = "a task") -> Run:
    """A run that was begun on a message in a fresh session."""
    session_id = await new_session(store, title)
    await store.inbox.put(session_id, text, InboxMode.QUEUE)
    run = await store.runs.begin(session_id, holder, "scripted")
    assert run is not None
    return run


async def finish(store: Store, run: Run, answer: str = "done") -> None:
    """Close a run with success."""
    outcome = Outcome(status=RunStatus.DONE)
    await store.journal.append(run.id, run.epoch, [RunFinished(answer=answer, status=RunStatus.DONE, outcome=outcome)])


def race(count: int, action: Callable[[int], None]) -> None:
    """Run `action(number)` in threads that start together; what one raises is raised here."""
    gate = threading.Barrier(count)
    errors: list[BaseException] = []

    def one(number: int) -> None:
        gate.wait()
        try:
            action(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
