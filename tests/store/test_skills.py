"""Statistics, versions and uses of skills, and background work, on both databases."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes_agent.skills.similarity import vector_of
from hermes_agent.store import retention
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.skills import SkillStats, Use, Version
from hermes_agent.types.errors import NotFound, StoreDamaged, UsageError
from tests.store.samples import begun, finish

WHOLE = SkillStats(
    id="",
    shelf="user",
    name="csv-analysis",
    origin="background-review",
    made_by="run1",
    description="Analyse CSV — ünïcode \U0001f600",
    trigger_conditions=("csv", 'quo"te'),
    code_template="scripts/run.py",
    parameters={"file": None, "delimiter": ";"},
    dependencies=("pandas",),
    success_criteria=("a table",),
    pitfalls=("encodings",),
    test_parameters=({"name": "small", "file": "a.csv"},),
    tags=("data",),
    embedding={7: 0.5, 4_000_000_000: 0.25},
    version="v1",
    usage_count=3,
    success_rate=0.7,
    best_efficiency_score=0.9,
    utility=-0.1,
    health_status="healthy",
    health_note="fine",
    checked_at=5.0,
    validated="v1",
    needs_rewrite=True,
    enabled=False,
    pinned=True,
    archived_at=6.0,
    created_at=4.0,
    last_used_at=7.0,
)


@pytest.mark.req("L6")
def test_everything_known_about_a_skill_comes_back(store: Store) -> None:
    async def scenario() -> None:
        kept = await store.skills.put(WHOLE)
        assert kept == msgspec.structs.replace(WHOLE, id=kept.id) and len(kept.id) == 16
        assert await store.skills.find("user", "csv-analysis") == kept
        assert await store.skills.get(kept.id) == kept
        assert await store.skills.listed() == [kept]
        assert await store.skills.find("bundled", "csv-analysis") is None
        fresh = await store.skills.put(SkillStats(id="", shelf="hub", name="a", origin="hub"))
        assert (fresh.usage_count, fresh.success_rate) == (0, 1.0) and fresh.created_at > 0
        assert [one.name for one in await store.skills.listed()] == ["a", "csv-analysis"]
        with pytest.raises(NotFound):
            await store.skills.get("nosuch")

    asyncio.run(scenario())


@pytest.mark.req("S8", "L6")
def test_who_made_a_skill_never_changes(store: Store) -> None:
    async def scenario() -> None:
        kept = await store.skills.put(WHOLE)
        other = SkillStats(id="x", shelf="user", name="csv-analysis", origin="user", made_by="me", version="v2")
        again = await store.skills.put(other)
        assert again == msgspec.structs.replace(
            other, id=kept.id, origin="background-review", made_by="run1", created_at=4.0
        )
        for forever in ("origin", "made_by", "id", "name", "shelf", "created_at", "nonsense; --"):
            with pytest.raises(UsageError):
                await store.skills.mark(kept.id, **{forever: "x"})
        assert await store.skills.get(kept.id) == again

    asyncio.run(scenario())


@pytest.mark.req("L6")
def test_describing_leaves_figures_and_marking_changes_one(store: Store) -> None:
    async def scenario() -> None:
        kept = await store.skills.put(WHOLE)
        said = SkillStats(id="", shelf="user", name="csv-analysis", origin="user", description="New", version="v9")
        described = await store.skills.describe(said)
        assert described == msgspec.structs.replace(
            kept,
            description="New",
            version="v9",
            trigger_conditions=(),
            code_template="",
            parameters={},
            dependencies=(),
            success_criteria=(),
            pitfalls=(),
            test_parameters=(),
            tags=(),
            embedding={},
        )
        await store.skills.mark(kept.id, enabled=True, utility=None, pitfalls=("a\x00b",), health_note="n\x00\ud800")
        assert await store.skills.get(kept.id) == msgspec.structs.replace(
            described, enabled=True, utility=None, pitfalls=("a\x00b",), health_note="n \ufffd"
        )
        await store.skills.mark(kept.id)

    asyncio.run(scenario())


@pytest.mark.req("L6")
def test_uses_are_counted_in_one_step(store: Store) -> None:
    async def scenario() -> None:
        kept = await store.skills.put(SkillStats(id="", shelf="user", name="a", origin="user"))
        await asyncio.gather(*(store.skills.count_use(kept.id, success=True, rate=0.1) for _ in range(20)))
        last = await store.skills.count_use(kept.id, success=False, rate=0.1, efficiency=0.4)
        assert last.usage_count == 21 and last.success_rate == pytest.approx(0.9)
        assert last.best_efficiency_score == 0.4 and last.last_used_at is not None
        last = await store.skills.count_use(kept.id, success=False, rate=0.5, efficiency=0.3)
        assert last.success_rate == pytest.approx(0.45) and last.best_efficiency_score == 0.4
        with pytest.raises(NotFound):
            await store.skills.count_use("nosuch", success=True, rate=0.1)

    asyncio.run(scenario())


@pytest.mark.req("S8")
def test_every_version_is_kept_with_its_author(store: Store) -> None:
    async def scenario() -> None:
        skill = await store.skills.put(SkillStats(id="", shelf="user", name="a", origin="user"))
        first = {"SKILL.md": b"one", "assets/x": bytes(range(256))}
        second = {"SKILL.md": b"two"}
        one = await store.skills.add_version(skill.id, "v1", first, origin="user", action="create")
        two = await store.skills.add_version(
            skill.id,
            "v2",
            second,
            parent="v1",
            origin="background-review",
            action="patch",
            run_id="r",
            note="n\x00",
            batch="b",
        )
        three = await store.skills.add_version(skill.id, "v1", first, parent="v2", origin="user", action="restore")
        assert two == Version(
            skill_id=skill.id,
            seq=2,
            version="v2",
            parent="v1",
            origin="background-review",
            run_id="r",
            action="patch",
            note="n ",
            batch="b",
            at=two.at,
        )
        assert await store.skills.versions(skill.id) == [one, two, three]
        assert await store.skills.written_by(skill.id, "v1") == three
        assert await store.skills.written_by(skill.id, "v3") is None
        assert await store.skills.files(skill.id, "v1") == first
        assert await store.skills.files(skill.id, "v2") == second
        with pytest.raises(NotFound):
            await store.skills.files(skill.id, "v3")
        assert await store.skills.by_batch("b") == [two] and await store.skills.by_batch("") == []
        await store.skills.withdraw(three)
        assert await store.skills.versions(skill.id) == [one, two]
        await store.skills.forget(skill.id)
        assert await store.skills.versions(skill.id) == [] and await store.skills.listed() == []

    asyncio.run(scenario())


def test_versions_of_many_writers_get_places_of_their_own(store_url: str, home: Path) -> None:
    stores = [open_store(store_url, home) for _ in range(3)]

    async def scenario() -> None:
        skill = await stores[0].skills.put(SkillStats(id="", shelf="user", name="a", origin="user"))
        await asyncio.gather(
            *(
                each.skills.add_version(skill.id, f"v{number}", {"SKILL.md": b"x"}, origin="user", action="edit")
                for number in range(8)
                for each in stores
            )
        )
        assert [one.seq for one in await stores[1].skills.versions(skill.id)] == list(range(1, 25))

    asyncio.run(scenario())
    for each in stores:
        each.close()


def test_owners_do_not_see_each_other(store_url: str, home: Path) -> None:
    mine, theirs = open_store(store_url, home, owner="me"), open_store(store_url, home, owner="you")

    async def scenario() -> None:
        skill = await mine.skills.put(SkillStats(id="", shelf="user", name="a", origin="user"))
        await mine.skills.add_version(skill.id, "v", {"SKILL.md": b""}, origin="user", action="edit", batch="b")
        work = await mine.background.begin("review")
        assert await theirs.skills.listed() == [] and await theirs.skills.by_batch("b") == []
        assert await theirs.skills.similar({1: 1.0}, 5) == [] and await theirs.background.listed(5) == []
        await theirs.skills.mark(skill.id, pinned=True)
        await theirs.skills.forget(skill.id)
        assert await mine.skills.listed() == [skill]
        with pytest.raises(NotFound):
            await theirs.background.get(work.id)

    asyncio.run(scenario())
    mine.close()
    theirs.close()


@pytest.mark.req("L6")
def test_similar_skills_are_found(store: Store) -> None:
    async def scenario() -> None:
        texts = {"csv": "analyse a csv table", "git": "rebase a git branch", "logs": "find errors in logs", "none": ""}
        for name, text in texts.items():
            stats = SkillStats(id="", shelf="user", name=name, origin="user", embedding=vector_of(text))
            await store.skills.put(stats)
        found = await store.skills.similar(vector_of("analyse this csv file"), 10)
        assert found[0][0].name == "csv" and found[0][1] > 0.5
        assert "none" not in [stats.name for stats, _ in found]
        exact = await store.skills.similar(vector_of("rebase a git branch"), 1)
        assert [(stats.name, score) for stats, score in exact] == [("git", 1.0)]
        await store.skills.archive(exact[0][0].id)
        assert "git" not in [stats.name for stats, _ in await store.skills.similar(vector_of("rebase a git branch"), 9)]
        assert await store.skills.similar({}, 5) == [] == await store.skills.similar(vector_of("csv"), -1)

    asyncio.run(scenario())


@pytest.mark.req("H5")
def test_uses_and_background_work_go_with_their_session(store: Store) -> None:
    async def scenario() -> None:
        run = await begun(store)
        use = Use(
            run_id=run.id, skill_id="s", session_id=run.session_id, version="v", how="viewed", efficiency=0.5, at=3.0
        )
        await store.skills.record_use(use)
        judged = msgspec.structs.replace(use, success=True, family="f", model="m", how="invoked")
        await store.skills.record_use(judged)
        other = msgspec.structs.replace(use, run_id="other", session_id="", at=4.0)
        await store.skills.record_use(other)
        kept = msgspec.structs.replace(judged, how="viewed")
        assert await store.skills.uses("s", 5) == [other, kept]
        assert await store.skills.uses("s", 1) == [other]
        assert await store.skills.uses_of_run(run.id) == [kept]
        work = await store.background.begin("review", run_id=run.id, session_id=run.session_id)
        await finish(store, run)
        await retention.delete_sessions(store, [run.session_id])
        assert await store.skills.uses("s", 5) == [other] and await store.background.listed(5) == []
        await store.skills.record_use(use)
        await store.background.finish(work.id, "done", "learned: x", {"a": 1})
        await store.background.begin("review", run_id=run.id, session_id=run.session_id)
        assert await store.skills.uses("s", 5) == [other] and await store.background.listed(5) == []

    asyncio.run(scenario())


def test_background_work_is_told_once_and_found_again(store: Store) -> None:
    async def scenario() -> None:
        background = store.background
        first = await background.begin("review", run_id="r", work_id="0000000000000aaa")
        second = await background.begin("curation", work_id="0000000000000bbb")
        assert await background.untold() == [], "what is under way is not told"
        await background.finish(first.id, "done", "learned: csv\x00", {"batch": "r", "bad": "\ud800"})
        await background.finish(second.id, "done")
        done = msgspec.structs.replace(
            first, status="done", summary="learned: csv ", payload={"batch": "r", "bad": "\ufffd"}
        )
        assert await background.untold() == [done], "nothing to say is not told"
        await background.told([first.id, "nosuch"])
        assert await background.untold() == []
        told = await background.get("aaa")
        assert told == msgspec.structs.replace(done, told_at=told.told_at) and told.told_at is not None
        await background.mark_undone(first.id)
        assert (await background.get(first.id)).undone_at is not None
        assert [work.id for work in await background.listed(5)] == [second.id, first.id]
        for wrong in ("", "%", "zzzzzz", "0000"):
            with pytest.raises(NotFound):
                await background.get(wrong)

    asyncio.run(scenario())


def test_a_damaged_version_is_said_to_be_damaged(store: Store) -> None:
    async def scenario() -> None:
        skill = await store.skills.put(SkillStats(id="", shelf="user", name="a", origin="user"))
        await store.skills.add_version(skill.id, "v", {"SKILL.md": b"x"}, origin="user", action="create")
        await store.database.write(lambda connection: connection.run("UPDATE skill_versions SET files = 'nonsense'"))
        with pytest.raises(StoreDamaged):
            await store.skills.files(skill.id, "v")
        await store.database.write(lambda connection: connection.run("UPDATE skills SET tags = '{'"))
        with pytest.raises(StoreDamaged):
            await store.skills.listed()

    asyncio.run(scenario())
