"""Background commands: looked after, written to, ended, and found again after a crash."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessLimits, ProcessTable
from hermes_agent.tools.sandbox.direct import Direct
from hermes_agent.tools.sandbox.identity import Life, end_group, is_alive, life_of
from hermes_agent.tools.sandbox.keeper import Log
from hermes_agent.tools.sandbox.output import OutputLimits
from hermes_agent.types.tools import Spawned, ToolResult
from tests.tools.context import ENVIRONMENT, Context, appears, gone

ROOT = Path(__file__).resolve().parents[2]


def without_pid(result: ToolResult) -> ToolResult:
    return msgspec.structs.replace(result, text=re.sub(r"pid \d+", "pid N", result.text))


def test_start_write_poll_wait_list(tmp_path: Path) -> None:
    context = Context(tmp_path)
    processes = context.processes

    async def story() -> list[ToolResult]:
        started = await processes.start("read name; echo hello $name; sleep 0.2; echo done; exit 4", directory=tmp_path)
        results = [started, await processes.list(), await processes.write("p1", "you")]
        results.append(await processes.wait("p1", 20))
        results += [await processes.poll("p1"), await processes.list(), await processes.write("p1", "late")]
        return results

    assert [without_pid(result) for result in asyncio.run(story())] == [
        ToolResult(text="[p1 running (pid N)]"),
        ToolResult(text="p1 running (pid N): read name; echo hello $name; sleep 0.2; echo done; exit 4"),
        ToolResult(text="wrote 4 bytes to p1; poll shows what it answers"),
        ToolResult(ok=False, error="exit_4", text="[p1 ended with exit code 4]\nhello you\ndone\n"),
        ToolResult(text="[p1 ended with exit code 4]"),
        ToolResult(text="p1 ended with exit code 4: read name; echo hello $name; sleep 0.2; echo done; exit 4"),
        ToolResult(ok=False, error="ended", text="p1 ended with exit code 4"),
    ]
    (spawned,) = context.journal.spawned
    assert (spawned.process, spawned.background, spawned.log) == ("p1", True, str(context.table.folder / "p1.log"))


def test_a_command_that_fails_at_once_says_so_at_the_start(tmp_path: Path) -> None:
    context = Context(tmp_path)

    async def story() -> ToolResult:
        await context.processes.start("no_such_command_x", directory=tmp_path)
        return await context.processes.wait("p1", 20)

    result = asyncio.run(story())
    assert (result.ok, result.error) == (False, "exit_127")


def test_waiting_has_an_end(tmp_path: Path) -> None:
    context = Context(tmp_path)

    async def story() -> tuple[ToolResult, ToolResult]:
        await context.processes.start("sleep 60", directory=tmp_path)
        return await context.processes.wait("p1", 0.1), await context.processes.kill("p1")

    waited, killed = asyncio.run(story())
    assert without_pid(waited) == ToolResult(text="[p1 running (pid N)]")
    assert killed == ToolResult(text="[p1 ended by signal 15]")
    assert gone(context.journal.spawned[0].identity.pid)


@pytest.mark.req("R14")
def test_kill_ends_what_ignores_it_and_what_left(tmp_path: Path) -> None:
    context = Context(tmp_path, limits=ProcessLimits(grace=0.3))
    command = "trap '' TERM; setsid sh -c 'echo $$ > left; exec sleep 60' & echo $$ > stays; while :; do sleep 1; done"

    async def story() -> ToolResult:
        await context.processes.start(command, directory=context.workspace)
        await appears(context.workspace / "left")
        await appears(context.workspace / "stays")
        return await context.processes.kill("p1")

    assert asyncio.run(story()) == ToolResult(text="[p1 ended by signal 9]")
    assert [gone(int((context.workspace / name).read_text())) for name in ("left", "stays")] == [True, True]


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    context = Context(tmp_path)
    missing = ToolResult(ok=False, error="not_found", text="there is no background process 'p9' (there are: none)")

    async def story() -> list[ToolResult]:
        processes = context.processes
        return [
            await processes.poll("p9"),
            await processes.wait("p9", 1),
            await processes.write("p9", "x"),
            await processes.kill("p9"),
        ]

    assert asyncio.run(story()) == [missing] * 4
    assert asyncio.run(context.processes.list()) == ToolResult(text="no background processes")


def test_there_is_a_limit_to_how_many_run(tmp_path: Path) -> None:
    context = Context(tmp_path, limits=ProcessLimits(background=2, grace=0.3))

    async def story() -> list[ToolResult]:
        results = [await context.processes.start("sleep 60", directory=tmp_path) for _ in range(3)]
        await context.table.close()
        return results

    assert [result.error for result in asyncio.run(story())] == ["", "", "too_many"]
    assert [is_alive(spawned.identity) for spawned in context.journal.spawned] == [False, False]


@pytest.mark.req("R14")
def test_the_log_is_bounded_and_shows_the_latest(tmp_path: Path) -> None:
    limits = ProcessLimits(output=OutputLimits(shown=400, kept=20_000))
    context = Context(tmp_path, limits=limits)

    async def story() -> ToolResult:
        await context.processes.start("sleep 0.5; seq 1 200000; echo end", directory=tmp_path)
        return await context.processes.wait("p1", 60)

    result = asyncio.run(story())
    assert result.ok
    assert result.text.endswith("\n199999\n200000\nend\n")
    assert "bytes passed by" in result.text
    assert sum(file.stat().st_size for file in context.table.folder.glob("p1.log*")) <= 20_010


@pytest.mark.req("R14")
def test_whatever_the_pieces_the_log_never_grows_beyond_its_limit(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "p1.log"), 20_000)
    for size in (9_999, 9_999, 9_999, 1, 30_000, 9_998, 10_000):
        log.write(b"x" * size)
        assert sum(file.stat().st_size for file in tmp_path.glob("p1.log*") if file.suffix != ".at") <= 20_000


def test_looking_again_and_again_misses_nothing_while_the_log_turns_over(tmp_path: Path) -> None:
    limits = ProcessLimits(output=OutputLimits(shown=1 << 20, kept=80_000))
    context = Context(tmp_path, limits=limits)
    command = "for n in $(seq 1 30); do seq -f 'ü%g' ${n}000 ${n}999; sleep 0.1; done"

    async def story() -> str:
        await context.processes.start(f"sleep 0.3; {command}", directory=tmp_path)
        entry = context.table.entry("p1")
        text, running = "", True
        while running:
            running = entry.exit_code() is None
            text += entry.news()[0]
            await asyncio.sleep(0.005)
        return text

    expected = [f"ü{n}{rest:03d}" for n in range(1, 31) for rest in range(1000)]
    assert asyncio.run(story()).split() == expected


CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessTable
from hermes_agent.tools.sandbox.direct import Direct

folder, moment, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
table = ProcessTable(Direct({}), folder / "processes", BlobFolder(folder / "blobs"), folder)

async def announce(spawned):
    (folder / "journal").write_bytes(msgspec.json.encode(spawned))
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    processes = table.for_call(announce)
    command = "echo $$ > began; read line; echo got $line; exit 7"
    if kind == "start":
        await processes.start(command, directory=folder)
        os.kill(os.getpid(), signal.SIGKILL)
    await processes.run(command + "; sleep 60", directory=folder, timeout=60, stdin="x" if moment == "before" else "")

asyncio.run(main())
"""


