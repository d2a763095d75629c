"""Many writers at once, and a person's editor that knows nothing of locks: nothing is lost."""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from hermes_agent.safety.exchange import Overtaken, exchanged
from hermes_agent.skills.format import version_of
from hermes_agent.skills.swap import opened
from hermes_agent.store.open import Store, open_store
from tests.skills.samples import AGENT, PERSON, REVIEW, Place, markdown, put
from tests.skills.writers import SKILLS, body

HERE = Path(__file__).parent
HOWS = ("rename", "truncate", "held")


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store("", home)
    yield opened
    opened.close()


@pytest.fixture
def place(store: Store) -> Place:
    return Place(store)


@pytest.mark.req("S7")
@pytest.mark.parametrize(("processes", "writes"), [(16, 12), pytest.param(16, 200, marks=pytest.mark.slow)])
def test_many_processes_lose_nothing(home: Path, processes: int, writes: int) -> None:
    store = open_store("", home)
    place = Place(store)

    async def begin() -> None:
        for number in range(SKILLS):
            name = f"skill-{number}"
            assert (await place.editing.create(name, markdown(name, body([])), PERSON)).ok

    asyncio.run(begin())
    command = [sys.executable, "-m", "tests.skills.writers", str(home), str(processes), str(writes)]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

    async def compare() -> None:
        written = 0
        for number in range(SKILLS):
            held = await place.library.get(f"skill-{number}")
            files = await place.library.files(held)
            expected = [
                (f"{writer}-{each}", f"line {writer} {each}")
                for writer in range(processes)
                for each in range(writes)
                if (writer + each) % SKILLS == number
            ]
            apart = {f"references/{key}.md": line.encode() for key, line in expected if int(key.split("-")[1]) % 4 == 3}
            lines = sorted(line for key, line in expected if int(key.split("-")[1]) % 4 != 3)
            assert {path: data for path, data in files.items() if path != "SKILL.md"} == apart
            found = files["SKILL.md"].decode().partition("Lines:\n")[2].partition("\nEnd of lines.")[0].splitlines()
            assert sorted(found) == lines
            versions = await place.store.skills.versions(held.stats.id)
            assert [one.parent for one in versions] == ["", *(one.version for one in versions[:-1])]
            assert versions[-1].version == held.version == held.stats.version
            written += len(versions) - 1
        assert written == processes * writes

    asyncio.run(compare())
    store.close()


