"""Health: broken skills are found, marked and restored; what cannot be tried here is left as it is."""

import asyncio
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxSettings, SkillSettings
from hermes_agent.learning.health import NO_TRIALS, Health, HealthReport
from hermes_agent.skills.format import render_skill, version_of
from hermes_agent.skills.library import Held, Library
from hermes_agent.skills.skill import Health as Status
from hermes_agent.skills.skill import Shelf, Skill, Trial
from hermes_agent.skills.trials import Runner, SandboxRunner, sandboxed
from hermes_agent.store.open import Store
from hermes_agent.store.skills import SkillStats
from hermes_agent.tools.sandbox.direct import Direct
from hermes_agent.types.tools import ToolResult

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
RUNNER = sandboxed(SandboxSettings(), ENVIRONMENT)
DAY = 86_400.0


class Clock:
    """A time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 4e9

    def __call__(self) -> float:
        return self.now


class World:
    """A library in a home with nothing bundled, and its health."""

    def __init__(self, home: Path, store: Store, runner: Runner = RUNNER) -> None:
        self.home, self.store, self.clock = home, store.skills, Clock()
        bundled = home / "bundled"
        bundled.mkdir(exist_ok=True)
        self.library = Library(home, store.skills, SkillSettings(), lambda text: None, bundled)
        self.health = Health(self.library, store.skills, lambda held: runner, self.clock, limit=20.0)

    def write(self, name: str, *commands: str) -> str:
        """Put a skill on the user's shelf; its version."""
        trials = tuple(Trial(name=f"t{number}", run=command) for number, command in enumerate(commands))
        text = render_skill(Skill(name=name, description=f"Does {name}.", body="Do it.", trials=trials))
        folder = self.home / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text)
        return version_of({"SKILL.md": text.encode()})

    async def held(self, name: str) -> Held:
        return await self.library.get(name)

    async def stats(self, name: str) -> SkillStats:
        found = await self.store.find("user", name)
        assert found is not None
        return found


@pytest.fixture
def world(home: Path, store: Store) -> World:
    return World(home, store)


def marks(stats: SkillStats) -> tuple[str, str, float | None, bool]:
    return stats.health_status, stats.health_note, stats.checked_at, stats.needs_rewrite


@pytest.mark.req("L10")
def test_a_broken_skill_is_deprecated_and_queued_and_restored_once_it_works(world: World) -> None:
    async def scenario() -> None:
        version = world.write("greet", "echo hello", "exit 3")
        report = await world.health.check(await world.held("greet"))
        note = "test 't1': ended with 3 instead of 0"
        assert report == HealthReport(
            name="greet",
            shelf=Shelf.USER,
            version=version,
            status=Status.DEPRECATED,
            before=Status.UNKNOWN,
            note=note,
            trials=report.trials,
            at=4e9,
        )
        assert [result.ok for result in report.trials] == [True, False]
        assert (report.broke, report.restored) == (True, False)
        assert marks(await world.stats("greet")) == ("deprecated", note, 4e9, True)

        world.write("greet", "echo hello", "exit 0")
        world.clock.now += 5
        again = await world.health.check(await world.held("greet"))
        assert (again.status, again.before, again.restored) == (Status.HEALTHY, Status.DEPRECATED, True)
        assert marks(await world.stats("greet")) == ("healthy", "2 of 2 tests pass", 4e9 + 5, False)

    asyncio.run(scenario())


@pytest.mark.req("L10")
def test_a_skill_without_tests_stays_unknown(world: World) -> None:
    async def scenario() -> None:
        world.write("plain")
        report = await world.health.check(await world.held("plain"))
        assert (report.status, report.note, report.trials) == (Status.UNKNOWN, NO_TRIALS, ())
        assert marks(await world.stats("plain")) == ("unknown", NO_TRIALS, 4e9, False)

    asyncio.run(scenario())


def test_taking_the_tests_out_does_not_make_a_broken_skill_whole(world: World) -> None:
    async def scenario() -> None:
        world.write("greet", "exit 1")
        await world.health.check(await world.held("greet"))
        world.write("greet")
        report = await world.health.check(await world.held("greet"))
        assert (report.status, report.note) == (Status.DEPRECATED, NO_TRIALS)
        assert (await world.stats("greet")).needs_rewrite

    asyncio.run(scenario())


@pytest.mark.req("L10")
@pytest.mark.parametrize("before", ["unknown", "healthy", "deprecated"])
def test_what_cannot_be_tried_here_changes_nothing(home: Path, store: Store, before: str) -> None:
    async def scenario() -> None:
        world = World(home, store)
        world.write("greet", "true", "no-such-program")
        held = await world.held("greet")
        await world.store.mark(held.stats.id, health_status=before)
        report = await world.health.check(await world.held("greet"))
        note = "test 't1' cannot be tried here: no-such-program is not installed"
        assert (report.status, report.note, report.broke) == (Status(before), note, False)
        assert marks(await world.stats("greet")) == (before, note, 4e9, False)

        unconfined = World(home, store, SandboxRunner(Direct(ENVIRONMENT)))
        report = await unconfined.health.check(await unconfined.held("greet"))
        assert report.status is Status(before)
        assert report.note.startswith("test 't0' cannot be tried here: there is no sandbox here")

    asyncio.run(scenario())


def test_a_passing_failure_is_not_news(home: Path, store: Store) -> None:
    class Stumbling:
        """Fails the first time of every command."""

        def __init__(self) -> None:
            self.commands: list[str] = []

        async def __call__(self, command: str, *, directory: Path, timeout: float) -> ToolResult:
            self.commands.append(command)
            again = self.commands.count(command) > 1
            return ToolResult(ok=again, text="", error="" if again else "exit_1")

    async def scenario() -> None:
        stumbling = Stumbling()
        world = World(home, store, stumbling)
        world.write("greet", "one", "two")
        report = await world.health.check(await world.held("greet"))
        assert report.status is Status.HEALTHY
        assert stumbling.commands == ["one", "two", "one", "two"]

    asyncio.run(scenario())


