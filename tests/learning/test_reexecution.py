"""Tasks done again: which can be, how pairs are made, what they say, and the sets they run under."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.learning.evidence import PairEvidence
from hermes_agent.learning.reexecution import (
    Arms,
    Attempt,
    Pair,
    Refusal,
    Task,
    done_again,
    evidence_of,
    resettable,
    stored_set,
)
from hermes_agent.store.heuristics import activate_members, active_set
from hermes_agent.store.open import Store
from hermes_agent.types.events import AnyEvent, Image, Recorded, RunStarted, UserMessage

MODEL = "scripted:m"


def journal(*events: AnyEvent) -> list[Recorded]:
    return [Recorded(run_id="r1", seq=place, epoch=1, at=1.0, event=event) for place, event in enumerate(events, 1)]


def started(**options: Any) -> RunStarted:
    return RunStarted(inbox_id="i", model=MODEL, options=options)


BOTH = {"check": "test -e done", "reset": "rm -f done"}


@pytest.mark.parametrize(
    ("events", "ordinal", "reason"),
    [
        ([], 1, "its journal is gone"),
        ([started(), UserMessage(text="go")], 1, "it was made without --check and --reset"),
        ([started(check="true"), UserMessage(text="go")], 1, "it was made without --reset"),
        ([started(check=["true"], reset="true"), UserMessage(text="go")], 1, "it was made without --check"),
        ([started(**BOTH), UserMessage(text="go")], 2, "it went on with a conversation"),
        ([started(**BOTH), UserMessage(text="go"), UserMessage(text="on")], 1, "the user spoke during the run"),
        (
            [started(**BOTH), UserMessage(text="go", images=(Image(media_type="image/png", blob="b"),))],
            1,
            "it came with pictures",
        ),
    ],
)
def test_what_cannot_begin_again_is_refused_with_the_reason(events: list[AnyEvent], ordinal: int, reason: str) -> None:
    assert resettable("r1", journal(*events), "/work", ordinal) == Refusal(run_id="r1", reason=reason)


def a_task(workspace: str = "/work", seed: int = 0, run_id: str = "r1") -> Task:
    return Task(
        run_id=run_id,
        request="go",
        workspace=workspace,
        reset="rm -f done",
        check="test -e done",
        options={},
        seed=seed,
    )


def test_what_can_begin_again_keeps_its_options() -> None:
    options = {**BOTH, "family": "f", "pin": 7, "seed": 3, "session": "x", "consent": "all", "base_url": ""}
    got = resettable("r1", journal(started(**options), UserMessage(text="go")), "/work", 1)
    assert isinstance(got, Task)
    kept = {**BOTH, "family": "f", "consent": "all", "model": MODEL}
    assert (got.request, got.workspace, got.reset, got.check, got.options) == (
        "go",
        "/work",
        "rm -f done",
        "test -e done",
        kept,
    )
    again = resettable("r1", journal(started(**options), UserMessage(text="go")), "/work", 1)
    assert again == got


@pytest.mark.req("H13")
def test_pairs_are_done_from_a_clean_start_in_either_order_and_only_differences_count(tmp_path: Path) -> None:
    order: list[int] = []

    async def execute(task: Task, version: int) -> Attempt:
        """Version 2 leaves the file that the check looks for; the others leave nothing."""
        reset = await asyncio.create_subprocess_shell(task.reset, cwd=task.workspace)
        await reset.wait()
        order.append(version)
        if version == 2 and task.run_id != "r2":
            (tmp_path / "done").touch()
        check = await asyncio.create_subprocess_shell(task.check, cwd=task.workspace)
        broken = task.run_id == "r3"
        return Attempt(run_id=f"again{version}", success=None if broken else await check.wait() == 0, reason="broke")

    async def all_pairs() -> list[Pair]:
        tasks = [a_task(str(tmp_path), seed, f"r{seed}") for seed in range(4)]
        return [pair async for pair in done_again(tasks, Arms(having=2, lacking=1), execute)]

    pairs = asyncio.run(all_pairs())
    assert order == [2, 1, 1, 2, 2, 1, 1, 2]
    assert [(pair.judged, pair.differs) for pair in pairs] == [
        (True, True),
        (True, True),
        (True, False),
        (False, False),
    ]
    assert evidence_of(pairs) == PairEvidence().seen(won=True).seen(won=True)


def test_a_set_for_replay_is_stored_once_and_not_put_in_force(store: Store) -> None:
    def made(members: list[str]) -> int:
        backend = store.database.backend
        return store.database.write_now(lambda connection: stored_set(connection, backend, members, 0, "replay"))

    first = made(["b", "a"])
    assert [first, made(["a", "b"]), made([]), made(["c"])] == [1, 1, 0, 2]
    assert store.database.read_now(active_set).version == 0
    assert store.database.write_now(lambda c: activate_members(c, ["d"], "learned", "", 1.0)) == 3