def crashed(folder: Path, moment: str, kind: str) -> Spawned:
    """What the journal says after an agent was killed at some moment."""
    process = subprocess.run(
        [sys.executable, "-c", CRASH, str(folder), moment, kind], cwd=ROOT, timeout=60, check=False
    )
    assert process.returncode == -signal.SIGKILL
    return msgspec.json.decode((folder / "journal").read_bytes(), type=Spawned)


async def ended(spawned: Spawned) -> None:
    for _ in range(1000):
        if not is_alive(spawned.identity):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it still runs")


@pytest.mark.req("R14")
@pytest.mark.parametrize("kind", ["run", "start"])
def test_killed_before_the_gate_opens_nothing_ever_runs(tmp_path: Path, kind: str) -> None:
    spawned = crashed(tmp_path, "before", kind)
    asyncio.run(ended(spawned))
    assert life_of(spawned.identity) is Life.DEAD
    assert not (tmp_path / "began").exists()


@pytest.mark.req("R14")
def test_an_orphan_is_found_by_its_identity_and_ended(tmp_path: Path) -> None:
    script = CRASH.replace('stdin="x" if moment == "before" else ""', 'stdin=""').replace("read line; ", "sleep 60; ")
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), "after", "run"], cwd=ROOT)
    asyncio.run(appears(tmp_path / "began"))
    process.kill()
    process.wait()
    spawned = msgspec.json.decode((tmp_path / "journal").read_bytes(), type=Spawned)
    assert life_of(spawned.identity) is Life.ALIVE
    assert asyncio.run(end_group(spawned.identity))
    assert life_of(spawned.identity) is Life.DEAD
    assert gone(int((tmp_path / "began").read_text()))
    assert not asyncio.run(end_group(spawned.identity))


