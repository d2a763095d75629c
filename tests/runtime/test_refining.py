"""What runs teach about the skills they use."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.learning.refine import REWRITE_USES, Refining
from hermes_agent.skills.format import parse_skill
from hermes_agent.skills.skill import Author, Origin, Skill
from hermes_agent.store.open import Store
from hermes_agent.store.skills import SkillStats
from hermes_agent.types.tools import Label
from hermes_agent.types.trace import Judge, RunStatus, ToolRecord, Trace
from tests.harness.rig import Rig, call, calling, saying
from tests.learning.lesson_maker import failed, record, trace
from tests.learning.skill_home import REVIEW, USER, Home
from tests.runtime.reviewing import REVIEW as REVIEWED
from tests.runtime.reviewing import Thinking, learner, markdown, steps

JARS = Skill(name="sorting-jars", description="Sort the pantry. Use when jars are to be sorted.", body="1. Look.\n")


def used(number: int, *calls: ToolRecord, ok: bool = True, by: Judge = Judge.VERIFIER) -> Trace:
    """A run that invoked the skill, and how it was judged."""
    status = RunStatus.DONE if ok else RunStatus.FAILED
    return trace(number, *calls, request="/sorting-jars north", status=status, judged_by=by)


def taught(home: Home, *runs: Trace) -> SkillStats:
    """The figures after these runs."""

    async def main() -> SkillStats:
        refining = Refining(home.store, home.library, home.editing, home.settings)
        for run in runs:
            await refining.learned(run)
        return (await home.library.get(JARS.name)).stats

    return asyncio.run(main())


def made(store: Store, author: Author = REVIEW, skill: Skill = JARS) -> Home:
    """A home with the skill in it."""
    home = Home(store, store.home)
    asyncio.run(home.add(skill, author=author))
    return home


@pytest.mark.req("L4")
@pytest.mark.parametrize("history", [(True,), (False,), (True, False, True, True, False), (False,) * 6 + (True,) * 3])
def test_the_moving_rate_follows_by_a_tenth_and_every_use_is_counted(store: Store, history: Sequence[bool]) -> None:
    home = made(store)
    runs = [used(number, record("look"), ok=ok) for number, ok in enumerate(history)]
    rate = 1.0
    for ok in history:
        rate = rate * 0.9 + 0.1 * ok
    stats = taught(home, *runs)
    assert (stats.usage_count, round(stats.success_rate, 9), stats.needs_rewrite) == (
        len(history),
        round(rate, 9),
        False,
    )
    assert stats.last_used_at is not None
    uses = asyncio.run(store.skills.uses(stats.id, 100))
    assert sorted((use.run_id, use.how, use.success) for use in uses) == sorted(
        (f"run{number}", "invoked", ok) for number, ok in enumerate(history)
    )


@pytest.mark.req("L4")
def test_the_rate_is_configurable_and_a_run_nobody_can_judge_counts_for_nothing(store: Store) -> None:
    home = made(store)
    home.settings = msgspec.structs.replace(home.settings, rate=0.5)
    outage = msgspec.structs.replace(used(1, ok=False, by=Judge.INFERRED), outage=True)
    assert taught(home, outage).usage_count == 0
    assert taught(home, used(2, ok=False)).success_rate == 0.5


@pytest.mark.req("L4")
def test_a_run_that_is_judged_anew_is_not_a_second_use(store: Store) -> None:
    home = made(store)
    first, second = used(1, ok=True), used(2, ok=True, by=Judge.INFERRED)
    taught(home, first, second)
    stats = taught(home, used(2, ok=False, by=Judge.USER))
    assert (stats.usage_count, round(stats.success_rate, 9)) == (2, 0.9)
    stats = taught(home, used(2, ok=False, by=Judge.USER), used(2, ok=True, by=Judge.USER))
    assert (stats.usage_count, round(stats.success_rate, 9)) == (2, 1.0)


@pytest.mark.req("L4")
def test_a_rewrite_is_asked_for_from_ten_uses_on_below_a_half(store: Store) -> None:
    home = made(store)
    assert taught(home, *(used(number, ok=False) for number in range(9))).needs_rewrite is False
    stats = taught(home, used(9, ok=False))
    assert (stats.usage_count, stats.needs_rewrite, stats.success_rate < 0.5) == (REWRITE_USES, True, True)
    asyncio.run(home.add(msgspec.structs.replace(JARS, name="stacking-tins")))
    mixed = [msgspec.structs.replace(used(100 + n, ok=n % 2 == 0), request="/stacking-tins") for n in range(12)]
    taught(home, *mixed)
    other = asyncio.run(store.skills.find("user", "stacking-tins"))
    assert other is not None
    assert (other.usage_count, other.needs_rewrite) == (12, False)


@pytest.mark.req("L4")
def test_new_pitfalls_go_into_what_agents_wrote_and_nothing_else(store: Store) -> None:
    mistakes = (
        failed("press", "jammed", lever="red"),
        record("press", lever="blue"),
        failed("press", "credentials", lever="x"),
        failed("weigh", "missing_program"),
        failed("weigh", "timeout"),
        failed("count", "unreachable"),
        failed("skill_view", "not_found"),
    )
    home = made(store)
    taught(home, used(1, *mistakes))
    assert parse_skill(home.bytes()[JARS.name]["SKILL.md"]).pitfalls == ("press fails with jammed",)
    versions = asyncio.run(store.skills.versions(asyncio.run(home.library.get(JARS.name)).stats.id))
    assert [(one.action, one.origin, one.run_id) for one in versions] == [
        ("create", "background-review", ""),
        ("replace", "background-review", "run1"),
    ]
    asyncio.run(home.add(msgspec.structs.replace(JARS, name="stacking-tins"), author=USER))
    before = home.bytes()
    taught(home, msgspec.structs.replace(used(2, *mistakes), request="/stacking-tins"))
    stranger = record("look", labels=(Label.UNTRUSTED,))
    taught(home, used(3, failed("press", "bent"), stranger))
    asyncio.run(home.mark(JARS.name, pinned=True))
    taught(home, used(4, failed("press", "broken")))
    assert home.bytes() == before


@pytest.mark.req("L4")
@pytest.mark.parametrize(("template", "where"), [("templates/steps.md", "templates/steps.md"), ("scripts/main.py", "")])
def test_a_run_that_beats_the_best_leaves_its_way_and_never_overwrites_a_script(
    store: Store, template: str, where: str
) -> None:
    home = made(store, skill=msgspec.structs.replace(JARS, template=template))
    by = Author(origin=Origin.REVIEW)
    held = asyncio.run(home.library.get(JARS.name))
    asyncio.run(home.editing.write_file(JARS.name, template, "print(1)\n", by, held.version))
    asyncio.run(home.mark(JARS.name, best_efficiency_score=0.5))
    before = home.bytes()[JARS.name]
    taught(home, used(1, record("look", place="north"), by=Judge.INFERRED))
    assert home.bytes()[JARS.name] == before
    asyncio.run(home.mark(JARS.name, best_efficiency_score=0.5))
    stats = taught(home, used(2, record("look", place="north"), record("weigh", thing="tins")))
    kept = home.bytes()[JARS.name]
    assert kept == {**before, where or "templates/steps.md": kept["templates/steps.md"]}
    assert kept["templates/steps.md"].decode() == "# Steps that worked\n\n1. `look` place=…\n2. `weigh` thing=tins\n"
    assert stats.best_efficiency_score == 1.0
    taught(home, used(3, record("look", place="south")))
    assert home.bytes()[JARS.name] == kept


@pytest.mark.req("L4", "S5")
def test_a_reviewer_is_told_of_a_failing_skill_and_its_rewrite_begins_anew(local_rig: Rig) -> None:
    with learner(local_rig, Thinking()) as it:
        by = Author(origin=Origin.REVIEW)
        made = it.agent.wait(it.knowledge.editing.create(JARS.name, markdown(JARS.name), by))
        stats = it.agent.wait(it.knowledge.library.get(JARS.name)).stats
        figures = {"needs_rewrite": True, "success_rate": 0.3, "usage_count": 12, "health_status": "deprecated"}
        it.agent.wait(it.store.skills.mark(stats.id, health_note="test 'a': it printed 2", **figures))
        better = markdown(JARS.name, body="1. Empty the shelf first.")
        edit = call("skill_manage", action="edit", name=JARS.name, content=better, version=made.version)
        it.model.change(
            work=[calling(call("skill_view", name=JARS.name)), *steps(1)], review=[calling(edit), saying("ok")]
        )
        it.run("Sort the jars.")
        asked = it.model.of(REVIEWED)[0].request
        assert f"Skills used here: sorting-jars (version {made.version})." in asked
        assert (
            "The skill sorting-jars fails more often than it serves (30% of late, or its tests fail: test 'a'" in asked
        )
        stats = it.agent.wait(it.knowledge.library.get(JARS.name)).stats
        assert (stats.needs_rewrite, stats.success_rate, stats.health_status, stats.validated == stats.version) == (
            False,
            1.0,
            "unknown",
            True,
        )
        assert stats.usage_count == 12


@pytest.mark.req("L4", "L12")
def test_a_use_counts_for_the_skill_of_the_shelf_it_was_read_from(store: Store) -> None:
    home = made(store, USER)
    workspace = store.home / "work"
    folder = workspace / ".hermes/skills" / JARS.name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(markdown(JARS.name, body="1. The project's own way."))

    async def main() -> tuple[int, int]:
        session = await store.sessions.create(agent="a", surface="cli", workspace=str(workspace), title="")
        held = await home.library.get(JARS.name, str(workspace))
        await home.library.record_use(held, run_id="run1", session_id=session.id, how="viewed")
        refining = Refining(store, home.library, home.editing, home.settings)
        seen = msgspec.structs.replace(used(1, record("look")), session_id=session.id, request="Sort them.")
        await refining.learned(seen)
        await refining.learned(msgspec.structs.replace(used(2), session_id=session.id, request="/Sorting_jars now"))
        own = await home.library.get(JARS.name)
        project = await home.library.get(JARS.name, str(workspace))
        assert own.stats.id != project.stats.id
        return own.stats.usage_count, project.stats.usage_count

    assert asyncio.run(main()) == (0, 2)