class Editor:
    """The other process."""

    def __init__(self) -> None:
        command = [sys.executable, "-S", str(HERE / "editor.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, path: Path, how: str, delay: float, text: str) -> None:
        pipe(self.process.stdin).write(json.dumps({"path": str(path), "how": how, "delay": delay, "text": text}) + "\n")
        pipe(self.process.stdin).flush()

    async def end(self) -> None:
        assert await asyncio.to_thread(pipe(self.process.stdout).readline) == "saved\n"

    def close(self) -> None:
        pipe(self.process.stdin).close()
        assert self.process.wait() == 0


def pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@pytest.fixture
def editor() -> Iterator[Editor]:
    started = Editor()
    yield started
    started.close()


@pytest.mark.req("S7", "S8")
@pytest.mark.parametrize("rounds", [42, pytest.param(501, marks=pytest.mark.slow)])
def test_a_persons_edit_always_survives_a_review(place: Place, editor: Editor, rounds: int) -> None:
    """The person saves at a random moment of a review's change, in the three ways in which editors save."""
    dice = random.Random(rounds)
    answers: dict[str, int] = {}

    async def scenario() -> None:
        put(place.skills, "a", markdown("a", "Text 0."))
        path = place.skills / "a" / "SKILL.md"
        for number in range(1, rounds + 1):
            read = await place.version("a")
            how, mine = HOWS[number % 3], markdown("a", f"Text {number}.")
            editor.begin(path, how, dice.uniform(0, 0.012), mine)
            change = await place.editing.patch("a", f"Text {number - 1}.", f"Review {number}.", REVIEW, expect=read)
            await editor.end()
            assert change.ok or change.error in ("stale", "invalid"), change
            answers[change.error] = answers.get(change.error, 0) + 1
            held = await place.library.get("a")
            assert path.read_text() == mine, (number, how, change)
            assert held.version == version_of({"SKILL.md": mine.encode()})
            written = await place.store.skills.written_by(held.stats.id, held.version)
            assert written is not None and written.origin == "user"
            if change.ok:
                kept = (await place.store.skills.files(held.stats.id, change.version))["SKILL.md"].decode()
                assert f"Review {number}." in kept, "the review's own version is not lost either"

    asyncio.run(scenario())
    assert answers.get("", 0) and sum(answers.values()) == rounds


def test_what_is_written_to_a_replaced_file_is_put_back(place: Place) -> None:
    async def scenario() -> None:
        put(place.skills, "a", markdown("a", "One."))
        path = place.skills / "a" / "SKILL.md"
        read = await place.version("a")
        with path.open("r+b", buffering=0) as file:
            assert (await place.editing.patch("a", "One.", "Two.", REVIEW, expect=read)).ok
            file.write(markdown("a", "Mine.").encode())
            held = await place.library.get("a")
            assert path.read_text() == markdown("a", "Mine.")
            file.seek(0)
            file.write(markdown("a", "Mine too.").encode())
        assert path.read_text() == markdown("a", "Mine too."), "the file that the editor holds is the one in use"
        assert place.told == ["your edit of the skill a (SKILL.md) was kept; an agent's was set aside"]
        await place.library.get("a")
        versions = await place.store.skills.versions(held.stats.id)
        assert [(one.action, one.origin) for one in versions] == [
            ("found", "user"),
            ("patch", "background-review"),
            ("edit", "user"),
            ("edit", "user"),
        ]

    asyncio.run(scenario())


def test_what_is_written_too_late_is_kept_as_a_version(place: Place) -> None:
    async def scenario() -> None:
        put(place.skills, "a", markdown("a", "One."))
        path = place.skills / "a" / "SKILL.md"
        with path.open("r+b", buffering=0) as file:
            one = await place.editing.patch("a", "One.", "Two.", REVIEW, expect=await place.version("a"))
            await place.editing.patch("a", "Two.", "Three.", AGENT, expect=one.version)
            file.write(markdown("a", "Mine.").encode())
        held = await place.library.get("a")
        assert path.read_text() == markdown("a", "Three.")
        version = version_of({"SKILL.md": markdown("a", "Mine.").encode()})
        assert len(place.told) == 1 and f"`hermes skills restore a {version}`" in place.told[0]
        assert (await place.editing.restore("a", version)).ok and path.read_text() == markdown("a", "Mine.")
        assert held.stats.id

    asyncio.run(scenario())


def test_a_removed_or_archived_file_that_changes_is_not_lost(place: Place) -> None:
    async def scenario() -> None:
        put(place.skills, "a", files={"references/a.md": "one"})
        version = await place.version("a")
        with (place.skills / "a" / "references" / "a.md").open("r+b", buffering=0) as file:
            gone = await place.editing.remove_file("a", "references/a.md", REVIEW, version)
            assert gone.ok and not (place.skills / "a" / "references").exists()
            file.write(b"two")
        await place.library.all()
        held = await place.library.get("a")
        kept = [await place.store.skills.files(held.stats.id, one.version) for one in await place.versions("a")]
        assert b"two" in [files.get("references/a.md") for files in kept]
        with (place.skills / "a" / "SKILL.md").open("ab", buffering=0) as file:
            assert (await place.editing.delete("a", REVIEW, held.version)).ok
            file.write(b"More.\n")
        assert (await place.editing.restore("a")).ok
        assert (place.skills / "a" / "SKILL.md").read_text() == markdown("a") + "More.\n"

    asyncio.run(scenario())


def test_what_lies_in_the_folder_for_replaced_files_is_not_trusted(place: Place, tmp_path: Path) -> None:
    async def scenario() -> None:
        put(place.skills, "a")
        outside = tmp_path / "outside"
        outside.write_text("mine")
        work = place.skills / ".work"
        work.mkdir()
        (work / "stray").write_text("x")
        (work / "note.json").write_text("{")
        (work / "deep-0").mkdir()
        note = {"id": "0-f", "name": "..", "path": "../../outside", "version": "", "old": "", "new": "", "at": 0.0}
        for name, changes in (("0-f", {}), ("0-e", {"name": "a", "path": "../../../outside"})):
            (work / name).write_text("hostile")
            (work / f"{name}.json").write_text(json.dumps({**note, **changes}))
        assert [held.name for held in await place.library.all()] == ["a"]
        assert (await place.editing.patch("a", "Count", "Number", PERSON)).ok
        assert outside.read_text() == "mine" and place.told == []
        assert sorted(path.name for path in work.glob("*") if not path.name.startswith("1")) == ["deep-0", "stray"]

    asyncio.run(scenario())


def test_replaced_files_are_dropped_when_nobody_can_write_to_them(place: Place) -> None:
    async def scenario() -> None:
        put(place.skills, "a")
        work = place.skills / ".work"
        with (place.skills / "a" / "SKILL.md").open("r+b") as file:
            assert (await place.editing.patch("a", "Count", "Number", PERSON)).ok
            (note,) = work.glob("*.json")
            aside = json.loads(note.read_text())
            note.write_text(json.dumps({**aside, "at": aside["at"] - 60}))
            assert place.library.folders.written_late() == []
            assert len(list(work.iterdir())) == 2, "an editor has it open"
            assert not file.closed
        assert place.library.folders.written_late() == [] and list(work.iterdir()) == []

    asyncio.run(scenario())


def test_what_was_saved_between_looking_and_exchanging_goes_back(tmp_path: Path) -> None:
    work, there = tmp_path / "work", tmp_path / "there"
    work.mkdir()
    there.mkdir()
    (work / "new").write_text("agent")
    (there / "file").write_text("person")
    inode = (there / "file").stat().st_ino
    with opened(work) as here, opened(there) as folder:
        with pytest.raises(Overtaken):
            exchanged(here, "new", folder, "file", b"what the agent had read")
        assert ((there / "file").read_text(), (there / "file").stat().st_ino) == ("person", inode)
        assert (work / "new").read_text() == "agent"
        (there / "file").unlink()
        with pytest.raises(Overtaken):
            exchanged(here, "new", folder, "file", b"person")
        assert not (there / "file").exists()
        (there / "file").write_text("read")
        exchanged(here, "new", folder, "file", b"read")
        assert ((there / "file").read_text(), (work / "new").read_text()) == ("agent", "read")


@pytest.mark.parametrize("rounds", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_save_at_the_very_moment_of_an_exchange_is_not_lost(tmp_path: Path, rounds: int) -> None:
    command = [sys.executable, "-m", "tests.skills.duel", str(tmp_path), str(rounds)]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(done.stdout)
    assert counts["lost"] == 0 and counts["made"] + counts["overtaken"] == rounds
