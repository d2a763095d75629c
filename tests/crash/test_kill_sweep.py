"""SIGKILL at every commit and every effect, and at random times: nothing lost, nothing done twice, doubt is said."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_agent.config.settings import Learning
from hermes_agent.store.database import Row
from hermes_agent.store.journal import read_run
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.events import AssistantMessage, CallFinished, DeliveryFinished, RunFinished
from hermes_agent.types.trace import CallStatus, RunStatus

from .victim import ANSWER, Order, Report

FULL = os.environ.get("HERMES_TEST_FULL") == "1"
KINDS = ("commit_before", "commit_after", "effect_before", "effect_after", "delivery")
ONCE = {4, 7, 8}
SANDBOXES = ("none", "bubblewrap", "landlock")

pytestmark = [pytest.mark.req("R2", "R14")]


class Zygote:
    """Forks victims."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.victim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def live(self, order: Order) -> Report:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Report)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


class Scene:
    """One store, and a fresh workspace and agent name for each life that is cut short."""

    def __init__(self, zygote: Zygote, folder: Path, home: Path, url: str) -> None:
        self._zygote = zygote
        self._folder = folder
        self._home = home
        self._url = url
        self._lives = 0

    def order(self, **when: object) -> Order:
        self._lives += 1
        workspace = self._folder / f"w{self._lives}"
        workspace.mkdir()
        return msgspec.convert(
            {
                "home": str(self._home),
                "workspace": str(workspace),
                "url": self._url,
                "agent": f"a{self._lives}",
                **when,
            },
            Order,
        )

    def live(self, order: Order) -> Report:
        return self._zygote.live(order)

    def die_and_resume(self, order: Order) -> None:
        """One life that ends early, one that finishes the work, and the look at what is left."""
        first = self.live(order)
        assert first.killed or first.code == 0, first
        second = self.live(msgspec.structs.replace(order, resume=True, kind="", seconds=0.0))
        assert (second.killed, second.code) == (False, 0), (order, second)
        with_store = open_store(self._url, self._home)
        try:
            check(with_store, order)
        finally:
            with_store.close()

    def runs(self) -> list[tuple[str, int]]:
        """Every run that ended, and that it went well."""
        return self._rows("SELECT run_id, CASE WHEN status = 'done' THEN 1 ELSE 0 END FROM outcomes ORDER BY run_id")

    def lessons(self) -> list[tuple[str, int]]:
        """Every run that was learned from, and whether it is taken for a success."""
        return self._rows("SELECT run_id, success FROM lessons ORDER BY run_id")

    def looks_back(self, agent: str) -> list[tuple[str, int]]:
        """Every run that looked back at one of the agent's, and whether it was closed."""
        return self._rows(
            "SELECT runs.id, CASE WHEN outcomes.run_id IS NULL THEN 0 ELSE 1 END FROM runs "
            "JOIN sessions ON sessions.id = runs.session_id LEFT JOIN outcomes ON outcomes.run_id = runs.id "
            f"WHERE sessions.agent = '{agent}:background' ORDER BY runs.id"
        )

    def _rows(self, sql: str) -> list[tuple[str, int]]:
        store = open_store(self._url, self._home)
        try:
            return [(row[0], row[1]) for row in store.database.read_now(lambda connection: connection.run(sql))]
        finally:
            store.close()


def check(store: Store, order: Order) -> None:
    """The promises, read from the journal and from the files the effects left."""
    sessions = store.database.read_now(
        lambda connection: connection.run("SELECT id FROM sessions WHERE agent = ?", (order.agent,))
    )
    runs = [row[0] for (session_id,) in sessions for row in _runs(store, session_id)]
    acknowledged = Path(order.home) / "acknowledged.log"
    known = acknowledged.read_text() if acknowledged.exists() else ""
    if any(session_id in known for (session_id,) in sessions):
        assert len(runs) == 1, (order, "an acknowledged message has no run, or two")
    if not runs:
        return
    events = _events(store, runs[0])
    finished = [event for event in events if isinstance(event, RunFinished)]
    assert [(event.status, event.answer) for event in finished] == [(RunStatus.DONE, ANSWER)], order
    asked = [call.id for event in events if isinstance(event, AssistantMessage) for call in event.calls]
    results = [event for event in events if isinstance(event, CallFinished)]
    assert sorted(asked) == sorted(event.call_id for event in results), (order, "each call has exactly one result")
    assert isinstance(events[-1], DeliveryFinished), (order, "the answer was not delivered")
    _check_effects(order, {event.call_id: event for event in results}, events)


def _runs(store: Store, session_id: str) -> list[Row]:
    return store.database.read_now(
        lambda connection: connection.run("SELECT id FROM runs WHERE session_id = ?", (session_id,))
    )


