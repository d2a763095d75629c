"""A store in which work was done, so that every figure has something to show."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from hermes_agent.config.settings import BudgetSettings
from hermes_agent.learning.guard import Baseline, FamilyGuard, Watch
from hermes_agent.models.facts import ModelFacts
from hermes_agent.observability.metrics import Metric
from hermes_agent.runtime.figures import Figures
from hermes_agent.store.database import Connection
from hermes_agent.store.lessons import ascii_json
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.runs import Run
from hermes_agent.types.errors import ModelFailure, UsageError
from hermes_agent.types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    InboxMode,
    ModelCalled,
    RunFinished,
    Usage,
)
from hermes_agent.types.tools import Effect, ToolCall
from hermes_agent.types.trace import CallStatus, Outcome, RunStatus
from tests.store.learning_samples import FAMILY, MODEL, taught
from tests.store.samples import begun

NOW = 1_800_000_000.0
CAPS = BudgetSettings(day_usd=5, run_tokens=1000)
_WORDS = (
    "owner, shelf, origin, made_by, description, trigger_conditions, code_template, parameters, dependencies,"
    " success_criteria, pitfalls, test_parameters, tags, embedding, version, health_note, validated"
)
_NUMBERS = "usage_count, success_rate, best_efficiency_score, enabled, pinned, created_at"
Values = dict[str, dict[tuple[str, ...], float]]


def facts(name: str) -> ModelFacts:
    """A dollar for a million tokens in, two out, a half from the cache; a strange name has no price."""
    if name.startswith("strange"):
        raise UsageError("no such provider")
    return ModelFacts(input_usd=1, output_usd=2, cached_usd=0.5)


def figures(store: Store) -> Figures:
    """The figures of a store under `CAPS`."""
    return Figures(store, CAPS, facts, clock=lambda: NOW)


def values(metrics: Sequence[Metric]) -> Values:
    """Values by metric and by the labels' values, in the order of the labels' names."""
    return {
        metric.name: {
            tuple(sample.labels[name] for name in sorted(sample.labels)): sample.value for sample in metric.samples
        }
        for metric in metrics
    }


def called(call_id: str, tool: str, status: CallStatus, effect: Effect = Effect.NONE) -> list[AnyEvent]:
    """A call from its wish to its end."""
    return [
        AssistantMessage(text="", calls=(ToolCall(id=call_id, name=tool, arguments={}),)),
        CallIntended(call_id=call_id, tool=tool, effect=effect, key="k", digest="d"),
        CallFinished(call_id=call_id, tool=tool, status=status, text="", duration_ms=500, error=""),
    ]


def asked(provider: str, model: str, failure: ModelFailure | None = None, **usage: int) -> ModelCalled:
    """A call of a model that took two seconds."""
    return ModelCalled(provider=provider, model=model, latency_ms=2000, usage=Usage(**usage), failure=failure)


async def ended(store: Store, run: Run, status: RunStatus) -> None:
    """End a run."""
    await store.journal.append(
        run.id, run.epoch, [RunFinished(answer="", status=status, outcome=Outcome(status=status))]
    )


async def _work(store: Store) -> None:
    first, second, third, lost = [await begun(store) for _ in range(4)]
    await store.journal.append(
        first.id,
        first.epoch,
        [
            asked("openai", "small", input=1_000_000, output=100_000, cached=400_000),
            *called("a", "read_file", CallStatus.OK),
            *called("b", "read_file", CallStatus.ERROR),
            asked("openai", "small", ModelFailure.OVERLOAD),
        ],
    )
    await store.journal.append(
        second.id, second.epoch, [asked("strange", "m:x"), *called("a", "send", CallStatus.IN_DOUBT, Effect.ONCE)]
    )
    await store.journal.append(third.id, third.epoch, called("a", "read_file", CallStatus.OK)[:2])
    await store.journal.append(lost.id, lost.epoch, called("a", "pay", CallStatus.OK, Effect.ONCE)[:2])
    await ended(store, first, RunStatus.DONE)
    await ended(store, second, RunStatus.FAILED)
    await store.inbox.put(third.session_id, "and this", InboxMode.QUEUE)
    await store.outbox.of_run(first.session_id, first.id).put(key="k", to="user", text="look", urgent=False)
    for number, status in enumerate(("done", "done", "failed")):
        work = await store.background.begin("review", work_id=f"w{number}")
        await store.background.finish(work.id, status)
    await store.database.write(lambda connection: _rest(connection, first, lost))


def _rest(connection: Connection, first: Run, lost: Run) -> None:
    """What other parts write: an expired lease, money spent, skills, what the guard remembers."""
    connection.run("UPDATE runs SET lease_until = 1 WHERE id = ?", (lost.id,))
    connection.run("UPDATE runs SET finished_at = started_at + 8 WHERE id = ?", (first.id,))
    connection.run("INSERT INTO budgets (scope, key, usd, reserved_usd) VALUES ('day', ?, 4, 0.5)", (day(),))
    connection.run("INSERT INTO budgets (scope, key, tokens) VALUES ('run', ?, 900)", (lost.id,))
    for name, health, rewrite in (("a", "healthy", 0), ("b", "deprecated", 1)):
        connection.run(
            f"INSERT INTO skills (id, name, health_status, needs_rewrite, {_WORDS}, {_NUMBERS}) VALUES (?, ?, ?, ?,"
            f" {', '.join(['?'] * _WORDS.count(','))}, '', {', '.join(['0'] * (_NUMBERS.count(',') + 1))})",
            (name, name, health, rewrite, *["x"] * _WORDS.count(",")),
        )
    guard = FamilyGuard(
        baseline=Baseline(successes=90, tasks=100), watching=Watch(floor=0.8, tasks=4, successes=2), notified=True
    )
    connection.run("INSERT INTO watches VALUES (?, ?, 1, ?)", (FAMILY, MODEL, ascii_json(guard)))
    young = FamilyGuard(baseline=Baseline(successes=1, tasks=2))
    connection.run("INSERT INTO watches VALUES (?, ?, 0, ?)", (f"{FAMILY}~inferred", MODEL, ascii_json(young)))


def day() -> str:
    """The day of `NOW` as budgets name it."""
    return time.strftime("%Y-%m-%d", time.localtime(NOW))


def worked(url: str, home: Path) -> Store:
    """An open store with two ended runs, two open ones of which one was abandoned, and sixty lessons."""
    taught(url, home)
    store = open_store(url, home)
    asyncio.run(_work(store))
    return store
