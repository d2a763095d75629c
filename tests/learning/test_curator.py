"""The curator: what it proposes, what it never touches, and that all of it can be taken back."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from hermes_agent.config.settings import SkillSettings
from hermes_agent.learning.proposals import Action, Plan
from hermes_agent.skills.format import render_skill
from hermes_agent.skills.skill import MAIN, Skill
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, save_heuristic
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.errors import NotFound, UsageError
from tests.learning.alike_skills import CHOSEN_ON
from tests.learning.held_out_skills import HELD_OUT
from tests.learning.skill_home import FOREGROUND, REVIEW, USER, Home
from tests.sampling import sampled

_CSV, _TESTS, _DEPLOY, _MAIL = CHOSEN_ON
_DAY = 86_400.0


@pytest.fixture
def skills(home: Path) -> Iterator[Home]:
    """A home on SQLite."""
    store = open_store("", home)
    yield Home(store, home)
    store.close()


def touched(plan: Plan) -> list[tuple[str, ...]]:
    return [(one.action.value, *(seen.name for seen in one.seen)) for one in plan.proposals]


@pytest.mark.req("S10")
def test_duplicates_become_one_and_every_byte_comes_back(store: Store, home: Path) -> None:
    async def work() -> None:
        skills = Home(store, home)
        await skills.add(_CSV.first, _CSV.same, _CSV.retold, *_CSV.others, _MAIL.first)
        await skills.editing.write_file(
            _CSV.same.name, "assets/logo.png", b"\x89PNG\xff", REVIEW, await _version(skills)
        )
        await skills.mark(_CSV.first.name, usage_count=3)
        before = skills.bytes()
        curator = skills.curator()
        plan = await curator.plan()
        assert skills.bytes() == before
        assert touched(plan) == [("merge", "csv-totals", "csv-totals-2024-06", "aggregate-spreadsheet-columns")]
        diff = plan.proposals[0].diff
        assert (
            "+    - total up this table" in diff
            and "--- a/aggregate-spreadsheet-columns/SKILL.md\n+++ /dev/null" in diff
        )
        applied = await curator.apply(plan)
        assert applied.skipped == ()
        assert [(change.ok, change.name) for change in applied.changes] == [
            (True, "csv-totals"),
            (True, "csv-totals-2024-06"),
            (True, "aggregate-spreadsheet-columns"),
        ]
        after = skills.bytes()
        assert after["csv-totals"] == plan.proposals[0].files
        assert after["csv-totals"]["assets/logo.png"] == b"\x89PNG\xff"
        gone = {"csv-totals-2024-06", "aggregate-spreadsheet-columns"}
        untouched = before.keys() - gone - {"csv-totals"}
        assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}
        assert after.keys() == before.keys() - gone
        (told,) = await store.background.untold()
        assert (told.id, told.kind, told.status, told.summary) == (applied.batch, "curation", "done", applied.summary)
        assert applied.summary.endswith(f"undo with `hermes skills curate --undo {applied.batch}`")
        assert (await curator.plan()).proposals == ()

        undone = await curator.undo(applied.batch[:20] if len(applied.batch) > 30 else applied.batch)
        assert all(change.ok for change in undone)
        assert skills.bytes() == before
        assert (await skills.curator().plan()).proposals == ()

    asyncio.run(work())


async def _version(skills: Home) -> str:
    return (await skills.library.get(_CSV.same.name)).version


@pytest.mark.req("S10")
def test_different_skills_of_one_field_stay_as_they_are(skills: Home) -> None:
    async def work() -> None:
        for field in (_CSV, *HELD_OUT[:2]):
            await skills.add(field.first, *field.others)
        plan = await skills.curator().plan()
        assert plan == Plan()
        applied = await skills.curator().apply(plan)
        assert (applied.batch, applied.changes, applied.summary) == ("", (), "nothing to curate")
        assert await skills.store.background.listed(10) == []

    asyncio.run(work())


@pytest.mark.req("S10")
@pytest.mark.parametrize("whose", ["user", "foreground", "pinned", "edited", "patched by an agent", "disabled", "link"])
def test_what_is_not_the_reviews_alone_is_never_touched(skills: Home, whose: str) -> None:
    async def work() -> None:
        other = msgspec.structs.replace(_CSV.same, name="their-totals")
        author = {"user": USER, "foreground": FOREGROUND}.get(whose, REVIEW)
        await skills.add(other, author=author)
        folder = skills.home / "skills" / other.name
        match whose:
            case "pinned":
                await skills.mark(other.name, pinned=True)
            case "disabled":
                await skills.mark(other.name, enabled=False)
            case "edited":
                (folder / MAIN).write_text(render_skill(other) + "\nA line of mine.\n")
            case "patched by an agent":
                version = (await skills.library.get(other.name)).version
                assert (await skills.editing.patch(other.name, "ten", "6", FOREGROUND, expect=version)).ok
            case "link":
                (folder / "references").symlink_to("/etc")
            case _:
                pass
        await skills.mark(other.name, usage_count=50, success_rate=0.0)
        await skills.add(_TESTS.first, _TESTS.same)
        before = skills.bytes() if whose != "link" else {}
        later = skills.curator(later=400 * _DAY)
        plan = await later.plan()
        assert not [seen for one in plan.proposals for seen in one.seen if seen.name == other.name]
        assert len(plan.proposals) == 2
        await later.apply(plan)
        if before:
            assert skills.bytes()[other.name] == before[other.name]

    asyncio.run(work())


def test_a_copy_of_a_persons_skill_goes_and_theirs_stays(skills: Home) -> None:
    async def work() -> None:
        await skills.add(_CSV.first, author=USER)
        await skills.add(_CSV.same)
        theirs = skills.bytes()[_CSV.first.name]
        plan = await skills.curator().plan()
        assert touched(plan) == [("archive", _CSV.same.name)]
        assert plan.proposals[0].reason.startswith("says the same as csv-totals, which is not the curator's to change")
        await skills.curator().apply(plan)
        assert skills.bytes() == {_CSV.first.name: theirs}
        await skills.add(_CSV.retold)
        assert (await skills.curator().plan()).proposals == ()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("columns", "days", "reason"),
    [
        ({}, 80, ""),
        ({}, 91, "never used; made 91 days ago"),
        ({"last_used_at": "now"}, 91, "last used 91 days ago"),
        ({"last_used_at": "day 50"}, 91, ""),
        ({"usage_count": 10, "success_rate": 0.29}, 0, "it fails: 29% of its last uses succeeded (10 in all)"),
        ({"usage_count": 9, "success_rate": 0.1}, 0, ""),
        ({"usage_count": 10, "success_rate": 0.3}, 0, ""),
        ({"utility": -0.4, "usage_count": 40}, 0, ""),
    ],
)
def test_when_a_skill_goes(skills: Home, columns: dict[str, object], days: int, reason: str) -> None:
    async def work() -> None:
        await skills.add(_MAIL.first)
        used = {"now": time.time(), "day 50": time.time() + 50 * _DAY}.get(str(columns.get("last_used_at")))
        await skills.mark(_MAIL.first.name, **{**columns, **({"last_used_at": used} if used else {})})
        plan = await skills.curator(later=days * _DAY).plan()
        assert [one.reason for one in plan.proposals] == ([reason] if reason else [])
        assert {one.action for one in plan.proposals} <= {Action.ARCHIVE}

    asyncio.run(work())


@pytest.mark.parametrize(
    ("stages", "utility", "goes"),
    [
        ((Stage.RETIRED,), -0.4, True),
        ((Stage.RETIRED,), 0.1, False),
        ((Stage.RETIRED,), None, False),
        ((Stage.PROBATION,), -0.4, False),
        ((Stage.RETIRED, Stage.TRUSTED), -0.4, False),
    ],
)
def test_a_skill_that_the_coin_retired_goes(
    skills: Home, stages: tuple[Stage, ...], utility: float | None, goes: bool
) -> None:
    """Unless it is still recommended elsewhere."""

    async def work() -> None:
        await skills.add(_MAIL.first, _TESTS.first)
        await skills.mark(_MAIL.first.name, utility=utility)
        for place, stage in enumerate(stages):
            heuristic = Heuristic(
                id=f"h{place}",
                kind=Kind.SKILL,
                model="m",
                family=f"f{place}",
                subject=_MAIL.first.name,
                text="",
                stage=stage,
            )
            await skills.store.database.write(partial(_saved, heuristic))
        reason = "it does harm: success -40 points with it, and it was retired for that"
        plan = await skills.curator().plan()
        assert [(one.skill.name, one.reason) for one in plan.proposals] == [(_MAIL.first.name, reason)] * goes

    asyncio.run(work())


def _saved(heuristic: Heuristic, connection: Connection) -> None:
    save_heuristic(connection, heuristic)


def test_no_disuse_where_the_settings_say_never(home: Path) -> None:
    store = open_store("", home)

    async def work() -> None:
        skills = Home(store, home, SkillSettings(archive_days=0))
        await skills.add(_MAIL.first)
        assert (await skills.curator(later=4000 * _DAY).plan()).proposals == ()

    asyncio.run(work())
    store.close()


def test_a_pass_makes_at_most_twenty_changes(skills: Home) -> None:
    async def work() -> None:
        for letter in "abcdefghijklmnopqrstuvw":
            word = letter * 7
            await skills.add(Skill(name=word, description=f"Paint {word}.", body=f"Mix {word}."))
        plan = await skills.curator(later=91 * _DAY).plan()
        assert (len(plan.proposals), plan.more) == (20, 3)
        assert len((await skills.curator().apply(plan)).changes) == 20
        assert len(skills.bytes()) == 3

    asyncio.run(work())


@pytest.mark.req("S10")
@pytest.mark.parametrize("what", ["umbrella edited", "absorbed edited", "pinned", "gone"])
def test_what_changed_since_the_plan_is_left_alone_and_said(skills: Home, what: str) -> None:
    async def work() -> None:
        await skills.add(_CSV.first, _CSV.same, _TESTS.first, _TESTS.same)
        plan = await skills.curator().plan()
        assert len(plan.proposals) == 2
        name = _CSV.first.name if what == "umbrella edited" else _CSV.same.name
        file = skills.home / "skills" / name / MAIN
        if what == "pinned":
            await skills.mark(name, pinned=True)
        elif what == "gone":
            assert (await skills.editing.delete(name, USER)).ok
        else:
            file.write_text(file.read_text() + "\nMine.\n")
        before = skills.bytes()
        applied = await skills.curator().apply(plan)
        why = {"pinned": "was pinned or taken over", "gone": "is gone"}.get(what, "was changed")
        assert applied.skipped == (f"{name} {why} since the plan was made; left alone",)
        after = skills.bytes()
        assert {key: value for key, value in after.items() if key.startswith("csv")} == {
            key: value for key, value in before.items() if key.startswith("csv")
        }
        assert _TESTS.same.name not in after

    asyncio.run(work())


_CRASH = """
import asyncio, os, signal, sys, time
from pathlib import Path
from hermes_agent.store.open import open_store
from tests.learning.skill_home import Home