@pytest.mark.req("R14")
def test_a_background_command_outlives_the_agent_and_is_adopted(tmp_path: Path) -> None:
    spawned = crashed(tmp_path, "after", "start")
    table = ProcessTable(Direct(ENVIRONMENT), tmp_path / "processes", BlobFolder(tmp_path / "blobs"), tmp_path)
    context = Context(tmp_path)
    processes = table.for_call(context.journal.announce)
    assert table.adopt(spawned)

    async def story() -> list[ToolResult]:
        results = [await processes.poll("p1"), await processes.write("p1", "across")]
        results.append(await processes.wait("p1", 20))
        results.append(await processes.start("true", directory=tmp_path))
        return results

    polled, written, waited, another = asyncio.run(story())
    assert without_pid(polled) == ToolResult(text="[p1 running (pid N)]")
    assert written.ok
    assert waited == ToolResult(ok=False, error="exit_7", text="[p1 ended with exit code 7]\ngot across\n")
    assert another.text.startswith("[p2 ")


def test_a_later_agent_of_the_session_knows_what_still_runs(tmp_path: Path) -> None:
    first, second = Context(tmp_path), Context(tmp_path)

    async def story() -> list[ToolResult]:
        await first.processes.start("echo one; sleep 60", directory=tmp_path)
        await first.processes.start("exit 3", directory=tmp_path)
        (second.table.folder / "p9.json").write_text("{broken")
        results = [await second.processes.list(), await second.processes.poll("p1")]
        await second.table.close()
        return [*results, await second.processes.list()]

    listed, polled, after = map(without_pid, asyncio.run(story()))
    assert listed == ToolResult(text="p1 running (pid N): echo one; sleep 60\np2 ended with exit code 3: exit 3")
    assert polled == ToolResult(text="[p1 running (pid N)]\none\n")
    assert after.text.startswith("p1 ended by signal 15: ")
    assert not is_alive(first.journal.spawned[0].identity)


def test_one_that_ended_meanwhile_still_tells_how(tmp_path: Path) -> None:
    spawned = crashed(tmp_path, "after", "start")
    asyncio.run(appears(tmp_path / "began"))
    os.kill(spawned.identity.pid, signal.SIGKILL)
    os.killpg(spawned.identity.group, signal.SIGKILL)
    asyncio.run(ended(spawned))
    context = Context(tmp_path)
    assert not context.table.adopt(spawned)
    assert asyncio.run(context.processes.poll("p1")) == ToolResult(text="[p1 ended; its exit code is not known]")
    (tmp_path / "processes" / "p1.exit").write_text("7")
    assert asyncio.run(context.processes.poll("p1")) == ToolResult(text="[p1 ended with exit code 7]")
