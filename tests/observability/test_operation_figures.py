"""The figures of the whole agent as a scraper gets them, on both databases."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_agent.learning.figures import MODELS
from hermes_agent.learning.guard import floor_of
from hermes_agent.observability.metrics import MetricType, render
from hermes_agent.runtime.figures import ALL_HELP, TOOLS
from hermes_agent.store.database import Connection
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.trace import CallStatus, RunStatus
from hermes_agent.version import __version__
from tests.observability.worked import Values, asked, called, ended, figures, values, worked
from tests.store.learning_samples import FAMILY, MODEL
from tests.store.samples import begun

SMALL = ("small", "openai")
STRANGE = ("m:x", "strange")


def collected(store: Store) -> Values:
    return values(asyncio.run(figures(store).collect()))


@pytest.mark.req("R10", "R13")
def test_every_figure_of_an_agent_that_worked(store_url: str, home: Path) -> None:
    store = worked(store_url, home)
    found = collected(store)
    assert set(found) == set(ALL_HELP)
    assert found.pop("hermes_store_bytes")[()] > 10_000
    (((database, python, version), one),) = found.pop("hermes_build_info").items()
    assert (version, one, python.count(".")) == (__version__, 1, 2) and database in ("sqlite", "postgres")
    assert 0 <= found.pop("hermes_inbox_oldest_seconds")[()] < 60
    seconds = found.pop("hermes_run_seconds_total")
    assert seconds[("done", "cli")] == 8 and 0 <= seconds[("failed", "cli")] < 60
    told, inferred = (FAMILY, "told", MODEL), (FAMILY, "inferred", MODEL)
    operation = {name: found[name] for name in found if name in _OPERATION}
    assert operation == {
        **_OPERATION,
        "hermes_success_baseline": {told: 0.9},
        "hermes_success_floor": {told: pytest.approx(floor_of(90, 100))},
        "hermes_success_watched": {told: 0.5},
        "hermes_success_below_baseline": {told: 1, inferred: 0},
    }
    assert found["hermes_runs_total"] == {(FAMILY, MODEL, "success"): 45, (FAMILY, MODEL, "failure"): 15}
    assert collected(store)["hermes_tool_calls_total"] == found["hermes_tool_calls_total"]
    store.close()


_OPERATION: Values = {
    "hermes_runs_ended_total": {("done", "cli"): 1, ("failed", "cli"): 1},
    "hermes_runs_under_way": {(): 2},
    "hermes_runs_abandoned": {(): 1},
    "hermes_inbox_waiting": {(): 1},
    "hermes_outbox_unread": {(): 1},
    "hermes_answers_undelivered": {(): 2},
    "hermes_in_doubt_effects": {(): 1},
    "hermes_in_doubt_calls_total": {(): 1},
    "hermes_tool_calls_total": {("ok", "read_file"): 1, ("error", "read_file"): 1, ("in_doubt", "send"): 1},
    "hermes_tool_seconds_total": {("ok", "read_file"): 0.5, ("error", "read_file"): 0.5, ("in_doubt", "send"): 0.5},
    "hermes_model_calls_total": {SMALL: 2, STRANGE: 1},
    "hermes_model_failures_total": {SMALL: 1, STRANGE: 0},
    "hermes_model_tokens_total": {
        ("input", *SMALL): 1_000_000,
        ("output", *SMALL): 100_000,
        ("cached", *SMALL): 400_000,
        ("input", *STRANGE): 0,
        ("output", *STRANGE): 0,
        ("cached", *STRANGE): 0,
    },
    "hermes_model_seconds_total": {SMALL: 4, STRANGE: 2},
    "hermes_model_cost_usd_total": {SMALL: 1.0},
    "hermes_model_cached_share": {SMALL: 0.4},
    "hermes_budget_spent": {
        ("day", "usd"): 4.5,
        ("day", "tokens"): 0,
        ("day", "seconds"): 0,
        ("run", "usd"): 0,
        ("run", "tokens"): 900,
        ("run", "seconds"): 0,
        ("session", "usd"): 0,
        ("session", "tokens"): 0,
        ("session", "seconds"): 0,
    },
    "hermes_budget_cap": {("day", "usd"): 5, ("run", "tokens"): 1000},
    "hermes_skills": {("healthy", "x"): 1, ("deprecated", "x"): 1},
    "hermes_skills_to_rewrite": {(): 1},
    "hermes_background_work_total": {("review", "done"): 2, ("review", "failed"): 1},
    "hermes_approvals_waiting": {(): 0},
    "hermes_success_baseline": {},
    "hermes_success_floor": {},
    "hermes_success_watched": {},
    "hermes_success_below_baseline": {},
}


def test_an_empty_store_has_every_metric_and_the_page_is_valid(home: Path) -> None:
    store = open_store("", home)
    metrics = asyncio.run(figures(store).collect())
    page = render(metrics)
    names = [line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")]
    assert sorted(names) == sorted(ALL_HELP)
    for family in text_string_to_metric_families(page):
        assert family.documentation == ALL_HELP.get(family.name) or ALL_HELP[f"{family.name}_total"]
    assert all((metric.type is MetricType.COUNTER) == metric.name.endswith("_total") for metric in metrics)
    assert values(metrics)["hermes_in_doubt_calls_total"] == {(): 0}
    store.close()


def test_labels_are_bounded_and_nothing_is_lost(home: Path) -> None:
    """Tools and models with hostile names: the loudest are named, the rest summed up."""
    store = open_store("", home)

    async def work() -> None:
        run = await begun(store)
        events = [asked("p", f'm{n}"}} 1\n', input=1) for n in range(MODELS + 5)]
        calls = [one for n in range(TOOLS + 5) for one in called(f"c{n}", f"t{n}\\\n", CallStatus.OK)]
        await store.journal.append(run.id, run.epoch, [*events, *calls])
        await ended(store, run, RunStatus.DONE)

    asyncio.run(work())
    metrics = asyncio.run(figures(store).collect())
    found = values(metrics)
    models, tools = found["hermes_model_calls_total"], found["hermes_tool_calls_total"]
    assert models[("other", "other")] == 5 and len(models) == MODELS + 1 and sum(models.values()) == MODELS + 5
    assert tools[("ok", "other")] == 5 and len(tools) == TOOLS + 1 and sum(tools.values()) == TOOLS + 5
    parsed = {family.name for family in text_string_to_metric_families(render(metrics))}
    assert parsed == {name.removesuffix("_total") for name in ALL_HELP}
    store.close()


def test_calls_of_an_open_run_count_once_when_it_ends(store: Store) -> None:
    async def work() -> None:
        run = await begun(store)
        await store.journal.append(run.id, run.epoch, called("a", "read_file", CallStatus.OK))
        collector = figures(store)
        before = values(await collector.collect())["hermes_tool_calls_total"]
        await ended(store, run, RunStatus.DONE)
        after = values(await collector.collect())["hermes_tool_calls_total"]
        assert before == after == {("ok", "read_file"): 1}

    asyncio.run(work())


def test_rates_follow_new_runs_and_judgements(home: Path) -> None:
    """What is kept in memory is as good as reading anew."""
    store = worked("", home)
    collector = figures(store)
    asyncio.run(collector.collect())

    def judge(connection: Connection) -> None:
        ((seq, run_id, session),) = connection.run(
            "SELECT l.seq, l.run_id, l.session_id FROM lessons l ORDER BY seq DESC LIMIT 1"
        )
        connection.run("UPDATE learning SET value = value + 1 WHERE id = 'sequence'")
        connection.run("INSERT INTO judgements VALUES (?, ?, ?, 0, 'user', 1)", (seq + 1, run_id, session))
        connection.run("UPDATE lessons SET success = 0 WHERE run_id = ?", (run_id,))

    before = values(asyncio.run(collector.collect()))
    store.database.write_now(judge)
    after = values(asyncio.run(collector.collect()))
    fresh = collected(store)
    assert {**after, "hermes_inbox_oldest_seconds": {}} == {**fresh, "hermes_inbox_oldest_seconds": {}}
    assert before["hermes_success_rate"] == {(FAMILY, MODEL): 0.8}
    assert after["hermes_success_rate"] == {(FAMILY, MODEL): 0.78}
    assert after["hermes_runs_total"] == {(FAMILY, MODEL, "success"): 44, (FAMILY, MODEL, "failure"): 16}
    store.close()