class Dying:
    def __init__(self, editing, last):
        self.editing, self.left = editing, last
    async def replace(self, *args, **more):
        return await self._next(self.editing.replace(*args, **more))
    async def delete(self, *args, **more):
        return await self._next(self.editing.delete(*args, **more))
    async def undo(self, batch):
        return await self.editing.undo(batch)
    async def _next(self, change):
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return await change

async def work():
    home = Path(sys.argv[1])
    skills = Home(open_store("", home), home)
    curator = skills.curator(editing=Dying(skills.editing, int(sys.argv[2])))
    await curator.apply(await curator.plan())

asyncio.run(work())
"""


@pytest.mark.req("S10")
@pytest.mark.parametrize("made", sampled([1, 2], 2))
def test_a_crash_between_two_changes_leaves_everything_recoverable(home: Path, made: int) -> None:
    store = open_store("", home)
    asyncio.run(Home(store, home).add(_CSV.first, _CSV.same, _CSV.retold))
    before = Home(store, home).bytes()
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", _CRASH, str(home), str(made)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    store = open_store("", home)

    async def after() -> None:
        skills = Home(store, home)
        assert len(skills.bytes()) == 4 - made
        (work,) = await skills.curator().passes()
        assert work.status == "running"
        await skills.curator(later=4000).apply(Plan())
        (told,) = await store.background.untold()
        plural = "change" if made == 1 else "changes"
        assert told.summary == (
            f"curation was interrupted after {made} {plural}; undo with `hermes skills curate --undo {work.id}`"
        )
        assert all(change.ok for change in await skills.curator().undo())
        assert skills.bytes() == before
        assert (await skills.curator().plan()).proposals == ()

    asyncio.run(after())
    store.close()


def test_an_undo_that_would_cost_an_edit_changes_nothing(skills: Home) -> None:
    async def work() -> None:
        await skills.add(_CSV.first, _CSV.same)
        applied = await skills.curator().apply(await skills.curator().plan())
        umbrella = applied.changes[0].name
        file = skills.home / "skills" / umbrella / MAIN
        file.write_text(file.read_text() + "\nMine.\n")
        before = skills.bytes()
        changes = await skills.curator().undo()
        assert not all(change.ok for change in changes)
        assert skills.bytes() == before
        (work,) = await skills.curator().passes()
        assert work.undone_at is None

    asyncio.run(work())


def test_what_cannot_be_undone(skills: Home) -> None:
    async def work() -> None:
        with pytest.raises(UsageError, match="there is no curation to undo"):
            await skills.curator().undo()
        with pytest.raises(NotFound):
            await skills.curator().undo("%' OR 1=1")
        review = await skills.store.background.begin("review")
        with pytest.raises(UsageError, match="is review, no curation"):
            await skills.curator().undo(review.id)
        await skills.add(_CSV.first, _CSV.same)
        applied = await skills.curator().apply(await skills.curator().plan())
        await skills.curator().undo()
        with pytest.raises(UsageError, match="was undone already"):
            await skills.curator().undo(applied.batch)

    asyncio.run(work())
