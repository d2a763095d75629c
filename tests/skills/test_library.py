"""What is on the shelves, which of several is used, and that looking again costs little and is never wrong."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_agent.config.settings import SkillSettings
from hermes_agent.skills.library import Held, Library
from hermes_agent.skills.shelf import Shelves
from hermes_agent.skills.skill import Origin, Shelf
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.skills import Use
from hermes_agent.types.errors import NotFound
from tests.skills.samples import AGENT, Place, markdown, put

FIVE = (Shelf.PROJECT, Shelf.USER, Shelf.TEAM, Shelf.HUB, Shelf.BUNDLED)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store("", home)
    yield opened
    opened.close()


@pytest.fixture
def place(store: Store) -> Place:
    return Place(store)


def aged(folder: Path) -> None:
    """Files as if they had been written a while ago; only then is what was read of them believed later."""
    past = time.time() - 60
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (past, past))


def brief(held: list[Held]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.name, one.shelf.value, tuple(shelf.value for shelf in one.shadows)) for one in held]


@pytest.mark.req("S8", "A5")
def test_the_stronger_shelf_wins_and_says_what_it_hides(place: Place, tmp_path: Path) -> None:
    async def scenario() -> None:
        workspace = str(tmp_path / "work")
        library = place.library
        for number, shelf in enumerate(FIVE):
            for name in ("same", *(f"only-{shelf.value}",), *(["later"] if number else [])):
                put(library.folder_of(shelf, workspace), name, markdown(name, f"From {shelf.value}."))
        assert brief(await library.all(workspace)) == [
            ("later", "user", ("team", "hub", "bundled")),
            ("only-bundled", "bundled", ()),
            ("only-hub", "hub", ()),
            ("only-project", "project", ()),
            ("only-team", "team", ()),
            ("only-user", "user", ()),
            ("same", "project", ("user", "team", "hub", "bundled")),
        ]
        assert brief([await library.get("same")]) == [("same", "user", ("team", "hub", "bundled"))]
        origins = {(one.name, one.origin) for one in await library.everything(workspace) if one.name == "same"}
        assert origins == {("same", Origin(shelf.value)) for shelf in FIVE}
        everything = [(one.name, one.shelf) for one in await library.everything(workspace)]
        assert [shelf for name, shelf in everything if name == "same"] == list(FIVE)
        off = Place(place.store, SkillSettings(project=False))
        assert brief([await off.library.get("same", workspace)]) == [("same", "user", ("team", "hub", "bundled"))]

    asyncio.run(scenario())


def test_project_skills_of_two_workspaces_are_two_skills(place: Place, tmp_path: Path) -> None:
    async def scenario() -> None:
        for name in ("one", "two"):
            put(tmp_path / name / ".hermes" / "skills", "build", markdown("build", name))
        one, two = [await place.library.get("build", str(tmp_path / name)) for name in ("one", "two")]
        assert one.stats.id != two.stats.id and one.stats.shelf != two.stats.shelf
        assert [one.stats.shelf.partition(":")[0], two.stats.shelf.partition(":")[0]] == ["project", "project"]
        with pytest.raises(NotFound):
            await place.library.get("build")

    asyncio.run(scenario())


@pytest.mark.req("L6")
def test_the_store_knows_what_the_markdown_says(place: Place) -> None:
    more = "metadata:\n  tags:\n    - data\n  triggers:\n    - csv file\n  pitfalls:\n    - encodings\n"

    async def scenario() -> None:
        put(place.skills, "csv", markdown("csv", more=more), {"scripts/a.py": "print()\n"})
        held = await place.library.get("csv")
        stats = held.stats
        assert stats == await place.store.skills.find("user", "csv")
        assert (stats.description, stats.tags, stats.trigger_conditions, stats.pitfalls, stats.version) == (
            "Analyse CSV files",
            ("data",),
            ("csv file",),
            ("encodings",),
            held.version,
        )
        assert (stats.usage_count, stats.success_rate, held.paths) == (0, 1.0, ("scripts/a.py",))
        await place.store.skills.count_use(stats.id, success=False, rate=0.5)
        put(place.skills, "csv", markdown("csv", description="Other words"))
        again = (await place.library.get("csv")).stats
        assert (again.description, again.usage_count, again.success_rate, again.tags) == ("Other words", 1, 0.5, ())
        await place.library.record_use(held, run_id="r", session_id="s", how="viewed")
        (use,) = await place.store.skills.uses(stats.id, 5)
        assert use == Use(run_id="r", skill_id=stats.id, session_id="s", version=held.version, how="viewed", at=use.at)

    asyncio.run(scenario())


def test_disabled_broken_and_archived_skills_are_left_out_but_shown(place: Place) -> None:
    async def scenario() -> None:
        put(place.bundled, "off", markdown("off", "Shipped."))
        put(place.skills, "off")
        put(place.skills, "broken", "---\nname: other\n---\n")
        put(place.bundled, "broken")
        put(place.skills, "gone")
        (place.skills / "empty").mkdir()
        (place.skills / "stray.md").write_text("no folder")
        off = await place.library.get("off")
        await place.store.skills.mark(off.stats.id, enabled=False)
        await place.editing.delete("gone", AGENT, await place.version("gone"))
        assert brief(await place.library.all()) == [("broken", "bundled", ("user",))]
        shown = [(one.name, one.shelf.value, bool(one.problem)) for one in await place.library.everything()]
        assert shown == [
            ("broken", "bundled", False),
            ("broken", "user", True),
            ("empty", "user", True),
            ("off", "user", False),
            ("off", "bundled", False),
            ("gone", "user", False),
        ]
        assert len(place.told) == 2 and "broken (user) is not used" in place.told[0]
        with pytest.raises(NotFound, match="it is disabled"):
            await place.library.get("off")
        with pytest.raises(NotFound, match=r"no SKILL\.md"):
            await place.library.get("empty")

    asyncio.run(scenario())


def test_what_is_not_there_is_said_with_what_is_close(place: Place) -> None:
    async def scenario() -> None:
        put(place.skills, "csv-analysis", files={"references/formats.md": "x"})
        with pytest.raises(NotFound) as found:
            await place.library.get("csv-analisis")
        assert found.value.explain() == "there is no skill 'csv-analisis' (did you mean csv-analysis?)"
        for hostile in ("../csv-analysis", "/etc", "", "a" * 5000, "CSV-ANALYSIS", "a\x00b", "csv-analysis/"):
            with pytest.raises(NotFound):
                await place.library.get(hostile)
        assert await place.library.read_file("csv-analysis", "references/formats.md") == b"x"
        for hostile in ("../../x", "/etc/passwd", "references/format.md", ""):
            with pytest.raises(NotFound):
                await place.library.read_file("csv-analysis", hostile)

    asyncio.run(scenario())


@pytest.mark.req("S9")
def test_a_change_is_seen_at_once_also_by_another_process(place: Place) -> None:
    async def scenario() -> None:
        other = Place(place.store)
        put(place.skills, "a", markdown("a", "One."), {"references/x.md": "11"})
        aged(place.skills / "a")
        first = await other.library.get("a")
        assert [held.version for held in await place.library.all()] == [first.version]
        past = time.time() - 60
        reference = place.skills / "a" / "references" / "x.md"
        for number in range(12, 30):
            reference.write_text(str(number))
            os.utime(reference, (past, past))
            assert await other.library.read_file("a", "references/x.md") == str(number).encode()
            (held,) = await other.library.all()
            assert held.version == await place.version("a") != first.version
            first = held
        reference.unlink()
        assert (await other.library.get("a")).paths == ()

    asyncio.run(scenario())


def test_nothing_is_read_twice(home: Path) -> None:
    shelves = Shelves(home / ".seen")
    for number in range(20):
        put(home / "shelf", f"skill-{number}", files={"references/a.md": "A"})
    folders = [home / "shelf" / name for name in shelves.names(home / "shelf")]
    young = shelves.look(folders[0])
    assert young == shelves.look(folders[0]) and young is not shelves.look(folders[0]), "too young to be believed"
    wait_until_old(folders[-1])
    first = [shelves.look(folder) for folder in folders]
    assert all(shelves.look(folder) is seen for folder, seen in zip(folders, first, strict=True))
    shelves.keep()
    later = Shelves(home / ".seen")
    assert [later.look(folder) for folder in folders] == first
    assert later.look(folders[3]) is later.look(folders[3])
    (home / ".seen").write_bytes(b"\xffnonsense")
    assert [Shelves(home / ".seen").look(folder) for folder in folders] == first
    assert shelves.look(home / "shelf" / "nothing") is None and shelves.names(home / "nothing") == []


def wait_until_old(folder: Path) -> None:
    """Until a change can no longer hide in the clock's grain. The time of a change of state cannot be set back."""
    while time.time() - folder.joinpath("references").stat().st_ctime < 2.1:
        time.sleep(0.1)


def test_a_library_of_a_home_that_does_not_exist(store: Store, tmp_path: Path) -> None:
    async def scenario() -> None:
        told: list[str] = []
        library = Library(tmp_path / "new", store.skills, SkillSettings(), told.append, tmp_path / "none")
        assert await library.all() == [] == await library.everything() and told == []

    asyncio.run(scenario())


@pytest.mark.req("S11", "L11")
@pytest.mark.parametrize(
    ("path", "content", "runs"),
    [
        ("assets/run.mjs", "1\n", True),
        ("assets/Run.PS1", "1\n", True),
        ("assets/run", "#!/bin/sh\n", True),
        ("scripts/notes.txt", "1\n", True),
        ("references/notes.md", "1\n", False),
    ],
)
def test_what_runs_is_told_by_place_name_and_first_bytes(place: Place, path: str, content: str, runs: bool) -> None:
    put(place.skills, "a", files={path: content})
    assert asyncio.run(place.library.get("a")).executable is runs