def test_a_rewrite_asked_for_by_other_reasons_stays_asked_for(world: World) -> None:
    async def scenario() -> None:
        world.write("greet", "true")
        held = await world.held("greet")
        await world.store.mark(held.stats.id, needs_rewrite=True)
        await world.health.check(await world.held("greet"))
        assert marks(await world.stats("greet")) == ("healthy", "1 of 1 tests pass", 4e9, True)

    asyncio.run(scenario())


@pytest.mark.req("L10")
def test_the_most_important_come_first_and_only_when_due(world: World) -> None:
    async def scenario() -> None:
        columns: dict[str, dict[str, object]] = {
            "fresh": {"checked_at": 4e9 - 6 * DAY, "usage_count": 99},
            "disabled": {"enabled": False},
            "harmful": {"utility": -0.4, "usage_count": 1},
            "often": {"usage_count": 50},
            "older": {"checked_at": 4e9 - 9 * DAY},
            "never": {},
            "pinned": {"pinned": True},
            "proven": {"utility": 0.2, "usage_count": 3},
        }
        for name in columns:
            world.write(name, "true")
        for held in await world.library.all():
            await world.store.mark(held.stats.id, **columns[held.name])
        for row in await world.store.listed():
            versions = await world.store.versions(row.id)
            assert versions and versions[-1].at < 4e9 - 9 * DAY
        due = [held.name for held in await world.health.due(7.0)]
        assert due == ["pinned", "proven", "often", "harmful", "never", "older"]
        assert [held.name for held in await world.health.due(0.0)][3] == "often"

    asyncio.run(scenario())


def test_a_skill_that_was_changed_since_is_due_at_once(world: World) -> None:
    async def scenario() -> None:
        world.clock.now = 1.0
        world.write("greet", "true")
        await world.health.check(await world.held("greet"))
        assert [held.name for held in await world.health.due(7.0)] == ["greet"]
        world.clock.now = 4e9
        await world.health.check(await world.held("greet"))
        assert await world.health.due(7.0) == []

    asyncio.run(scenario())


def test_checking_stops_when_the_time_is_up(home: Path, store: Store) -> None:
    def slow(clock: Clock) -> Runner:
        async def run(command: str, *, directory: Path, timeout: float) -> ToolResult:
            clock.now += 40
            return ToolResult(ok=True)

        return run

    async def scenario() -> None:
        world = World(home, store)
        health = Health(world.library, world.store, lambda held: slow(world.clock), world.clock)
        for name in ("a", "b", "c"):
            world.write(name, "true")
        assert [report.name for report in await health.check_due(7.0, 60.0)] == ["a", "b"]
        assert [report.name for report in await health.check_due(7.0, 60.0)] == ["c"]
        assert await health.check_due(7.0, 60.0) == []

    asyncio.run(scenario())


def test_an_edit_during_a_check_is_not_judged(home: Path, store: Store) -> None:
    async def scenario() -> None:
        world = World(home, store)

        async def editing(command: str, *, directory: Path, timeout: float) -> ToolResult:
            world.write("greet", "true", "true")
            return ToolResult(ok=False, error="exit_1")

        world.write("greet", "false")
        health = Health(world.library, world.store, lambda held: editing, world.clock)
        report = await health.check(await world.held("greet"))
        assert (report.changed, report.status, report.note) == (
            True,
            Status.UNKNOWN,
            "it was changed while it was tried",
        )
        assert marks(await world.stats("greet")) == ("unknown", "", None, False)

    asyncio.run(scenario())


def test_a_skill_that_vanished_or_broke_is_said(world: World) -> None:
    async def scenario() -> None:
        world.write("greet", "true")
        held = await world.held("greet")
        (held.folder / "SKILL.md").write_bytes(b"\xff")
        report = await world.health.check(held)
        assert (report.status, report.note) == (Status.UNKNOWN, "cannot be read: line 1: byte 0xff is not UTF-8")
        (held.folder / "SKILL.md").unlink()
        report = await world.health.check(held)
        assert report.note == "cannot be read: greet has no SKILL.md"
        assert await world.health.check_due(0.0, 60.0) == []

    asyncio.run(scenario())


@pytest.mark.req("L10")
def test_the_schedule_tries_what_is_used_and_neglected_and_nothing_else(world: World) -> None:
    async def scenario() -> None:
        now = world.clock.now
        figures: dict[str, dict[str, object]] = {
            "used": {"usage_count": 3},
            "pinned": {"pinned": True, "checked_at": now - 8 * DAY},
            "unused": {},
            "off": {"usage_count": 3, "enabled": False},
            "tried": {"usage_count": 3, "checked_at": now - 6 * DAY},
        }
        for name, columns in figures.items():
            world.write(name, "exit 3")
            await world.store.mark((await world.held(name)).stats.id, **columns)
        reports = await world.health.check_used(7, 600.0)
        assert [(report.name, report.broke) for report in reports] == [("pinned", True), ("used", True)]
        assert await world.health.check_used(7, 600.0) == []
        made = (await world.stats("used")).created_at
        world.write("young", "exit 3")
        await world.store.mark((await world.held("young")).stats.id, usage_count=1)
        world.clock.now = made + 6 * DAY
        assert await world.health.check_used(7, 600.0) == [], "it is not a week old"

    asyncio.run(scenario())