def _events(store: Store, run_id: str) -> list[object]:
    return [entry.event for entry in store.database.read_now(lambda connection: read_run(connection, run_id))]


def _check_effects(order: Order, results: dict[str, CallFinished], events: list[object]) -> None:
    workspace = Path(order.workspace)
    done = _lines(workspace / "once.log") + _lines(workspace / "shell.log")
    asked = {
        call.id: call.arguments.get("number", 6)
        for event in events
        if isinstance(event, AssistantMessage)
        for call in event.calls
        if call.name in ("do_once", "terminal")
    }
    for call_id, number in asked.items():
        times = done.count(number)
        status = results[call_id].status
        assert times <= 1, (order, f"the effect {number} happened {times} times")
        assert status in (CallStatus.OK, CallStatus.IN_DOUBT), (order, results[call_id])
        if status is CallStatus.OK:
            assert times == 1, (order, f"the effect {number} is said to have happened and did not")
    for number in (1, 2):
        assert number in _lines(workspace / "none.log")
    assert 3 in _lines(workspace / "idempotent.log")
    assert (workspace / "a.txt").read_text() == "second\n", order


def _lines(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.fixture
def scene(zygote: Zygote, tmp_path: Path, home: Path, store_url: str) -> Scene:
    return Scene(zygote, tmp_path, home, store_url)


def test_an_undisturbed_life_does_everything_once(scene: Scene) -> None:
    order = scene.order()
    report = scene.live(order)
    assert (report.killed, report.code) == (False, 0)
    assert set(report.moments) == {*KINDS, "answer"}
    workspace = Path(order.workspace)
    assert sorted(_lines(workspace / "once.log")) == sorted(ONCE)
    assert _lines(workspace / "shell.log") == [6]


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_every_moment_of_a_kind(scene: Scene, kind: str) -> None:
    """The sweep k = 1…N; a sample of it unless the full suite runs."""
    total = scene.live(scene.order()).moments[kind]
    assert total >= 1
    chosen = range(1, total + 1) if FULL else sorted({1, total // 2, total} - {0})
    for moment in chosen:
        scene.die_and_resume(scene.order(kind=kind, at=moment))


@pytest.mark.req("H7")
def test_killed_while_learning(scene: Scene) -> None:
    """The last commits of a life are its answer and what it taught. What was lost is learned with the next run."""
    total = scene.live(scene.order(learning=Learning.ON)).moments["commit_before"]
    for kind in ("commit_before", "commit_after"):
        for moment in range(1 if FULL else total - 2, total + 2):
            scene.die_and_resume(scene.order(kind=kind, at=moment, learning=Learning.ON))
    assert scene.live(scene.order(learning=Learning.ON)).code == 0
    assert scene.lessons() == scene.runs()


@pytest.mark.req("S4")
def test_killed_while_looking_back(scene: Scene) -> None:
    """What looks back at a run may die while the model answers it, or at any commit: the run stays as it was delivered,
    and the agent's next life closes what was left open."""
    alone, whole = scene.live(scene.order()), scene.live(scene.order(growing=Learning.ON))
    moments = [("answer", at) for at in range(alone.moments["answer"] + 1, whole.moments["answer"] + 1)]
    if FULL:
        commits = range(alone.moments["commit_after"] + 1, whole.moments["commit_after"] + 1)
        moments += [("commit_after", at) for at in commits]
    assert moments
    for kind, at in moments:
        order = scene.order(kind=kind, at=at, growing=Learning.ON)
        scene.die_and_resume(order)
        assert kind != "answer" or [closed for _, closed in scene.looks_back(order.agent)][-1] == 0, order
        again = scene.live(msgspec.structs.replace(order, kind=""))
        assert (again.killed, again.code) == (False, 0), (order, again)
        looked = scene.looks_back(order.agent)
        assert looked and looked == [(run_id, 1) for run_id, _ in looked], order


def test_killed_at_random_times(scene: Scene) -> None:
    """Two hundred random instants in the full suite, twelve otherwise."""
    whole = scene.live(scene.order()).seconds
    rng = random.Random(20260)
    for _ in range(200 if FULL else 12):
        scene.die_and_resume(scene.order(seconds=rng.uniform(0.001, whole * 1.1), sandbox=rng.choice(SANDBOXES)))


def test_killed_twice_while_resuming(scene: Scene) -> None:
    """A crash during recovery is a crash like any other."""
    total = scene.live(scene.order()).moments["commit_after"]
    for moment in range(2, total, 1 if FULL else 7):
        order = scene.order(kind="commit_after", at=moment)
        scene.live(order)
        scene.live(msgspec.structs.replace(order, resume=True, kind="commit_after", at=1))
        scene.die_and_resume(msgspec.structs.replace(order, resume=True, kind="commit_before", at=2))
