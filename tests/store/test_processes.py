"""Several processes on one database: nothing is lost."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_agent.store.inbox import waiting
from hermes_agent.store.open import Store
from hermes_agent.types.events import Fragment
from tests.store.samples import begun, new_session

ROOT = Path(__file__).resolve().parents[2]
SMALL = (4, 50)
FULL = (16, 200)
WRITER = """
import asyncio, sys
from pathlib import Path
from hermes_agent.store.open import open_store
from hermes_agent.types.events import Fragment, InboxMode

kind, url, home, target, name, count = sys.argv[1:]
store = open_store(url, Path(home))
sys.stdin.readline()

async def main():
    for number in range(int(count)):
        if kind == "journal":
            await store.journal.append(target, 1, [Fragment(source=name, text=str(number))])
        else:
            await store.values(target).set(f"{name}-{number}", "x" * number)
            await store.inbox.put(target, f"{name}-{number}", InboxMode.QUEUE)

asyncio.run(main())
store.close()
"""
OPENER = """
import sys
from pathlib import Path
from hermes_agent.store.open import open_store

sys.stdin.readline()
store = open_store(sys.argv[1], Path(sys.argv[2]))
print(list(store.notices))
store.close()
"""


def together(commands: list[list[str]]) -> list[str]:
    """Start Python processes, let them go at once, and return what they printed. A failing one fails the test."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    outputs = [child.communicate() for child in children]
    assert [(child.returncode, error) for child, (_, error) in zip(children, outputs, strict=True)] == [
        (0, "") for _ in children
    ]
    return [output for output, _ in outputs]


def journal_writers(store: Store, url: str, home: Path, size: tuple[int, int]) -> None:
    processes, writes = size

    async def prepare() -> list[str]:
        return [(await begun(store)).id for _ in range(processes)]

    runs = asyncio.run(prepare())
    together([[WRITER, "journal", url, str(home), run, f"w{n}", str(writes)] for n, run in enumerate(runs)])

    async def compare() -> None:
        for number, run in enumerate(runs):
            entries = (await store.journal.run_events(run))[2:]
            assert [(entry.seq, entry.event) for entry in entries] == [
                (3 + step, Fragment(source=f"w{number}", text=str(step))) for step in range(writes)
            ]

    asyncio.run(compare())


def session_writers(store: Store, url: str, home: Path, size: tuple[int, int]) -> None:
    processes, writes = size
    session_id = asyncio.run(new_session(store))
    together([[WRITER, "session", url, str(home), session_id, f"w{n}", str(writes)] for n in range(processes)])

    async def compare() -> None:
        rows = await store.database.read(
            lambda connection: connection.run("SELECT value FROM session_values WHERE session_id = ?", (session_id,))
        )
        assert len(rows) == processes * writes
        for number in range(processes):
            assert await store.values(session_id).get(f"w{number}-{writes - 1}") == "x" * (writes - 1)
        texts = [
            message.text for message in await store.database.read(lambda connection: waiting(connection, session_id))
        ]
        for number in range(processes):
            mine = [text for text in texts if text.startswith(f"w{number}-")]
            assert mine == [f"w{number}-{step}" for step in range(writes)], "each writer's messages keep their order"
        assert len(texts) == processes * writes

    asyncio.run(compare())


@pytest.mark.req("H15", "R14")
def test_processes_append_to_their_runs(store: Store, store_url: str, home: Path) -> None:
    journal_writers(store, store_url, home, SMALL)


@pytest.mark.req("H15", "R14")
def test_processes_write_into_one_session(store: Store, store_url: str, home: Path) -> None:
    session_writers(store, store_url, home, SMALL)


@pytest.mark.slow
@pytest.mark.req("H15", "R14")
def test_sixteen_processes_append_two_hundred_times_each(store: Store, store_url: str, home: Path) -> None:
    journal_writers(store, store_url, home, FULL)


@pytest.mark.slow
@pytest.mark.req("H15", "R14")
def test_sixteen_processes_write_two_hundred_times_each(store: Store, store_url: str, home: Path) -> None:
    session_writers(store, store_url, home, FULL)


@pytest.mark.req("H15")
def test_processes_make_one_database(store_url: str, home: Path) -> None:
    assert together([[OPENER, store_url, str(home)]] * 4) == ["[]\n"] * 4
