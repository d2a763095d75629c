"""Several processes and a person's editor at the same files: nothing is lost."""

import asyncio
import multiprocessing
import os
from itertools import pairwise
from pathlib import Path

import pytest

from hermes_agent.memory.history import MOST_CHANGES, version_of
from hermes_agent.memory.notes import Author, Kind, Notes, Step, Who

pytestmark = pytest.mark.req("A6")
PROCESSES = 16
_starter = multiprocessing.get_context("forkserver")
_starter.set_forkserver_preload(["hermes_agent.memory.notes", "hermes_agent.safety.scan.engine", "filelock"])
_PATIENCE = 300.0


def count_up(home: Path, worker: int, times: int) -> None:
    """One entry of its own, and one that all processes count up together, by comparing and swapping."""
    notes = Notes(home, print)
    author = Author(who=Who.FOREGROUND, run_id=f"run-{worker}")

    async def work() -> None:
        for number in range(1, times + 1):
            name = f"worker {worker:02d} counted"
            if number == 1:
                change = await notes.add(Kind.USER, f"{name} 1", author)
            else:
                change = await notes.replace(Kind.USER, name, f"{name} {number}", author)
            assert change.ok, change
            while True:
                file = await notes.read(Kind.MEMORY)
                total = int(file.entries[0].text.rpartition(" ")[2])
                change = await notes.replace(Kind.MEMORY, "1", f"all counted {total + 1}", author, expect=file.version)
                if change.ok:
                    break
                assert change.error == "stale", change

    asyncio.run(work())


def save_by_renaming(file: Path, times: int) -> None:
    """An editor that writes another file and puts it in place."""
    for number in range(times):
        draft = file.with_name("draft")
        draft.write_text(with_line(file, number))
        os.replace(draft, file)


def save_in_place(file: Path, times: int) -> None:
    """An editor that opens the file and writes over it, in two steps."""
    for number in range(times):
        text = with_line(file, number)
        with file.open("r+b") as opened:
            opened.truncate(0)
            opened.write(text.encode())


def with_line(file: Path, number: int) -> str:
    """What the editor saves: its own lines, as it has them on the screen, and what else it found when it looked."""
    others = [line for line in file.read_text().splitlines() if not line.startswith("- editor ")]
    return "".join(f"- editor {one}\n" for one in range(number + 1)) + "".join(f"{line}\n" for line in others)


def finished(*processes: multiprocessing.context.ForkServerProcess) -> list[int | None]:
    for process in processes:
        process.start()
    for process in processes:
        process.join(_PATIENCE)
    return [process.exitcode for process in processes]


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_sixteen_processes_lose_nothing(home: Path, times: int) -> None:
    """Each makes two writes a round: ten in every run, two hundred with the sweeps."""
    notes = Notes(home, print)
    author = Author(who=Who.USER)
    asyncio.run(notes.add(Kind.MEMORY, "all counted 0", author))
    ended = finished(*(_starter.Process(target=count_up, args=(home, number, times)) for number in range(PROCESSES)))
    assert ended == [0] * PROCESSES
    assert notes.path(Kind.MEMORY).read_text() == f"- all counted {PROCESSES * times}\n"
    assert sorted(notes.path(Kind.USER).read_text().splitlines()) == [
        f"- worker {number:02d} counted {times}" for number in range(PROCESSES)
    ]
    steps = asyncio.run(notes.history())
    changes = 1 + 2 * PROCESSES * times
    assert [step.seq for step in steps] == list(range(changes + 1))[max(1, changes + 1 - MOST_CHANGES) :]
    assert all(_joined(steps, kind) for kind in Kind)
    assert [file.name for file in notes.folder.iterdir() if file.suffix == ".tmp"] == []


def _joined(steps: list[Step], kind: Kind) -> bool:
    """Whether each change begins where the one before it ended."""
    mine = [step for step in steps if step.kind is kind]
    return all(one.version == two.before for one, two in pairwise(mine))


@pytest.mark.parametrize("editor", [save_by_renaming, save_in_place])
@pytest.mark.parametrize("times", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_an_editor_that_knows_no_lock_never_loses(home: Path, editor: object, times: int) -> None:
    notes = Notes(home, print)
    author = Author(who=Who.REVIEW, run_id="run")
    asyncio.run(notes.add(Kind.MEMORY, "agent", author))
    file = notes.path(Kind.MEMORY)
    process = _starter.Process(target=editor, args=(file, times))  # type: ignore[arg-type]
    process.start()
    tried = 0

    async def disturb() -> None:
        nonlocal tried
        while process.is_alive() or tried < 20:
            tried += 1
            await notes.add(Kind.MEMORY, f"agent {tried % 5}", author)
            await notes.remove(Kind.MEMORY, f"agent {(tried + 2) % 5}", author)

    asyncio.run(disturb())
    process.join(_PATIENCE)
    assert process.exitcode == 0
    held = [one.text for one in asyncio.run(notes.read(Kind.MEMORY)).entries]
    assert [text for text in held if text.startswith("editor")] == [f"editor {number}" for number in range(times)]


def test_what_an_editor_writes_to_the_file_that_was_just_replaced_is_taken_in(home: Path) -> None:
    notes = Notes(home, print)
    author = Author(who=Who.FOREGROUND)
    asyncio.run(notes.add(Kind.MEMORY, "first", author))
    with notes.path(Kind.MEMORY).open("r+b") as editor:
        asyncio.run(notes.add(Kind.MEMORY, "second", author))
        editor.truncate(0)
        editor.write(b"- first, by hand\n")
    assert asyncio.run(notes.read(Kind.MEMORY)).text == "- first, by hand\n- second\n"
    steps = asyncio.run(notes.history())
    assert [(step.action, step.who, step.note) for step in steps] == [
        ("add", Who.FOREGROUND, ""),
        ("add", Who.FOREGROUND, ""),
        ("edit", Who.USER, "saved by an editor while the file was being changed"),
    ]


def test_a_process_that_was_killed_leaves_nothing_in_the_way(home: Path) -> None:
    notes = Notes(home, print)
    asyncio.run(notes.add(Kind.MEMORY, "kept", Author(who=Who.USER)))
    (notes.folder / ".MEMORY.md.0123456789abcdef.tmp").write_text("half")
    log = notes.folder / ".history" / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"seq": 2, "at": 1.0, "kin')
    assert asyncio.run(notes.add(Kind.MEMORY, "more", Author(who=Who.USER))).ok
    assert notes.path(Kind.MEMORY).read_text() == "- kept\n- more\n"
    assert sorted(file.name for file in notes.folder.iterdir()) == [".history", ".lock", "MEMORY.md"]


def test_a_change_that_was_noted_but_not_made_is_told_apart(home: Path) -> None:
    """Killed between the note and the change: the file is as it was before, and the history says so."""
    notes = Notes(home, print)
    author = Author(who=Who.REVIEW, run_id="run")
    asyncio.run(notes.add(Kind.MEMORY, "one", author))
    asyncio.run(notes.add(Kind.MEMORY, "two", author))
    notes.path(Kind.MEMORY).write_text("- one\n")
    last = asyncio.run(notes.history())[-1]
    assert (last.before, last.version) == (version_of(b"- one\n- two\n"), version_of(b"- one\n"))
    assert (last.who, last.note) == (Who.USER, "did not take place, or was reverted by hand")
